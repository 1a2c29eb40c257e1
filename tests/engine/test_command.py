"""The command of a fleet's server, read by genuine SGLang's own parser: every setting arrives, no secret is seen."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sm120kit.fleet.order.order import Order, TargetOrder
from sm120kit.fleet.preparation.prepare import prepare
from sm120kit.fleet.supervision.command import api_key_of, command_of
from sm120kit.smoke.tiny_model import write_tiny_model
from tests.engine.venvs import VERSIONS, interpreter

pytestmark = pytest.mark.engine

KEY, OTHER_KEY = 'ü"quoted": #no \\ comment', "1234567"
"""One that YAML would read otherwise unless it is quoted, and one that it would take for a number."""

CHILD = """
import json, sys
from sglang.srt.server_args import prepare_server_args
settings = prepare_server_args(sys.argv[1:])
print("SETTINGS", json.dumps({name: getattr(settings, name) for name in %r}), flush=True)
sys.stdin.readline()
"""

ASKED = ("api_key", "admin_api_key", "port", "host", "nccl_port", "random_seed", "model_path", "served_model_name",
         "max_running_requests", "trust_remote_code")  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_every_setting_arrives_and_no_secret_is_seen(version: str, tmp_path: Path) -> None:
    model = write_tiny_model(tmp_path / "model")
    arguments = ("--device", "cpu", "--max-running-requests", "4", "--trust-remote-code", "--api-key", KEY,
                 f"--admin-api-key={OTHER_KEY}", "--attention-backend", "torch_native")  # fmt: skip
    order = Order(
        model=str(model),
        served_model_name="tiny",
        replicas=2,
        base_port=31000,
        arguments=arguments,
        target=TargetOrder(python=str(interpreter(version))),
        environment={"SGLANG_USE_CPU_ENGINE": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
    )
    spec = prepare(order, {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}).spec
    made = command_of(
        spec, spec.replica(1), folder=str(tmp_path), base_environment={"PATH": os.environ["PATH"]}, mark="test"
    )
    assert made.argv[1:3] == ("-m", "sglang.launch_server")
    assert made.secret_file is not None
    assert made.secret_file.path.endswith(".yaml")
    Path(made.secret_file.path).write_text(made.secret_file.text, encoding="utf-8")
    command = [made.argv[0], "-c", CHILD % (ASKED,), *made.argv[3:]]
    with subprocess.Popen(
        command,
        env=made.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        settings: dict[str, Any] = {}
        for line in process.stdout:
            if line.startswith("SETTINGS "):
                settings = json.loads(line.removeprefix("SETTINGS "))
                break
        shown = Path(f"/proc/{process.pid}/cmdline").read_bytes() + Path(f"/proc/{process.pid}/environ").read_bytes()
        process.kill()
    assert settings == {
        "api_key": KEY,
        "admin_api_key": OTHER_KEY,
        "port": 31001,
        "host": "127.0.0.1",
        "nccl_port": 29501,
        "random_seed": spec.random_seed + 1,
        "model_path": str(model),
        "served_model_name": "tiny",
        "max_running_requests": 4,
        "trust_remote_code": True,
    }
    assert api_key_of(spec) == KEY
    assert KEY.encode() not in shown
    assert OTHER_KEY.encode() not in shown
