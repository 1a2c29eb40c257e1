"""Starting is a feature: what a command may import, seen in the process itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import named
from tests.cli.conftest import Saved
from tests.planning import QWEN36_27B, write_config

ROOT = Path(__file__).resolve().parents[2]

HEAVY = frozenset(
    {
        "asyncio", "concurrent.futures.process", "ctypes.util", "dataclasses", "difflib", "email", "hashlib", "html",
        "http", "importlib.metadata", "importlib.resources", "logging", "multiprocessing", "pathlib", "pydoc",
        "random", "socket", "ssl", "tempfile", "unittest", "urllib.request", "xml", "zipfile",
    }
)  # fmt: skip
"""Parts of the standard library that cost milliseconds and that no default run needs. Frozen data is msgspec.Struct:
a dataclass costs half a millisecond each, thirty of them a sixth of the whole."""

OTHERS = frozenset({"click", "msgspec", "tomli", "typing_extensions", "colorama"})
"""Packages beside the standard library that a default run may load; msgspec takes the last but one where it is."""

COUNTED = """
import sys
import click, msgspec
before = set(sys.modules)
from sm120kit.cli.main import main
main(sys.argv[1:])
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""


FROM_NOTHING = """
import sys
from sm120kit.cli.main import main
main(sys.argv[1:])
print(*sorted(sys.modules), file=sys.stderr)
"""

OF_OTHERS = frozenset({"inspect", "msgspec.inspect", "textwrap", "typing_extensions"})
"""What click and msgspec would load for help and schemas."""


def loaded(*arguments: str) -> set[str]:
    """Modules that a command loads beyond click and msgspec and what these load."""
    return modules_of(COUNTED, *arguments)


def modules_of(script: str, *arguments: str) -> set[str]:
    """The modules that a script names on standard error, run with these arguments."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    )
    modules = set(done.stderr.split())
    assert "sm120kit.cli.main" in modules, done.stderr
    return modules


def assert_light(modules: set[str]) -> None:
    """Whether nothing heavy and nothing foreign is among them."""
    assert not {name for name in modules if name in HEAVY or name.partition(".")[0] in HEAVY}
    known = {"sm120kit", *sys.stdlib_module_names, *OTHERS}
    # An editable install puts a finder of its own into the process.
    assert not {name for name in modules if name.partition(".")[0] not in known and not name.startswith("__editable__")}


def test_judging_a_snapshot_as_json_loads_nothing_heavy(saved: Saved) -> None:
    assert_light(loaded("doctor", "--json", "--snapshot", saved(named())))


def test_examining_a_target_as_json_loads_nothing_heavy(tmp_path: Path) -> None:
    target = ("--site-packages", str(tmp_path), "--no-system-toolkits")
    assert_light(loaded("doctor", "--json", *target))
    assert_light(loaded("snapshot", *target))


def test_modules_for_help_are_loaded_by_help(saved: Saved) -> None:
    assert not OF_OTHERS & modules_of(FROM_NOTHING, "doctor", "--json", "--snapshot", saved(named()))
    assert "inspect" in modules_of(FROM_NOTHING, "doctor", "--help")
    assert "msgspec.inspect" in modules_of(FROM_NOTHING, "schema")


def test_only_the_text_loads_rich(saved: Saved) -> None:
    path = saved(named())
    for arguments, expected in (((), True), (("--json",), False), (("--format", "junit"), False)):
        assert ("rich" in loaded("doctor", "--snapshot", path, *arguments)) == expected


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("completion", "bash")])
def test_a_command_loads_no_other(arguments: tuple[str, ...]) -> None:
    modules = loaded(*arguments)
    assert "sm120kit.diagnosis.catalogue" not in modules
    assert "sm120kit.cli.doctor" not in modules
    assert "sm120kit.snapshot.target" not in modules


def test_a_plan_as_json_loads_nothing_heavy(tmp_path: Path) -> None:
    config = write_config(tmp_path, QWEN36_27B)
    hardware = ("--gpu", "b200x7", "--weights-gib", "51", "--sglang", "0.5.11")
    assert_light(loaded("plan", str(config), *hardware, "--json", "--", "--max-running-requests", "128"))
