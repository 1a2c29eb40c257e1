"""The command line, and what makes every start of it quick."""

import gc

from sm120kit.cli.deferred import deferred, withheld

# A start allocates much and frees little: the garbage collector is asked to look less often.
gc.set_threshold(50_000, 20, 20)

# What click and msgspec load for help and for schemas is a fifth of what they cost, and most runs print neither. Of
# typing_extensions, which loads inspect, msgspec takes what typing has as well.
with deferred("inspect", "textwrap", "msgspec.inspect"):
    import click  # noqa: F401

    with withheld("typing_extensions"):
        import msgspec  # noqa: F401
