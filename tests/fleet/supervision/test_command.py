"""The command of one server, and what stands in it and what must not."""

from __future__ import annotations

import sys

import pytest
from msgspec.structs import replace

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.spec import FleetSpec, Gpu, Rehearsal, ReplicaSpec
from sm120kit.fleet.supervision.command import api_key_of, command_of

GPU = Gpu("GPU-aaaa", 3, "NVIDIA RTX PRO 6000", "12.0", 96 << 30)
SPEC = FleetSpec(
    name="qwen",
    model="/models/qwen",
    replicas=(ReplicaSpec(0, 30000, 29500, (GPU,)), ReplicaSpec(1, 30001, 29501, (replace(GPU, uuid="GPU-bbbb"),))),
    sglang="0.5.23",
    python="/srv/venv/bin/python",
    random_seed=7,
)


def test_one_server() -> None:
    made = command_of(SPEC, SPEC.replica(1), folder="/tmp/f", base_environment={"HOME": "/root"}, mark="m1")
    assert made.argv == (
        "/srv/venv/bin/python", "-m", "sglang.launch_server", "--model-path", "/models/qwen", "--host", "127.0.0.1",
        "--port", "30001", "--nccl-port", "29501", "--random-seed", "8",
    )  # fmt: skip
    assert made.environment == {
        "HOME": "/root",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": "GPU-bbbb",
        "PYTHONUNBUFFERED": "1",
        "SPT_NOENV": "1",
        "TMPDIR": "/tmp/f",
        "SM120KIT_FLEET": "m1",
    }
    assert made.secret_file is None


def test_the_environment_is_that_of_the_caller_less_what_harms_and_with_what_is_needed() -> None:
    spec = replace(SPEC, environment={"CUDA_HOME": "/view"}, unset=("LD_PRELOAD",))
    made = command_of(
        spec,
        spec.replica(0),
        folder="/tmp/f",
        base_environment={
            "CUDA_HOME": "/old",
            "LD_PRELOAD": "x",
            "CUDA_VISIBLE_DEVICES": "0",
            "SM120KIT_FLEET": "outer",
        },
        mark="m1",
    )
    assert made.environment["CUDA_HOME"] == "/view"
    assert made.environment["CUDA_VISIBLE_DEVICES"] == "GPU-aaaa"
    assert made.environment["SM120KIT_FLEET"] == "m1"
    assert "LD_PRELOAD" not in made.environment


def test_a_server_on_the_cpu_sees_no_gpu() -> None:
    made = command_of(SPEC, ReplicaSpec(0, 30000, 29500), folder="/tmp/f", base_environment={}, mark="m1")
    assert made.environment["CUDA_VISIBLE_DEVICES"] == ""


SECRET_LINES = {
    "apart": ("--api-key", "sesame-123", "--tp", "1"),
    "joined": ("--api-key=sesame-123", "--tp", "1"),
    "shortened": ("--api-k", "sesame-123", "--tp", "1"),
    "twice": ("--api-key", "other", "--tp", "1", "--api-key", "sesame-123"),
}


@pytest.mark.parametrize("words", SECRET_LINES.values(), ids=SECRET_LINES)
def test_no_secret_is_an_argument(words: tuple[str, ...]) -> None:
    spec = replace(SPEC, arguments=words)
    made = command_of(spec, spec.replica(0), folder="/tmp/f", base_environment={}, mark="m1")
    assert not [word for word in made.argv if "sesame" in word or "other" in word or "api-k" in word]
    assert made.argv[-2:] == ("--config", "/tmp/f/arguments.yaml")
    assert made.argv[5:7] == ("--tp", "1")
    assert made.secret_file is not None
    assert made.secret_file.text == 'api-key: "sesame-123"\n'
    assert "sesame" not in repr(made)
    assert "sesame" not in repr(made.secret_file)
    assert api_key_of(spec) == "sesame-123"


@pytest.mark.parametrize("key", ["-dash", ""])
def test_a_key_that_sglang_would_take_for_a_flag(key: str) -> None:
    spec = replace(SPEC, arguments=(f"--api-key={key}",))
    with pytest.raises(Sm120kitError, match="begins with a dash"):
        command_of(spec, spec.replica(0), folder="/tmp/f", base_environment={}, mark="m1")


def test_a_seed_that_was_given_stays() -> None:
    spec = replace(SPEC, arguments=("--random-seed", "1"))
    made = command_of(spec, spec.replica(1), folder="/tmp/f", base_environment={}, mark="m1")
    assert made.argv.count("--random-seed") == 1


def test_a_stand_in_is_started_with_the_same_arguments() -> None:
    spec = replace(SPEC, rehearsal=Rehearsal(), arguments=("--tp", "1"))
    made = command_of(spec, spec.replica(0), folder="/tmp/f", base_environment={}, mark="m1")
    assert made.argv[:5] == (
        sys.executable,
        "-m",
        "sm120kit.fleet.rehearsal.server",
        "--profile",
        "/tmp/f/profile.json",
    )
    real = command_of(replace(spec, rehearsal=None), spec.replica(0), folder="/tmp/f", base_environment={}, mark="m1")
    assert made.argv[5:] == real.argv[3:]
