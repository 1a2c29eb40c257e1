"""What others need to help with a failure that is not known, and nothing that is secret."""

from __future__ import annotations

from sm120kit.diagnosis.logs.types import LogLine, Why


def issue_text(read: Why) -> str:
    """Markdown: versions, command line, the lines that look like a cause, and those that only report one."""
    told = [
        f"- {seen.package} {seen.version}{'' if seen.exact else ' (by the form of its log)'}" for seen in read.versions
    ]
    asked = [f"- {name} = {value}" for name, value in read.arguments.items()]
    first = read.suspects[0].text
    parts = [
        f"# Server fails: {first[:100]}",
        _section("Versions that the log tells", told, "none: please add the output of `python -m sglang.check_env`"),
        _section("Command line", [f"    {read.command}"] if read.command else [], "not in the log: please add it"),
        _section("What the server says it was asked for", asked, "not in the log"),
        _section("Lines that look like the cause", _quoted(read.suspects), "none"),
        _section("Lines that only report a failure", _quoted(read.wrappers), "none"),
        f"Lines of the log: {read.lines}{_incomplete(read)}. Read with sm120kit {read.tool_version}, "
        "which does not know this failure.",
    ]
    return "\n\n".join(parts) + "\n"


def _section(title: str, lines: list[str], otherwise: str) -> str:
    return f"## {title}\n\n" + ("\n".join(lines) if lines else otherwise)


def _quoted(lines: tuple[LogLine, ...]) -> list[str]:
    return [f"    {line.line}: {f'[{line.process}] ' if line.process else ''}{line.text}" for line in lines]


def _incomplete(read: Why) -> str:
    return f" ({read.incomplete})" if read.incomplete else ""
