"""Where the trees that travel with the package lie: ``checks`` and ``templates``."""

from __future__ import annotations

from pathlib import Path

from sm120kit.errors import OWN_FAULT, Sm120kitError


def data_dir(name: str) -> Path:
    """Return the folder ``name`` as installed (``sm120kit/_data/name``) or as it stands in the checkout.

    Raises:
        Sm120kitError: neither place holds it, so the installation is incomplete.
    """
    package = Path(__file__).resolve().parent
    installed = package / "_data" / name
    if installed.is_dir():
        return installed
    checkout = package.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    raise Sm120kitError(
        f"sm120kit is installed without its folder {name!r} (looked in {installed} and {checkout / name})",
        hint="Install it again: pip install --force-reinstall sm120kit",
        exit_code=OWN_FAULT,
    )
