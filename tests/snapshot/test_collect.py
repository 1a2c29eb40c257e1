"""Whole snapshots: of good targets, and of trees made to break whoever reads them."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.snapshot import collect
from sm120kit.snapshot.collect import take_snapshot
from sm120kit.snapshot.facts import Known, Unknown
from sm120kit.snapshot.slow_reader import KillableReader
from sm120kit.snapshot.store import dump_snapshot, parse_snapshot
from sm120kit.snapshot.target import TargetOptions
from sm120kit.snapshot.types.machine import Mount
from sm120kit.snapshot.types.snapshot import SCHEMA, Snapshot
from tests.snapshot.targets import install, program, value


def round_trip(snapshot: Snapshot) -> Snapshot:
    """The snapshot after a way through its file."""
    return parse_snapshot(dump_snapshot(snapshot), "memory")


def test_a_folder_of_packages_with_a_driver(nvml_folder: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site, "torch", "2.14.1", {"torch/version.py": "__version__ = '2.14.1+cu130'\ncuda = '13.0'\n"})
    (nvml_folder / "state").write_text("system count 2\n")
    (nvml_folder / "libcuda.so.580.95.05").write_bytes(b"")
    (nvml_folder / "libcuda.so.1").symlink_to("libcuda.so.580.95.05")
    (tmp_path / "env").write_text(f"LD_LIBRARY_PATH={nvml_folder}:relative\nPATH={os.environ['PATH']}\n")
    snapshot = take_snapshot(TargetOptions(site_packages=str(site), env_file=f"{tmp_path}/env", system_toolkits=False))
    assert snapshot.schema == SCHEMA
    assert value(snapshot.torch).cuda == "13.0"
    assert [each.name for each in value(snapshot.distributions)] == ["torch"]
    assert len(value(snapshot.driver.gpus)) == 2
    assert value(snapshot.driver.libcuda)[0] == f"{nvml_folder}/libcuda.so.580.95.05"
    assert snapshot.loader_dirs == (str(nvml_folder),)
    assert snapshot.environment["LD_LIBRARY_PATH"] == f"{nvml_folder}:relative"
    assert "torch.utils.cpp_extension" in [consumer.name for consumer in snapshot.consumers]
    assert round_trip(snapshot) == snapshot


def test_our_own_interpreter() -> None:
    snapshot = take_snapshot(TargetOptions(python=sys.executable, system_toolkits=False))
    names = [each.name for each in value(snapshot.distributions)]
    assert "pytest" in names
    assert names == sorted(names)
    assert round_trip(snapshot) == snapshot


def test_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    install(tmp_path / "opt/venv/lib/python3.12/site-packages", "sglang", "0.5.23", {"sglang/__init__.py": ""})
    program(tmp_path / "usr/local/cuda-13.0/bin/nvcc", "\x7fELF")
    (tmp_path / "usr/local/cuda").symlink_to("cuda-13.0")
    snapshot = take_snapshot(TargetOptions(root=str(tmp_path)))
    assert not snapshot.target.live
    assert value(snapshot.interpreter).prefix == "/opt/venv"
    assert isinstance(snapshot.host.memory_total, Unknown)
    assert isinstance(snapshot.driver.gpus, Unknown)
    assert any(toolkit.real_home == "/usr/local/cuda-13.0" for toolkit in snapshot.toolkits)
    assert not any(probe.asked for probe in snapshot.link_probes)
    assert str(tmp_path) not in dump_snapshot(snapshot).decode().replace(f'"{tmp_path}"', "")
    assert round_trip(snapshot) == snapshot


def test_no_secret_enters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_TOKEN", "SGLANG_API_KEY", "NVIDIA_PASSWORD", "UNRELATED", "CUDA_AUTH"):
        monkeypatch.setenv(name, "hush-hush")
    monkeypatch.setenv("SGLANG_PROXY", "https://user:hush-hush@proxy/")
    assert "hush" not in dump_snapshot(take_snapshot(TargetOptions(site_packages=str(tmp_path)))).decode()


def test_paths_that_are_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    program(odd / "bin/nvcc", "#!/bin/sh\nprintf '\\377'\n")
    install(odd / "site", os.fsdecode(b"caf\xe9"), "1.0")
    monkeypatch.setenv("CUDA_HOME", str(odd))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(odd))
    snapshot = take_snapshot(TargetOptions(site_packages=str(odd / "site"), system_toolkits=False))
    assert b"caf\\\\xe9" in dump_snapshot(snapshot)
    assert round_trip(snapshot).target.kind == "site-packages"


def test_a_collector_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(collect, "read_host", lambda *_: release.wait(30))
    start = time.monotonic()
    with pytest.raises(Sm120kitError, match=r"was not read within 0\.5 s") as caught:
        take_snapshot(TargetOptions(site_packages=str(tmp_path), system_toolkits=False), limit_s=0.5)
    release.set()
    assert caught.value.exit_code == TARGET_UNREADABLE
    assert time.monotonic() - start < 3.0


def test_a_program_at_work_ends_with_the_whole(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    python = program(tmp_path / "python", f"#!/bin/sh\necho $$ > {mark}\nexec sleep 60\n")
    with pytest.raises(Sm120kitError):
        take_snapshot(TargetOptions(python=str(python)), limit_s=1.0)
    pid, end = int(mark.read_text()), time.monotonic() + 5.0
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}").exists()


def test_a_crash_of_a_collector_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(collect, "read_driver", crash)
    with pytest.raises(ZeroDivisionError):
        take_snapshot(TargetOptions(site_packages=str(tmp_path), system_toolkits=False))


def test_a_dead_mount_on_the_way_costs_seconds_and_not_the_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = tmp_path / "dead"
    dead.mkdir()
    real = subprocess.Popen

    def start(command: list[str], **options: object) -> object:
        if command[-2] == "sm120kit.snapshot.slow_reader":
            command = ["/bin/sleep", "600"]
        return real(command, **options)  # type: ignore[call-overload]

    monkeypatch.setattr("subprocess.Popen", start)
    monkeypatch.setattr(collect, "_slow_reader", lambda root: KillableReader(root, 0.5))
    monkeypatch.setattr(collect, "slow_mounts", lambda _: (Mount(str(dead), "nfs4"),))
    monkeypatch.setenv("PATH", f"{dead}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{dead}/lib")
    monkeypatch.setenv("CUDA_HOME", f"{dead}/cuda")
    (tmp_path / "site").mkdir()
    snapshot = take_snapshot(TargetOptions(site_packages=str(tmp_path / "site"), system_toolkits=False), limit_s=20.0)
    assert snapshot.host.slow_mounts == (Mount(str(dead), "nfs4"),)
    assert isinstance(snapshot.distributions, Known)
    assert round_trip(snapshot) == snapshot


PLACES = (
    "etc/ld.so.cache", "etc/os-release", "bin/sh", "lib64/libcuda.so.1", "lib/x86_64-linux-gnu/libc.so.6",
    "usr/bin/c++", "usr/bin/python3", "usr/lib/x86_64-linux-gnu/libstdc++.so.6", "usr/lib64", "usr/local/bin/nvcc",
    "opt/venv/bin/python", "opt/venv/pyvenv.cfg", "usr/local/cuda", "usr/local/cuda/bin/nvcc",
    "usr/local/cuda/bin/nvcc.profile", "usr/local/cuda/bin/ptxas", "usr/local/cuda/dist-info",
    "usr/local/cuda/include", "usr/local/cuda/include/cccl/cuda/std/__cccl/version.h",
    "usr/local/cuda/include/cccl/nv/target", "usr/local/cuda/include/crt/host_config.h",
    "usr/local/cuda/include/crt/host_runtime.h", "usr/local/cuda/include/cuda.h",
    "usr/local/cuda/include/cuda_runtime_api.h", "usr/local/cuda/lib64", "usr/local/cuda/lib64/libcudart.so",
    "usr/local/cuda/lib64/stubs/libcuda.so", "usr/local/cuda/nvvm/bin/cicc",
    "usr/local/cuda/targets/x86_64-linux/include/cuda.h", "usr/local/cuda/version.json",
)  # fmt: skip
SITE = "opt/venv/lib/python3.12/site-packages"
PACKAGES = (
    "x.pth", "torch", "torch/version.py", "torch-2.14.1.dist-info", "torch-2.14.1.dist-info/RECORD", "flashinfer",
    "flashinfer/data/cccl/libcudacxx/include/cuda/std/__cccl/version.h", "flashinfer_python-0.7.2.post1.dist-info",
    "flashinfer_python-0.7.2.post1.dist-info/METADATA", "sglang-0.5.23.dist-info", "triton-3.8.0.dist-info/RECORD",
    "triton/backends/nvidia/bin/ptxas", "apache_tvm_ffi-0.1.11.dist-info", "deep_gemm-2.1.dist-info",
    "nvidia/cu13/bin/nvcc", "nvidia/cu13/bin/nvcc.profile", "nvidia/cu13/include/crt/host_config.h",
    "nvidia/cu13/include/cuda_runtime_api.h", "nvidia/cu13/lib/libcudart.so.13",
    "nvidia/cuda_runtime/include/cuda.h", "nvidia_cuda_nvcc-13.0.88.dist-info",
    "nvidia_cuda_nvcc-13.0.88.dist-info/RECORD", "nvidia_cuda_crt-13.0.88.dist-info/RECORD",
)  # fmt: skip
TEXTS = (
    b"",
    b"\xff\xfe\x00\x80" * 50,
    b"\x1b]0;title\x07\x1b[31m[bold]red[/bold]\r\n" * 20,
    b"#define CUDA_VERSION 13000\n#define CUDART_VERSION 13020\n#define CCCL_VERSION 3000001\n",
    b"#define CUDART_VERSION " + b"9" * 6000 + b"\n",
    b"TOP = $(TOP)/..\nINCLUDES += \"-I$(A)\" $(_SPACE_)\nA = $(B)\nB = $(A)\n" * 30,
    b"__version__ = '2.14.1+cu130'\ncuda: Optional[str] = '13.0'\n",
    b"__version__ = '" + b"1." * 9000 + b"'\ncuda = '\x1b[0m'\n",
    b"nvidia/cu13/bin/nvcc,sha256=0,5\n../../../../../../etc/passwd,,\n\"open,,\n" * 20,
    b"home = ../../..\ninclude-system-site-packages = true\nversion = x\n",
    b"/\n..\n../../../../..\nimport os; os.abort()\n",
    b"\x7fELF\x02\x01\x01" + bytes(11) + b"\x3e\x00" + bytes(range(256)) * 8,
    b"glibc-ld.so.cache1.1" + b"\xff" * 200,
    b"#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n",
    b'{"cuda_nvcc": {"version": "13.0.88"}}',
    b"[" * 5000,
)  # fmt: skip


LOOPS = b'#!/bin/sh\nexec "$0" "$@"\n'
"""Only where nothing is executed: each run of it costs the whole limit."""


def grow(base: Path, places: Sequence[str], chance: random.Random, texts: Sequence[bytes], huge: int = 1 << 40) -> None:
    """Put something at most of ``places``: a file, a folder, a pipe, a link to anywhere, or nothing.

    Never through a link made before: it may lead to this machine's own files.
    """
    top = os.path.realpath(base)
    for place in places:
        path = base / place
        if os.path.lexists(path) or os.path.commonpath((top, os.path.realpath(path.parent))) != top:
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            kind = chance.randrange(10)
            if kind < 5:
                path.write_bytes(chance.choice(texts))
                path.chmod(chance.choice([0o755, 0o755, 0o644, 0o000]))
            elif kind == 5:
                path.mkdir()
            elif kind == 6:
                os.mkfifo(path, 0o755)
            elif kind == 7:
                other = chance.choice(
                    [path.name, "nowhere", "/", "..", "../../../../..", f"/{chance.choice(places)}", "/dev/zero"]
                )
                path.symlink_to(other)
            elif kind == 8:
                with path.open("wb") as sparse:
                    sparse.truncate(chance.choice([5 << 20, huge]))
        except OSError:
            continue


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 40))
def test_random_images(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    root, chance = tmp_path_factory.mktemp("image"), random.Random(seed)
    places = [*PLACES, *(f"{SITE}/{place}" for place in PACKAGES)]
    chance.shuffle(places)
    deep = chance.random() < 0.3
    grow(root, places, chance, (*TEXTS, LOOPS), 5 << 20 if deep else 1 << 40)
    (root.parent / f"{root.name}.env").write_text(
        "CUDA_HOME=/usr/local/cuda\nLD_LIBRARY_PATH=/lib64:/usr/local/cuda/lib64\n"
    )
    options = TargetOptions(root=str(root), env_file=f"{root}.env", deep=deep)
    snapshot = take_snapshot(options, limit_s=20.0)
    assert round_trip(snapshot) == snapshot


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 40))
def test_random_live_targets(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    base, chance = tmp_path_factory.mktemp("live"), random.Random(seed)
    (base / "site").mkdir()
    grow(base / "site", chance.sample(PACKAGES, len(PACKAGES)), chance, TEXTS)
    grow(base, [place for place in PLACES if place.startswith("usr/local/cuda/")], chance, TEXTS)
    home = base / "usr/local/cuda"
    (base / "env").write_text(f"LD_LIBRARY_PATH={home}/lib64\nPATH={home}/bin:/usr/bin:/bin\n")
    snapshot = take_snapshot(
        TargetOptions(
            site_packages=f"{base}/site",
            cuda_home=str(home) if home.is_dir() else "",
            env_file=f"{base}/env",
            system_toolkits=False,
        ),
        limit_s=60.0,
    )
    assert round_trip(snapshot) == snapshot
