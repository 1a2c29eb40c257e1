"""The room rules that import-linter cannot say: what single files may import."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CHECK_FILES = sorted((ROOT / "checks").rglob("*.py"))
REPORT_FILES = sorted((ROOT / "sm120kit" / "report").rglob("*.py"))
FLOOR = ("sm120kit.errors", "sm120kit.text", "sm120kit.version")
HEAVY = ("elftools", "hypothesis", "jinja2", "packaging", "platformdirs", "psutil", "pynvml", "rich", "torch")


def imported(tree: ast.AST) -> Iterator[str]:
    """Names of all modules that the file imports, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide which room is meant"
            for alias in node.names:
                yield f"{node.module}.{alias.name}" if is_module(f"{node.module}.{alias.name}") else node.module or ""


def is_module(name: str) -> bool:
    """Whether a dotted name is a file or package of the checkout, not a name inside one."""
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def ours(path: Path) -> set[str]:
    """Names of our own modules that the file imports."""
    return {
        name
        for name in imported(ast.parse(path.read_text(), str(path)))
        if name.split(".")[0] in ("sm120kit", "checks", "tests")
    }


def within(name: str, rooms: Iterable[str]) -> bool:
    """Whether a module is one of ``rooms`` or lies in one."""
    return any(name == room or name.startswith(room + ".") for room in rooms)


@pytest.mark.parametrize("path", CHECK_FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_check_imports_only_diagnosis_and_snapshot_data(path: Path) -> None:
    allowed = ("sm120kit.diagnosis", "sm120kit.snapshot.facts", "sm120kit.snapshot.types")
    assert not {name for name in ours(path) if not within(name, allowed)}


@pytest.mark.parametrize("path", CHECK_FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_check_asks_nothing_of_the_machine(path: Path) -> None:
    tree = ast.parse(path.read_text(), str(path))
    reaching = ("ctypes", "io", "os", "pathlib", "shutil", "socket", "subprocess", "sys", "urllib")
    assert not {name for name in imported(tree) if within(name, reaching)}
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not calls & {"open", "exec", "eval", "print", "input"}


@pytest.mark.parametrize("path", REPORT_FILES, ids=lambda path: path.name)
def test_report_imports_nothing_but_types_of_the_other_rooms(path: Path) -> None:
    assert not {
        name
        for name in ours(path)
        if not within(name, ("sm120kit.report", *FLOOR)) and "types" not in name.split(".")[-2:]
    }


def test_nothing_starts_programs_but_the_runner() -> None:
    starters = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "sm120kit").rglob("*.py")
        if "subprocess" in set(imported(ast.parse(path.read_text(), str(path))))
    }
    assert starters <= {
        "sm120kit/snapshot/runner.py",
        "sm120kit/snapshot/slow_reader.py",
        "sm120kit/fleet/supervising.py",
        "sm120kit/fleet/process/child.py",
        "sm120kit/fleet/process/sweeper.py",
    }


def test_the_command_line_starts_without_the_heavy_packages() -> None:
    question = "import sys, sm120kit.cli.main; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", question], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, timeout=60
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "sm120kit" in loaded
    assert not loaded & set(HEAVY)
