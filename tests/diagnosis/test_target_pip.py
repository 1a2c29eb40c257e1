"""Commands of pip name the target's Python."""

from __future__ import annotations

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.target_pip import for_target
from sm120kit.snapshot.facts import Unknown
from tests.builders import snapshot

_COMMANDS = ("pip install nvidia-nvvm==13.0.88", "export CUDA_HOME=/opt/cuda", "conda install pip ")


def test_the_interpreter_of_the_target_is_named() -> None:
    assert for_target(_COMMANDS, Case(snapshot())) == (
        "/srv/venv/bin/python -m pip install nvidia-nvvm==13.0.88", *_COMMANDS[1:],
    )  # fmt: skip


def test_an_unknown_interpreter_changes_nothing() -> None:
    assert for_target(_COMMANDS, Case(snapshot(interpreter=Unknown("none was named")))) == _COMMANDS
