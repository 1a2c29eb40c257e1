"""What a launch asks for, whole and checked: made before anything starts, handed to the supervisor as it is."""

from __future__ import annotations

from typing import Literal

import msgspec

from sm120kit.fleet.types import Level, Struct

Thinking = Literal["on", "off", "auto"]


class Gpu(Struct, frozen=True):
    """One GPU that a replica is started on."""

    uuid: str
    index: int
    """As NVML counts: in the order of PCI bus addresses."""
    name: str
    compute_capability: str
    memory_total: int
    """Bytes."""
    memory_used: int = 0
    """Bytes, before the launch: what stays when all of ours is gone."""


class Expectation(Struct, frozen=True):
    """What the plan says of one replica."""

    granted: int
    tokens: int
    footprint: int | None = None
    """Bytes that the server will hold on each of its GPUs; ``None`` = the plan cannot tell."""
    weights: int | None = None
    """Bytes of them on each of its GPUs."""
    roofline_tokens_per_second: float | None = None
    """Upper bound of decoding with ``granted`` requests at once."""
    state_slots: int = 0
    """0 = a model without states, or one that there is no plan for."""
    state_pool: int = 0
    kv_pool: int | None = None
    """Bytes of keys and values on each of its GPUs."""
    graphs: int | None = None
    """Bytes, by SGLang's own estimate."""


class ReplicaSpec(Struct, frozen=True):
    """One server to start."""

    index: int
    port: int
    nccl_port: int
    gpus: tuple[Gpu, ...] = ()
    """Empty: it runs on the CPU."""
    expected: Expectation | None = None
    arguments: tuple[str, ...] = ()
    """Arguments of this server alone: what SGLang would otherwise take from the smallest card of a mixed machine."""


class Limits(Struct, frozen=True):
    """How long each thing may take, in seconds."""

    start: float = 1800
    """From a server's start until it answers."""
    answer: float = 120
    """One generation of the verification."""
    verify: float = 900
    """The whole verification of one replica."""
    hang: float = 60
    """A scheduler that answers nothing and makes no progress counts as hung after this, and is ended after as much
    again."""
    drain: float = 30
    """From SIGTERM until SIGKILL."""


class RestartPolicy(Struct, frozen=True):
    """What happens when a replica dies."""

    most: int = 3
    """Restarts of one replica within ``window``; 0 = never."""
    window: float = 3600
    first_delay: float = 1
    """Doubles with every death within the window."""
    longest_delay: float = 60


class Rehearsal(Struct, frozen=True):
    """Stand-ins in place of servers."""

    load_s: float = 2
    """What a stand-in takes to load once the caches are warm; the leader takes it too."""
    faults: tuple[str, ...] = ()
    """As ``--fault`` takes them: ``KIND[:REPLICA[:once]]``."""


class FleetSpec(Struct, frozen=True):
    """One launch."""

    name: str
    model: str
    """A folder, or a name that SGLang itself resolves."""
    replicas: tuple[ReplicaSpec, ...]
    sglang: str
    """Its version."""
    python: str
    """The target's interpreter; that of sm120kit in a rehearsal."""
    arguments: tuple[str, ...] = ()
    """SGLang's arguments as typed, without those that the fleet sets for each replica. May hold secrets: nothing but
    the supervisor's memory holds this."""
    served_model_name: str = ""
    """Empty: the model's path, as SGLang has it."""
    host: str = "127.0.0.1"
    level: Level = "load"
    thinking: Thinking = "auto"
    reasoning_parser: str = ""
    requested: int | None = None
    """``--max-running-requests``."""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    """Variables that ``sm120kit env`` gives for this target; merged over those of the caller."""
    unset: tuple[str, ...] = ()
    """Variables that a healthy run must not have."""
    random_seed: int = 0
    limits: Limits = Limits()
    restart: RestartPolicy = RestartPolicy()
    warm_key: str = ""
    """Names what the JIT caches depend on: versions, architecture, model, flags that choose kernels. Empty = no leader
    is needed."""
    log_folder: str = ""
    """Absolute; each start gets a file of its own in it. Empty: the one beside the state of the fleet."""
    rehearsal: Rehearsal | None = None
    keep: bool = False
    """What runs goes on running where not all of it could be verified."""
    remarks: tuple[str, ...] = ()
    """What was known before the start and must stand beside the result."""

    def replica(self, index: int) -> ReplicaSpec:
        """The replica of that number."""
        return next(each for each in self.replicas if each.index == index)
