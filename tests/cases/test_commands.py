"""Commands in remedies are templates for people to copy: they are never run, but every one is a command to bash."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator

import pytest

from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.diagnosis.logs.templates import filled
from sm120kit.diagnosis.logs.told import ARGUMENTS
from sm120kit.diagnosis.run import run_check
from sm120kit.diagnosis.types import Manual
from tests.cases.harness import read_cases
from tests.programs import require_program


def commands_of_findings() -> Iterator[str]:
    """What the findings of all data cases tell to type."""
    checks = read_catalogue().checks
    for check_id, cases in read_cases().items():
        for case in cases:
            for finding in run_check(checks[check_id], case.case).findings:
                for remedy in finding.remedies:
                    if isinstance(remedy, Manual):
                        yield from remedy.commands


def commands_of_signatures() -> Iterator[str]:
    """What known lines tell to type, filled in from their examples."""
    for entry in read_catalogue().entries.values():
        for signature in entry.signatures:
            found = re.search(signature.pattern, signature.example)
            assert found
            for remedy in signature.remedies:
                for command in remedy.commands:
                    for told in (
                        {},
                        dict.fromkeys((*ARGUMENTS, "sglang_version", "torch_version", "python_version"), "x"),
                    ):
                        yield filled(command, {**told, **found.groupdict("x")}) or ""


def refused(command: str) -> str:
    """What bash says against a command; empty where it takes it."""
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-n"], input=f"{command}\n", capture_output=True, text=True, check=False
    )
    return done.stderr


@pytest.mark.parametrize("source", [commands_of_findings, commands_of_signatures])
def test_bash_takes_them(source: Callable[[], Iterator[str]]) -> None:
    require_program("bash")
    commands = sorted(set(source()))
    assert len(commands) > 30
    assert not {command: said for command in commands if (said := refused(command))}


def test_bash_refuses_what_is_no_command() -> None:
    require_program("bash")
    assert refused("pip install 'torch")
    assert refused("echo $(")
