"""How parts of a fleet are called and how their figures are written: the same in every output."""

from __future__ import annotations

from sm120kit.fleet.types import Fleet, Replica, Verdict
from sm120kit.report.lines import Lines
from sm120kit.report.wording import counted

_GIB = 1 << 30

REHEARSAL = "REHEARSAL: stand-ins on simulated GPUs; nothing of the hardware is verified"

STYLES = {
    "waiting": "dim",
    "loading": "cyan",
    "verifying": "cyan",
    "verified": "bold green",
    "unverified": "bold red",
    "hung": "bold red",
    "failed": "bold red",
    "stopping": "yellow",
    "stopped": "dim",
}
"""Of each state."""


def write_rehearsal(lines: Lines, fleet: Fleet) -> None:
    """Where it is a rehearsal, the line that says so; it stands first and last in all that is printed of one."""
    if fleet.rehearsal:
        lines.prose(REHEARSAL, style="bold magenta")


def title(fleet: Fleet) -> str:
    """What runs, in one line."""
    pieces = [(f"{fleet.name}: " if fleet.name else "") + counted(len(fleet.replicas), "server")]
    if fleet.model:
        pieces.append(f"of {fleet.served_model_name or fleet.model}")
    if fleet.sglang:
        pieces.append(f"with SGLang {fleet.sglang}")
    return " ".join(pieces) + f", level {fleet.level}"


def place(replica: Replica) -> str:
    """The replica with its GPU and port, as a sentence names it."""
    if replica.url:
        return f"server {replica.index}, {replica.url}"
    where = f"GPU {replica.gpu_index or replica.gpu}" if replica.gpu else "the CPU"
    return f"replica {replica.index} on {where}, port {replica.port}"


def good(fleet: Fleet) -> tuple[Replica, ...]:
    """The replicas that are verified; of a fleet that has ended those that were when it was ended."""
    return tuple(
        each
        for each in fleet.replicas
        if "verified" in ((each.state, each.before_end) if fleet.ended else (each.state,))
    )


def verified(fleet: Fleet) -> int:
    """How many those are."""
    return len(good(fleet))


def granted(fleet: Fleet) -> int:
    """Requests at a time that they grant, or granted."""
    return sum(each.granted or 0 for each in good(fleet))


def one_line(fleet: Fleet) -> str:
    """How far it is, for a place that has one line."""
    rehearsed = "rehearsal: " if fleet.rehearsal else ""
    if fleet.verified:
        return f"{rehearsed}all {len(fleet.replicas)} verified at level {fleet.level}"
    others = [f"replica {each.index} {each.state}" for each in fleet.replicas if each.state != "verified"]
    shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
    return f"{rehearsed}{verified(fleet)} of {len(fleet.replicas)} verified; {shown}"


def duration(seconds: float) -> str:
    """``0:42``, ``12:03``, ``1:02:03``."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def gib(size: int) -> str:
    """Bytes as GiB (2^30)."""
    return f"{size / _GIB:.1f} GiB"


def judged(verdict: Verdict) -> str:
    """A verdict in one word or two."""
    return {True: "passed", False: "failed", None: "not judged"}[verdict.passed]


def numbers(values: list[int]) -> str:
    """``0-2, 5``: sorted numbers, with those that follow each other drawn together."""
    runs: list[list[int]] = []
    for value in sorted(values):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
