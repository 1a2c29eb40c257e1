"""How messages to people begin and end: what was found small, what to do with a capital, neither with a full stop."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.command_lines import ROOT

_ERRORS = ("Sm120kitError", "Refused", "ImageError", "say", "_refused", "_unreadable", "_missing")
_NAME = re.compile(r"[A-Z]\w*[A-Z0-9]|SGLang|Python\b")
"""What begins with a capital wherever it stands."""

OTHERS_WORDS = "sm120kit/fleet/rehearsal"
"""Stand-ins say what SGLang says, letter for letter."""


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    return ""


def _calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in _ERRORS and node.args:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def test_what_was_found_begins_small_and_what_to_do_with_a_capital() -> None:
    wrong = []
    for path in sorted((ROOT / "sm120kit").rglob("*.py")):
        if str(path.relative_to(ROOT)).startswith(OTHERS_WORDS):
            continue
        for where, call in _calls(path):
            message = _text(call.args[0])
            hints = [keyword.value for keyword in call.keywords if keyword.arg == "hint"]
            hint = _text(hints[0]) if hints else ""
            if (message[:1].isupper() and not _NAME.match(message)) or message.endswith("."):
                wrong.append(f"{where}: {message}")
            if hint[:1].islower() or hint.endswith("."):
                wrong.append(f"{where}: {hint}")
    assert not wrong, "\n".join(wrong)
