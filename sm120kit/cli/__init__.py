"""The command line, and what makes every start of it quick."""

import gc

from sm120kit.cli.deferred import deferred

# A start allocates much and frees little: the garbage collector is asked to look less often.
gc.set_threshold(50_000, 20, 20)

# For texts that are printed on request only, click loads inspect and msgspec textwrap: a seventh of what they cost.
with deferred("inspect", "textwrap"):
    import click  # noqa: F401
    import msgspec  # noqa: F401
