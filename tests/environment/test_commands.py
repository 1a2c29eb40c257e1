"""``sm120kit env`` and ``sm120kit run``, as programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sm120kit.data_dir import open_data_dir, target_key
from tests.environment.readers import run_shell


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages that says it holds flashinfer and torch."""
    folder = tmp_path / "site-packages"
    for name in ("flashinfer_python-0.7.2.post1", "torch-2.14.1"):
        (folder / f"{name}.dist-info").mkdir(parents=True)
        (folder / f"{name}.dist-info" / "RECORD").touch()
    for name in ("flashinfer", "torch"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").touch()
    return folder


@pytest.fixture
def toolkit(tmp_path: Path) -> Path:
    """A toolkit as far as names and one header tell: CUDA 13.0."""
    return make_toolkit(tmp_path / "cuda")


def make_toolkit(home: Path) -> Path:
    for folder in ("bin", "include", "lib64/stubs"):
        (home / folder).mkdir(parents=True)
    (home / "bin" / "nvcc").write_text(
        "#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n", encoding="utf-8"
    )
    (home / "bin" / "nvcc").chmod(0o755)
    (home / "include" / "cuda.h").write_text("#define CUDA_VERSION 13000\n", encoding="utf-8")
    (home / "include" / "cuda_runtime_api.h").write_text("#define CUDART_VERSION 13000\n", encoding="utf-8")
    for name in ("lib64/libcudart.so", "lib64/stubs/libcuda.so"):
        (home / name).write_bytes(b"\x7fELF")
    return home


def sm120kit(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sm120kit", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
    )


def targeted(site: Path, *more: str) -> tuple[str, ...]:
    return ("--site-packages", str(site), "--no-system-toolkits", "--gpu", "12.0", *more)


def test_env_as_data(site: Path, toolkit: Path) -> None:
    ran = sm120kit("env", *targeted(site), "--cuda-home", str(toolkit), "--shell", "json")
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert document["schema"] == "sm120kit.environment/1"
    assert document["cuda_home"] == str(toolkit)
    values = {each["name"]: each["value"] for each in document["variables"]}
    assert values["CUDA_HOME"] == str(toolkit)
    assert values["FLASHINFER_CUDA_ARCH_LIST"] == "12.0f"
    assert values["TORCH_CUDA_ARCH_LIST"] == "12.0a"
    assert values["LIBRARY_PATH"] == f"{toolkit}/lib64:{toolkit}/lib64/stubs"


def test_env_into_a_file_that_a_shell_sources(site: Path, toolkit: Path, tmp_path: Path) -> None:
    script = tmp_path / "env.sh"
    ran = sm120kit("env", *targeted(site), "--cuda-home", str(toolkit), "-o", str(script))
    assert (ran.returncode, ran.stdout) == (0, "")
    (seen,) = run_shell("sh", '. "$1"; dump', {"PATH": "/usr/bin:/bin"}, script)
    assert seen["CUDA_HOME"] == str(toolkit)
    assert f"{toolkit}/bin" in seen["PATH"].split(":")


def test_the_live_view_becomes_cuda_home(site: Path, toolkit: Path, tmp_path: Path) -> None:
    data = open_data_dir(str(tmp_path / "data"))
    view = make_toolkit(Path(data.toolkits) / "abc")
    current = Path(data.current(target_key(str(site))))
    current.parent.mkdir(parents=True)
    current.symlink_to(view)
    options = ("--shell", "json", "--data-dir", data.path)
    through_view = sm120kit("env", *targeted(site), *options, CUDA_HOME=str(toolkit))
    assert through_view.stderr == ""
    live = json.loads(through_view.stdout)
    assert live["cuda_home"] == str(current)
    assert any(each["name"] == "FLASHINFER_CUDA_ARCH_LIST" for each in live["variables"])
    named = sm120kit("env", *targeted(site, "--cuda-home", str(toolkit)), *options)
    assert json.loads(named.stdout)["cuda_home"] == str(toolkit)
    assert f"is not used, since it was not made from {toolkit}: these variables lead to {toolkit}" in named.stderr
    without = sm120kit("env", *targeted(site), "--shell", "json", CUDA_HOME=str(toolkit))
    assert json.loads(without.stdout)["cuda_home"] == str(toolkit)
    assert without.stderr.splitlines() == [
        f"sm120kit: no toolkit of links is live for {site}: these variables lead to {toolkit}, as it is",
        f"  What a repair would do: sm120kit fix --site-packages {site} --no-system-toolkits --gpu 12.0",
    ]
    nothing = sm120kit("env", *targeted(site), CUDA_HOME="", CUDA_PATH="", PATH="/nowhere")
    assert "no toolkit of links is live" in nothing.stderr
    assert "these variables name no CUDA toolkit" in nothing.stderr


def test_run_gives_the_command_its_environment_and_its_exit_code(site: Path, toolkit: Path) -> None:
    options = (*targeted(site), "--cuda-home", str(toolkit))
    ran = sm120kit(
        "run", *options, "--", "sh", "-c", 'echo "$CUDA_HOME"; command -v nvcc; echo "$1" >&2; exit 7', "x", "--y"
    )
    assert ran.returncode == 7
    assert ran.stdout.splitlines() == [str(toolkit), f"{toolkit}/bin/nvcc"]
    assert ran.stderr == "--y\n"


def test_run_respects_what_is_there(site: Path, toolkit: Path) -> None:
    options = (*targeted(site), "--cuda-home", str(toolkit))
    ran = sm120kit("run", *options, "--", "sh", "-c", 'echo "$MAX_JOBS"', MAX_JOBS="1")
    assert ran.stdout == "1\n"


@pytest.mark.parametrize(
    ("program", "code", "words"),
    [
        ("no-such-command", 127, "no command 'no-such-command'"),
        ("/no/such/command", 127, "No such file"),
        ("/etc/passwd", 126, "Permission denied"),
    ],
)
def test_run_of_what_cannot_be_run(site: Path, program: str, code: int, words: str) -> None:
    ran = sm120kit("run", *targeted(site), "--", program)
    assert ran.returncode == code
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""


def test_what_makes_no_sense_is_refused(site: Path, tmp_path: Path) -> None:
    assert sm120kit("run", *targeted(site)).returncode == 2
    assert sm120kit("env", "--snapshot", "x.json").returncode == 2
    assert sm120kit("env", "--shell", "cmd").returncode == 2
    inside = sm120kit("run", "--root", str(tmp_path), "--", "true")
    assert inside.returncode == 2
    assert "--shell docker" in inside.stderr
