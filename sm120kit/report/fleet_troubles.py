"""What is against a fleet: verdicts that did not pass, deaths with their causes, what to do, and where to look."""

from __future__ import annotations

from collections.abc import Iterable

from sm120kit.fleet.types import Cause, Death, Fleet, Replica, Verdict
from sm120kit.report.fleet_words import judged, numbers, place
from sm120kit.report.lines import Lines, Row
from sm120kit.report.wording import counted

_INDENT = 2
_BODY = 14
"""Column in which the text beside a verdict begins."""
_KILLED = (
    "A person or a program sent SIGKILL, or the kernel did for want of host memory: dmesg -T | grep -i 'killed process'"
)

_STYLES = {True: "green", False: "bold red", None: "bold"}


def write_troubles(lines: Lines, fleet: Fleet) -> None:
    """Everything that keeps replicas from being verified, and every death of one."""
    for replica in fleet.replicas:
        against = [verdict for verdict in replica.verdicts if verdict.passed is False]
        if not against and not replica.deaths and replica.state not in ("hung", "failed", "unverified"):
            continue
        lines.blank()
        lines.prose(f"{place(replica)}: {replica.state}", style="bold")
        write_verdicts(lines, against)
        if replica.deaths:
            _write_deaths(lines, replica)
        elif replica.log:
            lines.prose(replica.log, indent=_BODY, label="  log", label_style="dim")


def not_judged(fleet: Fleet) -> list[Row]:
    """What could not be judged, once for all verdicts and replicas of which the same is said."""
    said: dict[tuple[tuple[str, ...], str], list[int]] = {}
    for replica in fleet.replicas:
        reasons: dict[str, list[str]] = {}
        for verdict in replica.verdicts:
            if verdict.passed is None:
                reasons.setdefault(verdict.evidence, []).append(verdict.name)
        for evidence, names in reasons.items():
            said.setdefault((tuple(names), evidence), []).append(replica.index)
    return [
        Row(
            f"{_these(names)} not judged",
            evidence if len(which) == len(fleet.replicas) else f"{_what(fleet, which)}: {evidence}",
        )
        for (names, evidence), which in said.items()
    ]


def _these(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _what(fleet: Fleet, which: list[int]) -> str:
    return f"{'server' if fleet.replicas[0].url else 'replica'}{'s' if len(which) > 1 else ''} {numbers(which)}"


def write_ladder(lines: Lines, fleet: Fleet) -> None:
    """Every verdict of every replica with its evidence."""
    for replica in fleet.replicas:
        lines.blank()
        lines.prose(f"{place(replica)}: {replica.state}", style="bold")
        if replica.verdicts:
            write_verdicts(lines, replica.verdicts)
        else:
            lines.prose("nothing was judged yet", indent=_INDENT, style="dim")
        if replica.deaths:
            _write_deaths(lines, replica)


def write_verdicts(lines: Lines, verdicts: Iterable[Verdict]) -> None:
    """Each verdict on a line: passed or not, its name, its evidence."""
    for verdict in verdicts:
        label = f"  {judged(verdict)}"
        lines.prose(
            f"{verdict.name}: {verdict.evidence}", indent=_BODY, label=label, label_style=_STYLES[verdict.passed]
        )


def _write_deaths(lines: Lines, replica: Replica) -> None:
    lines.prose(f"ended {counted(len(replica.deaths), 'time')} without being asked to; the last time:", indent=_INDENT)
    _write_death(lines, replica.deaths[-1])


def _write_death(lines: Lines, death: Death) -> None:
    lines.table([Row("exit", death.exit), *([Row("log", death.log)] if death.log else [])], indent=4)
    if not death.causes and death.log:
        lines.prose("cause: not known from its log", indent=4)
        if death.exit == "signal SIGKILL" or death.exit.endswith(" ended first"):
            lines.prose(_KILLED, indent=11, label="    fix", label_style="green")
    for cause in death.causes:
        _write_cause(lines, cause)


def _write_cause(lines: Lines, cause: Cause) -> None:
    lines.prose(cause.message, indent=11, label="    cause", style="bold")
    if cause.text:
        lines.prose(f"line {cause.line}: {cause.text}" if cause.line else cause.text, indent=11, style="dim")
    for number, remedy in enumerate(cause.remedies):
        lines.prose(remedy, indent=11, label="    fix" if number == 0 else "    or", label_style="green")
    if cause.check:
        lines.command(f"sm120kit explain {cause.check}", 11)
