"""Every command line of README, CONTRIBUTING and docs is run, and ends as the page says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sm120kit.cli.main import COMMANDS
from tests.docs.command_lines import COMMAND_LINES, ROOT, command_lines, in_text, pages
from tests.docs.comparing import difference
from tests.docs.world import lay_broken_packages, lay_healthy_packages, world
from tests.programs import require_program

INTERRUPTED = 130

BROKEN = ("README.md", "docs/how-to-repair.md")
"""Pages that tell of a toolkit as pip leaves it; the others tell of one that works."""

ELSEWHERE = {"docs/adding-a-check.md": "tests/test_adding_a_check.py"}

ALL = {page: command_lines(page) for page in pages() if page not in ELSEWHERE}


@pytest.mark.pages
@pytest.mark.parametrize("page", [page for page, lines in ALL.items() if lines])
def test_the_commands_of_a_page(page: str, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    require_program("bash", "gcc", "c++", "as")
    wrong = []
    here = [line for line in ALL[page] if not line.in_ci]
    with world(tmp_path, lay_broken_packages if page in BROKEN else lay_healthy_packages) as machine:
        for line in here:
            begin = time.monotonic()
            ended = machine.run(
                line.text,
                until_interrupted=line.code == INTERRUPTED,
                in_full=line.compared == "here",
                both_streams=line.both_streams,
            )
            print(f"{time.monotonic() - begin:6.2f} s  {ended.code}  {line.text}")  # noqa: T201 - shown when it fails
            if ended.code != line.code:
                wrong.append(f"{page}:{line.line}: {line.text}\nended with {ended.code}\n{ended.out}\n{ended.err}")
            elif line.compared == "here" and (unlike := difference(line.output, machine.as_printed(ended.out))):
                wrong.append(f"{page}:{line.line}: {line.text}\n{unlike}")
    assert not wrong, "\n\n".join(wrong)
    genuine = sum(line.needs_gpu for line in here)
    record_property(COMMAND_LINES, (len(here) - genuine, genuine, len(ALL[page]) - len(here)))


def test_the_ci_runs_what_it_is_said_to_run() -> None:
    calls = re.findall(r"^  marked_block (\S+) '?([^'\s]+)'?$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    marked: dict[tuple[str, int], str] = {}
    for line in (line for page in pages() for line in command_lines(page) if line.in_ci):
        marked[line.page, line.line] = marked.get((line.page, line.line), "") + line.text
    assert len(calls) == len(marked)
    for page, word in calls:
        assert [text for (of, _), text in marked.items() if of == page and word in text], (
            f"no block of {page} has {word}"
        )


def test_every_output_that_a_page_shows_is_compared() -> None:
    lines = [line for page in pages() for line in command_lines(page) if line.output]
    assert len(lines) > 10
    assert not [f"{line.page}:{line.line}" for line in lines if not line.compared]


def test_every_command_is_in_a_page() -> None:
    typed = " ".join(line.text for page in pages() for line in command_lines(page))
    assert not [name for name in COMMANDS if f"sm120kit {name}" not in typed]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("```sh\na  # why\nb \\\n  c\n```\n", [("a  # why", 0), ("b   c", 0)]),
        ("<!-- exit 1 0 -->\n```sh\na\n\nb\n```\n", [("a", 1), ("b", 0)]),
        ("<!-- exit 3 -->\n```text\n$ a \\\n    b\nsaid\n$ c\n```\n", [("a     b", 3), ("c", 3)]),
        ("```text\nnothing typed\n```\n```python\nsm120kit doctor\n```\n", []),
        ("- a list\n  ```sh\n  indented\n  ```\n", ValueError),
        ("<!-- exit 1 2 3 -->\n```sh\na\nb\n```\n", ValueError),
        ("<!-- exits 1 -->\n```sh\na\n```\n", ValueError),
    ],
)
def test_command_lines_are_found(text: str, found: list[tuple[str, int]] | type[ValueError]) -> None:
    if isinstance(found, list):
        assert [(line.text, line.code) for line in in_text("page.md", text)] == found
    else:
        with pytest.raises(found, match=r"page\.md"):
            list(in_text("page.md", text))


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "a\nc\n", False),
        ("a\n[...]\nz\n", "a\nb\nc\nz\n", True),
        ("a\n[...]\n", "a\nb\n", True),
        ("b\n", "a\nb\n", False),
        ("a\n", "a\nb\n", False),
        ("[...]\nz\na\n", "a\nz\n", False),
        ("it took (0.4 s)\n", "it took (12.9 s)\n", True),
        ("answers after 2 s, up for 0:13\n", "answers after 13 s, up for 1:02:13\n", True),
        ("held by process 31, on port 1\n", "held by process 7, on port 1\n", True),
        ("held by process 31, on port 1\n", "held by process 31, on port 2\n", False),
        (
            "0  0    30000  verified  82.0 GiB  0:13  37  535\n",
            "0  0    30000  verified  82.0 GiB  0:09  37  1,684\n",
            True,
        ),
        (
            "0  0    30000  verified  82.0 GiB  0:13  37  535\n",
            "0  0    30000  verified  82.0 GiB  0:09  18  535\n",
            False,
        ),
        ("684 tokens/s, 68% of the roofline of 1012\n", "79 tokens/s, 7% of the roofline of 1012\n", True),
        ("below /data/targets/venv-1/env.sh\n", "below /data/targets/abcd-2/env.sh\n", True),
    ],
)
def test_outputs_are_compared(shown: str, printed: str, same: bool) -> None:
    assert (difference(shown, printed) == "") == same
