"""Targets made by hand for the collectors: a context over a folder, and folders that look like installed things."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.loader import Loader
from sm120kit.snapshot.types.snapshot import Target

T = TypeVar("T")


def value(fact: Fact[T]) -> T:
    """The value of a fact that must be known."""
    assert isinstance(fact, Known), fact
    return fact.value


def context(
    *,
    root: Path | None = None,
    environment: Mapping[str, str] | None = None,
    site_packages: Sequence[Path | str] = (),
    files: Files | None = None,
) -> Context:
    """A live target of this machine, or an unpacked image at ``root``."""
    target = Target("root" if root else "interpreter", str(root or "/usr/bin/python3"), "made by hand", live=not root)
    return Context(
        files=files or Files(str(root or "")),
        environment={"PATH": os.environ.get("PATH", "")} if environment is None else environment,
        site_packages=tuple(str(folder) for folder in site_packages),
        live=not root,
        target=target,
    )


def loader(*folders: Path, root: Path | None = None) -> Loader:
    """A loader whose LD_LIBRARY_PATH names ``folders``."""
    return Loader.of(context(root=root, environment={"LD_LIBRARY_PATH": ":".join(str(folder) for folder in folders)}))


def install(site_packages: Path, name: str, version: str, files: Mapping[str, str] | None = None) -> Path:
    """Lay a wheel down as pip would, with its RECORD; the dist-info folder is returned."""
    info = site_packages / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    rows = [f"{info.name}/METADATA,,", f"{info.name}/RECORD,,"]
    for path, text in (files or {}).items():
        place = site_packages / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        rows.append(f"{path},sha256=0,{len(text.encode())}")
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_bytes(os.fsencode(metadata))
    (info / "RECORD").write_bytes(os.fsencode("\n".join(rows) + "\n"))
    return info


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    """An executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path
