"""Commands in remedies name the target: pip its Python, a run the target itself."""

from __future__ import annotations

from msgspec.structs import replace

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.diagnosis.run import run_check
from sm120kit.diagnosis.target_pip import for_target
from sm120kit.diagnosis.types import Manual
from sm120kit.snapshot.facts import Unknown
from tests.builders import live_view, snapshot

_COMMANDS = ("pip install nvidia-nvvm==13.0.88", "export CUDA_HOME=/opt/cuda", "conda install pip ")


def test_the_interpreter_of_the_target_is_named() -> None:
    assert for_target(_COMMANDS, Case(snapshot())) == (
        "/srv/venv/bin/python -m pip install nvidia-nvvm==13.0.88", *_COMMANDS[1:],
    )  # fmt: skip


def test_a_repair_that_is_not_used_is_run_for_its_target() -> None:
    case = Case(replace(snapshot(), live_view=live_view()))
    check = read_catalogue().checks["repair.view-not-used"]
    [found] = run_check(check, case).findings
    assert ("sm120kit run --python /srv/venv/bin/python -- COMMAND",) in [
        remedy.commands for remedy in found.remedies if isinstance(remedy, Manual)
    ]


def test_an_unknown_interpreter_changes_nothing() -> None:
    assert for_target(_COMMANDS, Case(snapshot(interpreter=Unknown("none was named")))) == _COMMANDS
