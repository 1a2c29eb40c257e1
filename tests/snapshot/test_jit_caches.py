"""Caches of JITs in folders made by hand, and a lock that a real process holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.jit_caches import MOST_MODULES, read_build_locks, read_built_modules
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.types.jit import BuiltModules
from tests.snapshot.targets import context, install, value

NOW = 1_764_000_000


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for name, version in (("flashinfer_python", "0.7.2"), ("apache_tvm_ffi", "0.1.11"), ("torch", "2.14.1")):
        install(tmp_path / "site", name, version)
    return tmp_path / "site"


def toolkit(home: Path, *, nvcc: int, header: int) -> Path:
    for path, time in ((home / "bin/nvcc", nvcc), (home / "include/cuda_runtime_api.h", header)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (NOW + time, NOW + time))
    return home


def module(folder: Path, home: Path | str, *, built: int, line: str = "cuda_home = {}") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "build.ninja").write_text(f"ninja_required_version = 1.3\nname = x\n{line.format(home)}\ncxx = c++\n")
    library = folder / f"{folder.name}.so"
    library.touch()
    os.utime(library, (NOW + built, NOW + built))
    return folder


def built(tmp_path: Path, site: Path, **environment: str) -> tuple[BuiltModules, ...]:
    made = context(site_packages=[site], environment={"HOME": str(tmp_path), **environment})
    return read_built_modules(made, Distributions.read(made.files, made.site_packages))


def ops(tmp_path: Path) -> Path:
    return tmp_path / ".cache/flashinfer/0.7.2/120f/cached_ops"


def test_a_compiler_newer_than_its_modules(tmp_path: Path, site: Path) -> None:
    home = toolkit(tmp_path / "cuda", nvcc=100, header=0)
    module(ops(tmp_path) / "norm", home, built=50)
    module(ops(tmp_path) / "rope", home, built=150)
    (found,) = built(tmp_path, site)
    assert (found.consumer, found.cuda_home, found.count) == ("flashinfer", str(home), 2)
    assert (found.older, found.older_count) == (("norm",), 1)
    assert value(found.compiler) == f"{home}/bin/nvcc"


def test_newer_headers_make_ninja_build_anew(tmp_path: Path, site: Path) -> None:
    home = toolkit(tmp_path / "cuda", nvcc=100, header=100)
    module(ops(tmp_path) / "norm", home, built=50)
    assert built(tmp_path, site)[0].older == ()


def test_a_link_that_leads_to_another_toolkit_now(tmp_path: Path, site: Path) -> None:
    toolkit(tmp_path / "cuda-12.9", nvcc=-900, header=-900)
    (tmp_path / "alternatives").symlink_to("cuda-12.9")
    (tmp_path / "cuda").symlink_to("alternatives")
    module(ops(tmp_path) / "norm", tmp_path / "cuda", built=50)
    for link, time in (("alternatives", 100), ("cuda", -500)):
        os.utime(tmp_path / link, (NOW + time, NOW + time), follow_symlinks=False)
    (found,) = built(tmp_path, site)
    assert (found.older, value(found.compiler)) == (("norm",), f"{tmp_path}/alternatives")


def test_homes_are_told_apart(tmp_path: Path, site: Path) -> None:
    one, other = toolkit(tmp_path / "a", nvcc=0, header=0), toolkit(tmp_path / "b", nvcc=100, header=0)
    module(ops(tmp_path) / "norm", one, built=50)
    module(ops(tmp_path) / "rope", other, built=50)
    assert [(found.cuda_home, found.older) for found in built(tmp_path, site)] == [
        (str(one), ()),
        (str(other), ("rope",)),
    ]


def test_only_the_installed_version_is_looked_at(tmp_path: Path, site: Path) -> None:
    module(tmp_path / ".cache/flashinfer/0.6.7/120f/cached_ops/norm", "/usr/local/cuda", built=0)
    assert built(tmp_path, site) == ()


def test_variables_move_the_caches(tmp_path: Path, site: Path) -> None:
    home = toolkit(tmp_path / "cuda", nvcc=100, header=0)
    module(tmp_path / "base/.cache/flashinfer/0.7.2/120f/cached_ops/norm", home, built=50)
    module(tmp_path / "tvm/inline_0123", home, built=50, line="nvcc = {}/bin/nvcc")
    found = built(tmp_path, site, FLASHINFER_WORKSPACE_BASE=f"{tmp_path}/base", TVM_FFI_CACHE_DIR=f"{tmp_path}/tvm")
    assert [(each.consumer, each.older) for each in found] == [("flashinfer", ("norm",)), ("tvm-ffi", ("inline_0123",))]


def test_a_toolkit_that_is_gone(tmp_path: Path, site: Path) -> None:
    module(ops(tmp_path) / "norm", tmp_path / "gone", built=0)
    (found,) = built(tmp_path, site)
    assert isinstance(found.compiler, Unknown)
    assert str(tmp_path / "gone") in found.compiler.reason


def test_unfinished_and_odd_folders(tmp_path: Path, site: Path) -> None:
    folder = module(ops(tmp_path) / "unfinished", "/usr/local/cuda", built=0)
    (folder / "unfinished.so").unlink()
    (ops(tmp_path) / "a_file").write_text("x")
    (ops(tmp_path) / "empty").mkdir()
    os.symlink("loop", ops(tmp_path) / "loop")
    (module(ops(tmp_path) / "garbage", "x", built=0) / "build.ninja").write_bytes(b"\xff\0" * 100)
    assert built(tmp_path, site) == ()


def test_a_huge_cache_is_looked_at_in_part(tmp_path: Path, site: Path) -> None:
    home = toolkit(tmp_path / "cuda", nvcc=100, header=0)
    for number in range(MOST_MODULES + 20):
        module(ops(tmp_path) / f"m{number:04}", home, built=50)
    (found,) = built(tmp_path, site)
    assert (found.count, found.older_count, len(found.older)) == (MOST_MODULES, MOST_MODULES, 5)


def test_a_lock_and_who_holds_it(tmp_path: Path, site: Path) -> None:
    lock = tmp_path / ".cache/torch_extensions/py312_cu130/ops/lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    os.utime(lock, (NOW, NOW))
    made = context(site_packages=[site], environment={"HOME": str(tmp_path)})
    distributions = Distributions.read(made.files, made.site_packages)
    (found,) = read_build_locks(made, distributions)
    assert (found.path, found.modified, value(found.holders)) == (str(lock), NOW, ())
    assert found.age_s > 0
    with lock.open():
        (held,) = read_build_locks(made, distributions)
    assert value(held.holders) == (os.getpid(),)


def test_locks_of_others_are_none(tmp_path: Path, site: Path) -> None:
    """FlashInfer's and tvm-ffi's lock files stay after use: the lock itself is the kernel's."""
    for path in (
        ".cache/flashinfer/0.7.2/120f/norm.lock",
        ".cache/tvm-ffi/x/lock",
        ".cache/torch_extensions/py312/ops/lock.d/x",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    made = context(site_packages=[site], environment={"HOME": str(tmp_path)})
    assert read_build_locks(made, Distributions.read(made.files, made.site_packages)) == ()


def test_a_folder_named_by_the_variable(tmp_path: Path, site: Path) -> None:
    (tmp_path / "ext/ops").mkdir(parents=True)
    (tmp_path / "ext/ops/lock").touch()
    made = context(site_packages=[site], environment={"HOME": "/nowhere", "TORCH_EXTENSIONS_DIR": f"{tmp_path}/ext"})
    (found,) = read_build_locks(made, Distributions.read(made.files, made.site_packages))
    assert found.path == f"{tmp_path}/ext/ops/lock"
