"""The command and the environment of one server. Pure.

Secrets stand in nobody's argument list: they go into a file that SGLang reads itself (``--config``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

import msgspec

from sm120kit.engines.sglang.arguments import SECRET_SETTINGS, secrets_in, take_apart, without
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.spec import FleetSpec, ReplicaSpec
from sm120kit.fleet.types import Struct

MARK = "SM120KIT_FLEET"
_REHEARSAL = "sm120kit.fleet.rehearsal.server"


class SecretFile(Struct, frozen=True):
    """A file that the server reads when it starts: to be written for its owner alone, and removed once it answers."""

    path: str
    text: str

    def __repr__(self) -> str:
        return f"SecretFile(path={self.path!r})"


class Command(Struct, frozen=True):
    """One server to start."""

    argv: tuple[str, ...]
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    """All of it."""
    secret_file: SecretFile | None = None

    def __repr__(self) -> str:
        return f"Command(argv={self.argv!r})"


def command_of(
    spec: FleetSpec, replica: ReplicaSpec, *, folder: str, base_environment: Mapping[str, str], mark: str
) -> Command:
    """What to start for one server of the fleet.

    ``folder`` is the server's own: absolute, there already, for its owner alone, and short, since the sockets that
    SGLang makes in it may be 107 bytes long with their name. ``base_environment``: the caller's. ``mark``: the id of
    the fleet.

    Raises:
        Sm120kitError: a secret is one that SGLang cannot be given in a file.
    """
    secrets = secrets_in(spec.arguments, spec.sglang)
    public = without(spec.arguments, SECRET_SETTINGS, spec.sglang)
    seeded = any(each.setting == "random_seed" for each in take_apart(public, spec.sglang))
    path = f"{folder}/arguments.yaml"  # SGLang takes no other ending
    arguments = (
        *("--model-path", spec.model),
        *public,
        *replica.arguments,
        *(("--served-model-name", spec.served_model_name) if spec.served_model_name else ()),
        *("--host", spec.host),
        *("--port", str(replica.port)),
        *("--nccl-port", str(replica.nccl_port)),
        # A seed of its own for each: the same prompt sampled on two servers must not give the same answer.
        *(() if seeded else ("--random-seed", str(spec.random_seed + replica.index))),
        *(("--config", path) if secrets else ()),
    )
    program = (
        (sys.executable, "-m", _REHEARSAL, "--profile", f"{folder}/profile.json")
        if spec.rehearsal
        else (spec.python, "-m", "sglang.launch_server")
    )
    return Command(
        argv=(*program, *arguments),
        environment=_environment(spec, replica, folder, base_environment, mark),
        secret_file=SecretFile(path, secrets_as_yaml(secrets)) if secrets else None,
    )


def api_key_of(spec: FleetSpec) -> str:
    """What clients of the servers must send; empty where they need not."""
    return secrets_in(spec.arguments, spec.sglang).get("api_key", "")


def _environment(
    spec: FleetSpec, replica: ReplicaSpec, folder: str, base: Mapping[str, str], mark: str
) -> dict[str, str]:
    environment = {name: value for name, value in base.items() if name not in spec.unset}
    environment |= spec.environment
    environment |= {
        # NVML counts by PCI address and CUDA by speed, unless told otherwise; a UUID is the same to both.
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": ",".join(gpu.uuid for gpu in replica.gpus),
        "PYTHONUNBUFFERED": "1",
        # setproctitle would write over the place where /proc shows the mark.
        "SPT_NOENV": "1",
        "TMPDIR": folder,
        MARK: mark,
    }
    return environment


def secrets_as_yaml(secrets: Mapping[str, str]) -> str:
    """The secrets as YAML, of which JSON's strings are a part. SGLang makes words of them, flag and value apart, so a
    value that looks like a flag would be taken for one.

    Raises:
        Sm120kitError: one of them does.
    """
    for setting, value in secrets.items():
        if value.startswith("-") or not value:
            raise Sm120kitError(
                f"--{setting.replace('_', '-')} is empty or begins with a dash, and SGLang cannot be given such a one "
                "in a file",
                hint="Choose another one",
            )
    lines = [
        f"{setting.replace('_', '-')}: {json.dumps(value, ensure_ascii=False)}" for setting, value in secrets.items()
    ]
    return "\n".join(lines) + "\n"
