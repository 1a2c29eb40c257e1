"""What holds for every test: a clean environment, a home folder that must stay empty, and skips that are counted."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from _pytest.terminal import TerminalReporter

from tests.docs.command_lines import COMMAND_LINES
from tests.programs import MISSING_PROGRAM

_KEPT = frozenset(
    {"PATH", "TMPDIR", "TZ", "CI", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}
)
_KEPT_PREFIXES = ("SM120KIT_TEST_", "PYTEST_", "COVERAGE_", "HYPOTHESIS_", "PIP_", "SSL_CERT_")

_NUMBERS = itertools.count()

# A busy machine makes any example slow: time says nothing about a property.
hypothesis.settings.register_profile("sm120kit", deadline=None)
hypothesis.settings.load_profile("sm120kit")


@pytest.fixture(scope="session", autouse=True)
def signals_as_on_a_terminal() -> None:
    """nohup, and a shell that starts something in the background, have some of them ignored: the programs that tests
    start and interrupt would ignore them too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The HOME of every test."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def xdg_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the XDG folders of all tests are made, by whoever needs one."""
    return tmp_path_factory.mktemp("xdg")


@pytest.fixture(autouse=True)
def clean_environment(empty_home: Path, xdg_base: Path) -> Iterator[None]:
    """Take away CUDA_HOME, VIRTUAL_ENV, LD_LIBRARY_PATH and all else that the developer's shell holds.

    XDG folders are another one for each test, not yet made. Whoever writes into HOME itself fails.
    """
    before = dict(os.environ)
    for name in before:
        if name not in _KEPT and not name.startswith(_KEPT_PREFIXES):
            del os.environ[name]
    own = xdg_base / str(next(_NUMBERS))
    os.environ.update(
        HOME=str(empty_home),
        LC_ALL="C.UTF-8",
        XDG_CACHE_HOME=str(own / "cache"),
        XDG_CONFIG_HOME=str(own / "config"),
        XDG_DATA_HOME=str(own / "data"),
        XDG_STATE_HOME=str(own / "state"),
    )
    yield
    os.environ.clear()
    os.environ.update(before)
    left = os.listdir(empty_home)
    assert not left, f"the test wrote into HOME: {left}"


@pytest.fixture(autouse=True)
def no_signal_to_numbers_made_up(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest-subprocess numbers its programs 1, 2, 3: real groups of those numbers must never get a signal."""
    if {"fp", "fake_process"} & set(request.fixturenames):
        monkeypatch.setattr(os, "killpg", lambda _group, _signal: None)


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Say how many tests were skipped for a program that is not installed, and how many command lines of pages ran."""
    reasons = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    missing = sum(MISSING_PROGRAM in reason for reason in reasons)
    terminalreporter.write_line(f"skipped because a program is not installed: {missing}")
    passed = terminalreporter.stats.get("passed", [])
    counts = [counted for report in passed for name, counted in report.user_properties if name == COMMAND_LINES]
    if counts:
        ran, needs_gpu, in_ci = map(sum, zip(*counts, strict=True))
        terminalreporter.write_line(
            f"command lines of the pages: {ran} run as they are, {needs_gpu} need a GPU and were run as rehearsals, "
            f"{in_ci} are run by .ci/run alone"
        )
