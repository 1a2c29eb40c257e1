"""The command line, and what makes every start of it quick."""

import gc

from sm120kit.cli.deferred import deferred

# A start allocates much and frees little: the garbage collector is asked to look less often.
gc.set_threshold(50_000, 20, 20)

# What click and msgspec load for help and for schemas is a fifth of what they cost, and most runs print neither.
with deferred("inspect", "textwrap", "msgspec.inspect"):
    import click  # noqa: F401
    import msgspec  # noqa: F401
