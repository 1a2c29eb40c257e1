"""A smoke test at level serve with genuine SGLang on the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.servers import ON_THE_CPU, cpu_environment
from tests.engine.venvs import interpreter

pytestmark = pytest.mark.engine


def test_a_tiny_model_is_served_and_nothing_is_left(tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "sm120kit", "smoke", "--level", "serve", "--no-system-toolkits", "--format", "json"),
        *("--python", str(interpreter("0.5.23")), "--fail-on", "never", "--", *ON_THE_CPU),
        *("--max-running-requests", "4", "--mem-fraction-static", "0.1"),
    ]
    states = {key: value for key, value in os.environ.items() if key.startswith("XDG_")}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=cpu_environment(tmp_path) | states, timeout=600
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["fleet"]["verified"], report["steps"]
    assert report["fleet"]["replicas"][0]["granted"] == 4
    assert not report["fleet"]["rehearsal"]
