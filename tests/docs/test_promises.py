"""docs/promises.md names tests that exist, and no row is without one; links in pages lead somewhere."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.docs.command_lines import ROOT, pages

PAGE = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and line != "| promise | held by |"]
CITED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))


@cache
def names_in(path: str) -> frozenset[str]:
    """Names of all tests of a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"), path)
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(function.name for function in functions if function.name.startswith("test_"))


@pytest.mark.parametrize("path", sorted({path for path, _ in CITED}))
def test_what_is_named_exists(path: str) -> None:
    assert (ROOT / path).is_file()
    assert not {test for of, test in CITED if of == path} - names_in(path)


def test_every_promise_has_its_tests() -> None:
    assert len(ROWS) > 50
    assert not [row for row in ROWS if not re.search(r"\| `tests/[^|]+\.py::test_[^|]+` \|$", row)]


@pytest.mark.parametrize("page", [*pages(), "docs/checks/README.md", "docs/compatibility.md"])
def test_links_lead_somewhere(page: str) -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\(([^)#\s]+)\)", text)
    local = [link for link in links if not link.startswith(("http:", "https:"))]
    assert not [link for link in local if not ((ROOT / page).parent / link).exists()]
