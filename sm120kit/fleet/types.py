"""A fleet as it is, as data (``sm120kit.fleet/1``): what ``status``, ``launch --json`` and the state file hold.

Sizes are bytes, times seconds; moments are seconds since the epoch.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = "sm120kit.fleet/1"

Level = Literal["quick", "standard", "load"]
LEVELS: tuple[Level, ...] = ("quick", "standard", "load")

State = Literal[
    "waiting",  # for the leader, or for the back-off before a restart
    "loading",  # started, does not answer yet
    "verifying",
    "verified",
    "unverified",  # runs, and a verdict is against it
    "hung",  # runs, and its scheduler answers nothing
    "failed",  # ended, and is not started again
    "stopping",
    "stopped",
]


class Struct(msgspec.Struct, frozen=True):
    """Base of all data of a fleet."""


class ProcessId(Struct, frozen=True):
    """A process that no later one can be taken for."""

    pid: int
    started: int
    """Clock ticks since boot (field 22 of /proc/PID/stat)."""
    boot: str
    """/proc/sys/kernel/random/boot_id."""


class Verdict(Struct, frozen=True):
    """One rung of the verification."""

    name: str
    passed: bool | None
    """``None``: it could not be judged here; the evidence says why. That is no failure, and no proof."""
    evidence: str
    """One or two sentences with the figures."""


class Cause(Struct, frozen=True):
    """Why a replica ended, as its log or its exit tells."""

    check: str
    """The check or failure that ``sm120kit explain`` knows; empty = not known."""
    message: str
    line: int = 0
    """Number of the line in the log; 0 = no line tells it."""
    text: str = ""
    remedies: tuple[str, ...] = ()


class Death(Struct, frozen=True):
    """One end of a replica that nobody asked for."""

    at: float
    exit: str
    """In words: ``exit code 1``, ``signal SIGKILL``, ``hung for 60 s and was ended``."""
    log: str
    causes: tuple[Cause, ...] = ()


class Replica(Struct, frozen=True):
    """One server of a fleet."""

    index: int
    gpu: str
    """UUID, several joined by a comma; empty for a server on the CPU."""
    port: int
    pid: int | None
    state: State
    requested: int | None
    predicted: int | None
    granted: int | None
    verdicts: tuple[Verdict, ...] = ()
    gpu_index: str = ""
    """The number that nvidia-smi gives it, several joined by a comma."""
    nccl_port: int = 0
    process: ProcessId | None = None
    phase: str = ""
    """What it is at, as its log tells while it loads."""
    since: float = 0
    """When it came into its state."""
    started: float | None = None
    """When its present process was started."""
    ready_s: float | None = None
    """What it took from its start until it answered."""
    memory_used: int | None = None
    """What its GPUs hold."""
    memory_before: tuple[int, ...] = ()
    """What each of them held before the launch."""
    planned_memory: int | None = None
    """What the plan expects it to add on each of them."""
    roofline: float | None = None
    """Upper bound of its decoding by the plan, tokens a second."""
    tokens_per_second: float | None = None
    """Measured under load; ``None`` below level load."""
    roofline_share: float | None = None
    log: str = ""
    """Path of the log of its present, or last, start."""
    restarts: int = 0
    deaths: tuple[Death, ...] = ()
    """The latest ones, newest last."""
    before_end: State | None = None
    """The state that it was in when its fleet was ended; ``None`` = the fleet goes on."""
    url: str = ""
    """Of a server that is not ours: its address as it was given."""


class Event(Struct, frozen=True):
    """Something that happened, in words."""

    at: float
    text: str
    replica: int | None = None


STOPS = "stops"
"""The event of the whole fleet with which its supervisor begins to end it; without it a supervisor ended otherwise."""


class Fleet(Struct, frozen=True):
    """All servers of one launch."""

    schema: str
    tool_version: str
    name: str
    level: Level
    verified: bool
    """Every replica is verified at that level, now."""
    rehearsal: bool
    """The servers are stand-ins and the GPUs are simulated: nothing of the hardware was verified."""
    granted_total: int
    """Requests granted by the replicas that are verified."""
    replicas: tuple[Replica, ...]
    id: str = ""
    """Mark of this launch, in the environment of each of its processes."""
    model: str = ""
    served_model_name: str = ""
    sglang: str = ""
    host: str = "127.0.0.1"
    supervisor: ProcessId | None = None
    runtime: str = ""
    """Folder of what its processes make for themselves; removed at the end."""
    ended: bool = False
    """The supervisor has stopped all of it and is gone."""
    detached: bool = False
    drain_s: float = 30
    """What its servers get from SIGTERM until SIGKILL."""
    started: float = 0
    updated: float = 0
    spec_digest: str = ""
    """Tells whether a later launch asks for the same."""
    events: tuple[Event, ...] = ()
    """The latest ones, newest last."""
    remarks: tuple[str, ...] = ()
    """What was known before the start and must stand beside the result, as sentences without full stop."""


class Leftover(Struct, frozen=True):
    """What an ended fleet left."""

    name: str
    folder: str
    logs: int
    """Logs of servers that lie there."""
    size: int
    """Bytes of all files."""
    elsewhere: tuple[str, ...] = ()
    """Folders of logs that a launch named itself (``--log-dir``): those stay."""
