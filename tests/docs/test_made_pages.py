"""The pages that are made from the catalogue: current, and complete."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.diagnosis.logs.templates import with_names
from tools.compatibility_page import SECTIONS, TABLES
from tools.make_docs import DOCS, made_pages, stale_pages


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """All pages, as they are made now."""
    return made_pages()


def test_they_are_current(made: dict[str, str]) -> None:
    assert not stale_pages(made, DOCS), "make them with: python -m tools.make_docs"


def test_a_page_that_is_old_missing_or_too_much_is_named(made: dict[str, str], tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    for name, text in made.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text, encoding="utf-8")
    assert not stale_pages(made, docs)
    (docs / "compatibility.md").write_text("old")
    (docs / "troubleshooting.md").unlink()
    shutil.copy(docs / "checks/gpu.xid.md", docs / "checks/gpu.gone.md")
    assert stale_pages(made, docs) == ["checks/gpu.gone.md", "compatibility.md", "troubleshooting.md"]


def test_every_known_line_stands_in_troubleshooting(made: dict[str, str]) -> None:
    page = made["troubleshooting.md"]
    signatures = [each for entry in read_catalogue().entries.values() for each in entry.signatures]
    assert len(signatures) > 100
    for signature in signatures:
        assert f"\n```text\n{signature.example}\n```\n" in page
        for remedy in signature.remedies:
            assert with_names(remedy.text) in page
    prose = re.sub(r"```text\n.*?\n```", "", page, flags=re.DOTALL)
    assert not re.findall(r"\{\w+\}", prose), "a name was left unfilled"


def test_every_table_is_shown_or_named(made: dict[str, str]) -> None:
    page = made["compatibility.md"]
    shown = {table for _, table, _ in SECTIONS}
    for path in TABLES.glob("*.toml"):
        assert path.stem in page
        rows = path.read_text(encoding="utf-8").count("[[row]]")
        if path.stem in shown:
            section = page.partition(f"From [{path.name}]")[2].partition("\n## ")[0]
            assert section.count("\n| ") - 2 == rows, path.name
