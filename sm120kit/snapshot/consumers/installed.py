"""Where a distribution's own package lies, and comparing its version."""

from __future__ import annotations

import posixpath
import re

from sm120kit.snapshot.context import Context
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.types.packages import Distribution


def first_installed(distributions: Distributions, *names: str) -> Distribution | None:
    """The first of these names that is installed."""
    return next((found for name in names if (found := distributions.first(name))), None)


def package_path(distribution: Distribution, package: str) -> str:
    """The folder of its package, beside its dist-info; it need not exist (an editable install keeps it elsewhere)."""
    return f"{posixpath.dirname(distribution.path)}/{package}"


def existing_dirs(context: Context, *paths: str) -> tuple[str, ...]:
    """Those that are folders."""
    return tuple(path for path in paths if context.files.is_dir(path))


def at_least(version: str, *floor: int) -> bool:
    """Whether the release number of a version is ``floor`` or newer; pre-releases count as their release."""
    match = re.match(r"v?(?:\d+!)?(\d{1,9}(?:\.\d{1,9})*)", version, re.ASCII)
    return match is not None and tuple(int(number) for number in match[1].split(".")) >= floor
