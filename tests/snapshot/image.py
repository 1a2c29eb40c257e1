"""A small target in a temporary folder, read as an unpacked image: /usr/local/cuda inside it is ours to make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sm120kit.snapshot.consumers import find_consumers
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.torch_build import read_torch_build
from sm120kit.snapshot.types.snapshot import Target
from sm120kit.snapshot.types.toolkits import Consumer

VENV = "/venv"
SITE = f"{VENV}/lib/python3.12/site-packages"
PATH = f"{VENV}/bin:/usr/local/bin:/usr/bin"


@dataclass(frozen=True)
class Image:
    """Everything below ``root``; paths are those that the target itself would write."""

    root: Path

    def file(self, path: str, content: str | bytes = "", mode: int = 0o644) -> str:
        """Write a file with its folders."""
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
        place.chmod(mode)
        return path

    def program(self, path: str, content: str | bytes = b"\x7fELF") -> str:
        """Write an executable file."""
        return self.file(path, content, 0o755)

    def folder(self, path: str) -> str:
        """Make a folder."""
        (self.root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        return path

    def link(self, path: str, text: str) -> str:
        """Make a symbolic link."""
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(text)
        return path

    def install(self, name: str, version: str) -> None:
        """Leave the dist-info folder of a distribution."""
        self.folder(f"{SITE}/{name.replace('-', '_')}-{version}.dist-info")

    def install_torch(self, version: str = "2.11.0+cu130", cuda: str | None = "13.0") -> None:
        """A torch with its version file."""
        self.install("torch", version.partition("+")[0])
        text = f"__version__ = '{version}'\ncuda: Optional[str] = {cuda!r}\nhip: Optional[str] = None\n"
        self.file(f"{SITE}/torch/version.py", text)

    def context(self, environment: dict[str, str] | None = None, **target: Any) -> Context:
        """What collectors are given."""
        self.folder(SITE)
        described = Target("root", SITE, "a test", root=str(self.root), live=False, **target)
        variables = {"PATH": PATH, **(environment or {})}
        return Context(Files(str(self.root)), variables, (SITE,), live=False, target=described)

    def consumers(self, environment: dict[str, str] | None = None, **target: Any) -> dict[str, Consumer]:
        """Those found, by name."""
        context = self.context(environment, **target)
        distributions = Distributions.read(context.files, context.site_packages)
        found = find_consumers(context, distributions, read_torch_build(context))
        return {consumer.name: consumer for consumer in found}
