"""The genuine FlashInfer module silu_and_mul: its build fails on wheels as pip lays them, and passes once repaired.

No GPU is needed: the architecture is named, and a torch without CUDA is enough to import FlashInfer.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.pictures import picture
from tests.programs import give_up, require_program
from tests.wheels.kit import Kit, install, packages_in
from tests.wheels.test_broken_trees import NEW_FLASHINFER, OLD_FLASHINFER
from tests.wheels.trees import CACHE, TOOLKIT_WHEELS, add_missing, lay_together

pytestmark = pytest.mark.wheels

TORCH = "torch==2.13.0"
"""The build without CUDA is enough."""
BESIDE = (
    "apache-tvm-ffi==0.1.11", "ninja", "numpy", "packaging", "filelock", "einops", "requests", "tqdm", "click",
    "tabulate", "nvidia-ml-py", "typing_extensions",
)  # fmt: skip
"""What FlashInfer imports."""
MODULE = "silu_and_mul"


@dataclass(frozen=True)
class Venv:
    """A virtual environment with wheels of CUDA 13.0 as pip lays them, and no CCCL wheel."""

    path: Path

    @property
    def python(self) -> Path:
        return self.path / "bin/python"

    @property
    def site_packages(self) -> Path:
        return next(self.path.glob("lib/python*/site-packages"))

    @property
    def cuda_home(self) -> Path:
        return self.site_packages / "nvidia/cu13"

    def kit(self, scratch: Path, **variables: str) -> Kit:
        """The environment as an activated shell has it, with these variables."""
        environment = {"PATH": f"{self.path}/bin:{os.environ['PATH']}", "XDG_CACHE_HOME": str(scratch / "cache")}
        target = ("--no-system-toolkits", "--python", str(self.python))
        return Kit(scratch / "data", target, {**environment, **variables})


@pytest.fixture
def venv() -> Iterator[Venv]:
    require_program("gcc", "c++")
    python = lay_together("python", (TORCH, *BESIDE))
    (CACHE / "trees").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE / "trees") as scratch:
        made = Venv(Path(scratch) / "venv")
        if subprocess.run([sys.executable, "-m", "venv", "--without-pip", made.path], check=False).returncode:
            give_up("this Python makes no virtual environments")
        add_missing(python, made.site_packages)
        os.link(python / "bin/ninja", made.path / "bin/ninja")
        for part, wheel in TOOLKIT_WHEELS["13.0"].items():
            if part != "cccl":
                install(made.site_packages, wheel)
        yield made


def built_by_flashinfer(venv: Venv, env_script: str, scratch: Path) -> subprocess.CompletedProcess[str]:
    """FlashInfer's own build, called as SGLang does, in a plain shell that has sourced the env script."""
    code = (
        "from flashinfer.jit.activation import gen_act_and_mul_module as module\n"
        "spec = module('silu'); spec.build(False); print(spec.get_library_path())\n"
    )
    return subprocess.run(
        ["sh", "-euc", '. "$1"; exec "$2" -c "$3"', "sh", env_script, str(venv.python), code],
        check=False,
        capture_output=True,
        text=True,
        cwd=scratch,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(scratch),
            "FLASHINFER_WORKSPACE_BASE": str(scratch),
            "FLASHINFER_CUDA_ARCH_LIST": "12.0a",
        },
    )


def repaired(venv: Venv, kit: Kit, scratch: Path) -> None:
    """``fix --apply`` cures it, nothing in the environment changes, and the module builds; taken back at the end."""
    before = picture(venv.site_packages)
    answer = kit.fix("--apply", "--json")
    assert answer.code == 0, answer.err or answer.out[-3000:]
    report = answer.data
    assert all(each["severity"] != "error" for each in report["after"])
    assert kit.prove("--flashinfer", MODULE)[f"flashinfer:{MODULE}"]["outcome"] == "passed"
    done = built_by_flashinfer(venv, report["env_script"], scratch)
    assert done.returncode == 0, done.stderr[-3000:]
    assert Path(done.stdout.split()[-1]).read_bytes()[:4] == b"\x7fELF"
    assert {path: state for path, state in picture(venv.site_packages).items() if "__pycache__" not in path} == {
        path: state for path, state in before.items() if "__pycache__" not in path
    }
    assert kit.fix("--json").data["plan"]["steps"] == []
    assert kit.run("undo").code == 0
    assert picture(kit.data_dir / "targets") == picture(kit.data_dir / "toolkits") == {}


def test_with_its_own_cccl(venv: Venv, tmp_path: Path) -> None:
    install(venv.site_packages, NEW_FLASHINFER)
    before = venv.kit(tmp_path, CUDA_HOME=str(venv.cuda_home)).prove("--flashinfer", MODULE)[f"flashinfer:{MODULE}"]
    assert (before["outcome"], before["check"]) == ("failed", "toolkit.cudart-unlinkable")
    assert "cannot find -lcudart" in before["error"]
    # Nothing names the toolkit in the wheels: no CUDA_HOME, and no nvcc on PATH.
    kit = venv.kit(tmp_path)
    assert [each["check"] for each in kit.fix("--json").data["plan"]["cures"]] == ["toolkit.nvcc-missing"]
    repaired(venv, kit, tmp_path)


def test_without_a_cccl_the_wheel_is_named_and_cures(venv: Venv, tmp_path: Path) -> None:
    install(venv.site_packages, OLD_FLASHINFER)
    kit = venv.kit(tmp_path)
    before = picture(venv.path)
    answer = kit.fix("--apply", "--json")
    assert answer.code == 1
    cccl = TOOLKIT_WHEELS["13.0"]["cccl"]
    assert packages_in(answer.data["plan"]["packages"]) == [cccl]
    assert (answer.data["plan"]["steps"], answer.data["applied"]) == ([], 0)
    assert picture(venv.path) == before
    assert picture(kit.data_dir / "targets") == picture(kit.data_dir / "toolkits") == {}
    install(venv.site_packages, cccl)
    repaired(venv, kit, tmp_path)
