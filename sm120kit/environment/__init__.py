"""The variables that a healthy run of this target needs, each with its reason; pure, from a case.

``compute`` decides them, ``applied`` gives the environment of a process with them, ``render`` writes them for a
shell, systemd, docker or a program.
"""

from sm120kit.environment.applying import applied
from sm120kit.environment.compute import compute
from sm120kit.environment.render import SHELLS, Shell, render
from sm120kit.environment.types import Environment, Variable

__all__ = ["SHELLS", "Environment", "Shell", "Variable", "applied", "compute", "render"]
