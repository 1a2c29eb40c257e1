"""The commands that the link checks print: run by a real shell, judged by a real linker."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.diagnosis.run import run_check
from sm120kit.diagnosis.types import Manual
from sm120kit.snapshot.types.machine import Driver
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import driver, known, named, no_driver, probe, toolkit
from tests.programs import require_program

CUDA_H = """
typedef int CUresult;
typedef void *CUstream;
#define CUDAAPI
#define cuMemAlloc cuMemAlloc_v2
CUresult CUDAAPI cuInit(unsigned int flags);
CUresult CUDAAPI cuMemAlloc(void **pointer, unsigned long bytes);
typedef CUresult (CUDAAPI *CUhostFn)(void *data);
CUresult CUDAAPI cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data);
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A tree as pip lays it, in a folder whose name needs quoting, with a real library under its versioned name."""
    require_program("gcc", "c++", "grep", "sed", "sort")
    home = tmp_path / "it's a venv" / "nvidia" / "cu13"
    (home / "lib").mkdir(parents=True)
    (home / "include").mkdir()
    (home / "include" / "cuda.h").write_text(CUDA_H)
    make_library(home / "lib" / "libcudart.so.13", "libcudart.so.13")
    return home


def make_library(path: Path, soname: str) -> None:
    command = ["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}", "-o", str(path), "-x", "c", "/dev/null"]
    subprocess.run(command, check=True)


def snapshot_of(home: Path, made: Driver) -> Snapshot:
    tree = toolkit(str(home), link_names=())
    return replace(named(str(home), toolkits=(tree,), link_probes=(probe(str(home), ("cudart", "cuda")),)), driver=made)


def printed_commands(check_id: str, snapshot: Snapshot) -> str:
    """What a person would copy: all commands of the remedy that goes by LIBRARY_PATH."""
    result = run_check(read_catalogue().checks[check_id], Case(snapshot))
    (finding,) = result.findings
    (manual,) = [each for each in finding.remedies if isinstance(each, Manual)]
    return "\n".join(manual.commands)


def link(home: Path, commands: str, person: Path, source: Path) -> subprocess.CompletedProcess[str]:
    """Run the commands and then the link line of FlashInfer's, in one shell."""
    line = 'c++ "$SOURCE" -shared -fPIC -L"$H/lib64" -L"$H/lib64/stubs" -lcudart -lcuda -Wl,-z,defs -o "$OUT"'
    environment = {"PATH": os.environ["PATH"], "HOME": str(person), "H": str(home), "SOURCE": str(source)}
    environment |= {"OUT": str(person / "module.so"), "LC_ALL": "C"}
    return subprocess.run(
        ["sh", "-ec", f"{commands}\n{line}"], env=environment, capture_output=True, text=True, timeout=60
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "module.cpp"
    path.write_text("int f() { return 0; }\n")
    return path


def test_without_the_commands_the_link_fails(home: Path, tmp_path: Path, source: Path) -> None:
    failed = link(home, ":", tmp_path, source)
    assert failed.returncode != 0
    assert "-lcudart" in failed.stderr
    assert "-lcuda:" in failed.stderr


def test_with_a_driver_the_commands_make_the_link_work(home: Path, tmp_path: Path, source: Path) -> None:
    libraries = tmp_path / "driver"
    libraries.mkdir()
    make_library(libraries / "libcuda.so.580.95.05", "libcuda.so.1")
    (libraries / "libcuda.so.1").symlink_to("libcuda.so.580.95.05")
    real = str(libraries / "libcuda.so.580.95.05")
    snapshot = snapshot_of(home, driver(libcuda=known((real,)), libcuda_links=(str(libraries / "libcuda.so.1"),)))
    commands = [printed_commands(f"toolkit.{name}", snapshot) for name in ("cudart-unlinkable", "libcuda-stub-missing")]
    linked = link(home, "\n".join(commands), tmp_path, source)
    assert linked.returncode == 0, linked.stderr
    assert [path.name for path in libraries.iterdir() if path.is_symlink()] == ["libcuda.so.1"]


def test_without_a_driver_the_stub_has_every_function_under_its_linked_name(
    home: Path, tmp_path: Path, source: Path
) -> None:
    source.write_text(
        'extern "C" int cuInit(unsigned); extern "C" int cuMemAlloc_v2(void **, unsigned long);\n'
        'extern "C" int cuLaunchHostFunc(void *, int (*)(void *), void *);\n'
        "int f(void *p) { return cuInit(0) + cuMemAlloc_v2(&p, 1) + cuLaunchHostFunc(p, 0, p); }\n"
    )
    snapshot = snapshot_of(home, no_driver())
    commands = [printed_commands(f"toolkit.{name}", snapshot) for name in ("cudart-unlinkable", "libcuda-stub-missing")]
    linked = link(home, "\n".join(commands), tmp_path, source)
    assert linked.returncode == 0, linked.stderr
    assert not list(tmp_path.rglob("libcuda.so.1")), "a stub must never have the name that programs load"
    assert "LD_LIBRARY_PATH" not in "".join(commands)
