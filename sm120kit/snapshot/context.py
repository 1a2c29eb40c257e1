"""What every collector is given: the target's files, its environment variables, and a way to start its programs."""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from sm120kit.snapshot.files import Files
from sm120kit.snapshot.runner import Ran, RunFailure, run
from sm120kit.snapshot.types.snapshot import Target

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""PATH of a target that sets none."""


class Context(msgspec.Struct, frozen=True):
    """One target, ready to be read. Nothing here changes while a snapshot is taken."""

    files: Files
    environment: Mapping[str, str]
    """The target's own variables, all of them; they are filtered only where a snapshot keeps them."""
    site_packages: tuple[str, ...]
    """Existing folders that hold distributions, in the order of sys.path."""
    live: bool
    """False: nothing may be executed (``--root``)."""
    target: Target
    deep: bool = False

    def run(
        self, command: Sequence[str], *, limit_s: float = 5.0, extra_environment: Mapping[str, str] | None = None
    ) -> Ran:
        """Run one of the target's programs (an absolute path) in the target's environment.

        Raises:
            RunFailure: it cannot be started or did not end in time, or the target is an unpacked image.
        """
        if not self.live:
            raise RunFailure(f"{command[0]} was not run: nothing is executed inside an unpacked image")
        self._refuse_dead_mount(command[0])
        return run(command, environment={**self.environment, **(extra_environment or {})}, limit_s=limit_s)

    def which(self, name: str) -> str | None:
        """The first executable of that name on the target's PATH, as PATH spells its folder, links not resolved.

        A name with a slash is answered as given, if it is executable.
        """
        return next(self._executables(name), None)

    def which_all(self, name: str) -> tuple[str, ...]:
        """Every executable of that name on the target's PATH, in its order."""
        return tuple(dict.fromkeys(self._executables(name)))

    @property
    def path_dirs(self) -> tuple[str, ...]:
        """Folders of the target's PATH in order. Relative ones mean another place in every process: left out."""
        folders = self.environment.get("PATH", DEFAULT_PATH).split(":")
        return tuple(dict.fromkeys(folder for folder in folders if folder.startswith("/")))

    def _executables(self, name: str) -> Iterator[str]:
        if "/" in name:
            if self.files.is_executable(name):
                yield name
            return
        for folder in self.path_dirs:
            path = f"{folder.rstrip('/')}/{name}"
            if self.files.is_executable(path):
                yield path

    def _refuse_dead_mount(self, program: str) -> None:
        """Starting a program waits, unkillably, for the disk that holds it: ask that disk first."""
        try:
            mode = self.files.mode(program)
        except OSError as error:
            if error.errno == errno.ETIMEDOUT:
                raise RunFailure(f"{program} was not run: {error.strerror}") from error
            return
        if not stat.S_ISREG(mode):
            raise RunFailure(f"{program} was not run: it is not a regular file")
