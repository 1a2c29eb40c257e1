"""What the commands that repair and prove share: the target, its data folder, and how it is read again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from sm120kit.cli.target_options import Asked
from sm120kit.data_dir import DataDir, open_data_dir, target_key
from sm120kit.diagnosis.case import Case, Use, standing_in
from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.diagnosis.registry import Check
from sm120kit.environment import applied, compute
from sm120kit.errors import USAGE, Sm120kitError
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.target import TargetOptions
from sm120kit.snapshot.types.snapshot import Snapshot
from sm120kit.snapshot.types.views import LiveView


@dataclass(frozen=True)
class Workbench:
    """One target, opened for repair or proof."""

    asked: Asked
    data_dir: DataDir
    place: str
    """The folder that makes the target what it is: the environment's prefix, or the site-packages."""
    snapshot: Snapshot
    """As its own environment shows it."""
    checks: tuple[Check, ...]

    @property
    def key(self) -> str:
        """The target's name in the data folder."""
        return target_key(self.place)

    @property
    def live_view(self) -> LiveView | None:
        """The view that is live for this target and whose sources are all there."""
        view = self.snapshot.live_view
        return view.value if isinstance(view, Known) and not view.value.gone else None

    @property
    def target(self) -> str:
        """The target in one line, for people."""
        return f"{self.snapshot.target.path} ({self.snapshot.target.why})"

    def read(self, cuda_home: str = "") -> Case:
        """The target now, as if CUDA_HOME were ``cuda_home``; an empty one leaves its environment as it is."""
        options = self.asked.options
        if cuda_home:
            options = replace(options, cuda_home=cuda_home)
        return Case(replace(self.asked, options=options).read(), self.asked.request())

    def as_repaired(self) -> Case:
        """The target as a shell sees it that has sourced its env script, where it has a live view.

        The view also stands in for a toolkit named by ``--cuda-home`` that it was made from.
        """
        view = standing_in(self.snapshot)
        return self.read(view.current) if view else Case(self.snapshot, self.asked.request())

    def is_outdated(self) -> bool:
        """Whether another repair of this target ended since it was read."""
        from sm120kit.snapshot.live_view import read_live_view

        live = self.snapshot.live_view
        now = read_live_view(self.data_dir, self.key, self.snapshot.environment)
        return isinstance(live, Known) != isinstance(now, Known) or (isinstance(now, Known) and now != live)

    def environment(self, case: Case, cuda_home: str) -> Mapping[str, str]:
        """All variables of a process that takes ``cuda_home``: for a toolkit view those of its env script, for any
        other tree the target's own, as a consumer would meet it today."""
        base = process_environment(self.asked.options)
        if cuda_home.startswith((f"{self.data_dir.toolkits}/", f"{self.data_dir.targets}/")):
            return applied(compute(case, cuda_home), base)
        named = case.snapshot.target.cuda_home
        return {**base, "CUDA_HOME": named, "CUDA_PATH": named} if named else base


def open_workbench(asked: Asked, data_dir: str) -> Workbench:
    """Read the target once and find its data folder.

    Raises:
        Sm120kitError: the target cannot be examined, or is one in which nothing can be executed.
    """
    if asked.options.of_image:
        option = "--root" if asked.options.root else "--image-archive"
        raise Sm120kitError(
            f"{option} does not go with this command: nothing is executed inside an image",
            hint="Run it inside the image, with --data-dir for a folder that stays in it",
            exit_code=USAGE,
        )
    asked = replace(asked, options=replace(asked.options, data_dir=open_data_dir(data_dir).path))
    return bench_of(asked, asked.read())


def bench_of(asked: Asked, snapshot: Snapshot) -> Workbench:
    """The same of a target that was read already."""
    interpreter = snapshot.interpreter
    place = interpreter.value.prefix if isinstance(interpreter, Known) else snapshot.target.path
    folder = open_data_dir(asked.options.data_dir)
    return Workbench(asked, folder, place, snapshot, tuple(read_catalogue().checks.values()))


def process_environment(options: TargetOptions) -> dict[str, str]:
    """All variables of the target's own processes."""
    from sm120kit.snapshot.environment import read_environment

    environment, _ = read_environment(options.env_file, options.pid)
    return environment


def choose_use(case: Case) -> Use | None:
    """The toolkit that a proof is about: the one named, else the one that most consumers take."""
    uses = sorted(case.toolkits, key=lambda use: (not use.named, -len(use.consumers)))
    return uses[0] if uses else None


def host_compiler() -> str:
    """The C compiler that builds the stub: ``$CC`` alone, else cc."""
    given = os.environ.get("CC", "").split()
    return given[0] if len(given) == 1 else "cc"
