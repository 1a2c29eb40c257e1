"""What a launch may be asked for, by options or by a fleet.toml: typed, before anything of it was looked at."""

from __future__ import annotations

import msgspec

from sm120kit.fleet.spec import Limits, RestartPolicy, Thinking
from sm120kit.fleet.types import Level, Struct


class TargetOrder(Struct, frozen=True):
    """The environment that the servers run in. Empty = as every other command chooses it."""

    python: str = ""
    cuda_home: str = ""
    no_system_toolkits: bool = False
    env_file: str = ""
    deep: bool = False
    data_dir: str = ""
    """Where repairs are kept; empty = by XDG."""


class RehearsalOrder(Struct, frozen=True):
    """What stands in for servers and GPUs; counts only with ``rehearse``."""

    gpu: str = "rtx-pro-6000x8"
    faults: tuple[str, ...] = ()
    """``KIND[:REPLICA[:once]]`` each."""
    load_s: float = 2
    sglang: str = ""
    """Whose version the stand-ins take after; empty = the newest known."""
    weights_gib: float = 0
    """Weights that each GPU would hold, for a model of which the config.json alone is there; 0 = they are read."""


class Order(Struct, frozen=True):
    """One launch as asked for."""

    model: str = ""
    """A folder, or a name that SGLang itself resolves."""
    name: str = ""
    """Empty: made from the model's."""
    served_model_name: str = ""
    gpus: str = "all"
    """``all``, ``none``, or indices and UUIDs with commas between them."""
    replicas: int = 0
    """0 = as many as the GPUs give."""
    base_port: int = 30000
    base_nccl_port: int = 29500
    host: str = "127.0.0.1"
    level: Level = "load"
    thinking: Thinking = "auto"
    stage: str = ""
    """Folder on a RAM disk that the model is copied to first; empty = it is read where it lies."""
    log_dir: str = ""
    """Empty: a folder beside the state of the fleet."""
    api_key_file: str = ""
    api_key_variable: str = ""
    force: tuple[str, ...] = ()
    """Ids of preflight findings that do not stop the launch."""
    keep: bool = False
    detach: bool = False
    rehearse: bool = False
    limits: Limits = Limits()
    restart: RestartPolicy = RestartPolicy()
    target: TargetOrder = TargetOrder()
    rehearsal: RehearsalOrder = RehearsalOrder()
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    """Variables for the servers, over all others. May hold secrets."""
    arguments: tuple[str, ...] = ()
    """SGLang's, as they would be typed. May hold secrets."""
