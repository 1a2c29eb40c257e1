"""Where the trees that travel with the package lie: ``checks`` and ``templates``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sm120kit.errors import OWN_FAULT, Sm120kitError

if TYPE_CHECKING:
    from pathlib import Path


def data_dir(name: str) -> Path:
    """Return the folder ``name``, as :func:`data_path` does."""
    from pathlib import Path

    return Path(data_path(name))


def data_path(name: str) -> str:
    """Return the folder ``name`` as installed (``sm120kit/_data/name``) or as it stands in the checkout.

    A string, since a start of the doctor does without pathlib, which costs as much as all checks together.

    Raises:
        Sm120kitError: neither place holds it, so the installation is incomplete.
    """
    package = os.path.dirname(os.path.realpath(__file__))
    installed = os.path.join(package, "_data", name)
    if os.path.isdir(installed):
        return installed
    checkout = os.path.dirname(package)
    if os.path.isfile(os.path.join(checkout, "pyproject.toml")) and os.path.isdir(os.path.join(checkout, name)):
        return os.path.join(checkout, name)
    raise Sm120kitError(
        f"sm120kit is installed without its folder {name!r} (looked in {installed} and {os.path.join(checkout, name)})",
        hint="Install it again: pip install --force-reinstall sm120kit",
        exit_code=OWN_FAULT,
    )
