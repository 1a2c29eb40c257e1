"""The command line, called in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from sm120kit.cli.main import main
from sm120kit.diagnosis.catalogue import PAGE_HEADINGS
from sm120kit.snapshot.store import dump_snapshot
from sm120kit.snapshot.types.snapshot import Snapshot


class Answer(NamedTuple):
    """What a command left: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


Command = Callable[..., Answer]
Saved = Callable[..., str]


_PAGE = "".join(f"## {heading}\nSomething.\n\n" for heading in PAGE_HEADINGS)


@pytest.fixture
def sm120kit(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run ``sm120kit`` with these arguments."""

    def run(*arguments: str) -> Answer:
        capsys.readouterr()
        code = main(arguments)
        return Answer(code, *capsys.readouterr())

    return run


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    """Save a snapshot under a name and return its path."""

    def save(taken: Snapshot, name: str = "taken.json") -> str:
        path = tmp_path / name
        path.write_bytes(dump_snapshot(taken))
        return str(path)

    return save


@pytest.fixture
def own_checks(tmp_path: Path) -> Callable[[str], str]:
    """Write a check file with this body of a generator over ``case``, id ``site.own``; return its folder."""

    def write(body: str) -> str:
        folder = tmp_path / "own-checks"
        folder.mkdir(exist_ok=True)
        (folder / "own.py").write_text(
            f'"""A rule of this site\n\n{_PAGE}"""\n'
            "from sm120kit.diagnosis import *\n\n"
            f'@check("site.own")\ndef own(case):\n    {body}\n    yield from ()\n'
        )
        return str(folder)

    return write
