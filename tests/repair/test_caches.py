"""Kernel caches that were built through a toolkit, by what their build.ninja says."""

from __future__ import annotations

from pathlib import Path

from sm120kit.repair.caches import caches_built_through


def build(folder: Path, text: str) -> str:
    folder.mkdir(parents=True)
    (folder / "build.ninja").write_text(text)
    return str(folder)


def test_only_what_was_built_through_that_toolkit(tmp_path: Path) -> None:
    home, other = "/data/targets/venv-1/current", "/data/targets/venv-1/current-not"
    workspace = tmp_path / "workspace/.cache/flashinfer/0.7.2.post1/120f/cached_ops"
    ours = build(workspace / "silu_and_mul", f"ninja_required_version = 1.3\ncuda_home = {home}\nnvcc = x\n")
    build(workspace / "rope", f"cuda_home = {other}\n")
    tvm = build(tmp_path / "tvm/module_1", f"nvcc = {home}/bin/nvcc\n")
    build(tmp_path / "elsewhere/module", f"cuda_home = {home}\n")
    environment = {
        "HOME": str(tmp_path),
        "FLASHINFER_WORKSPACE_BASE": str(tmp_path / "workspace"),
        "TVM_FFI_CACHE_DIR": str(tmp_path / "tvm"),
    }
    assert caches_built_through(home, environment) == tuple(sorted((ours, tvm)))
    assert caches_built_through("/other", environment) == ()


def test_no_cache_at_all(tmp_path: Path) -> None:
    assert caches_built_through("/home", {"HOME": str(tmp_path / "none")}) == ()
