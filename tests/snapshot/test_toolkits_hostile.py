"""Random trees thrown at the toolkit collectors: whatever lies there, they answer, soon, with data to be saved."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sm120kit.snapshot.types.toolkits import Toolkit
from sm120kit.text import encode_json
from tests.snapshot.toolkit_trees import (
    PROFILE_130,
    PROFILE_CONDA,
    SITE,
    cccl,
    context,
    crt,
    installer_tree,
    runtime_headers,
    toolkits_of,
    wheel_tree,
)

LIMIT_S = 5.0

_PLACES = (
    "bin",
    "bin/nvcc",
    "bin/nvcc.profile",
    "bin/ptxas",
    "nvvm",
    "nvvm/bin/cicc",
    "targets",
    "targets/x86_64-linux",
    "targets/x86_64-linux/include",
    "include",
    "include/crt",
    "include/cuda.h",
    "include/cccl",
    "include/cuda",
    "include/nv",
    "include/cub/version.cuh",
    *(f"include/{name}" for name in (*crt(), *runtime_headers(), *cccl())),
    "lib",
    "lib64",
    "lib/libcudart.so",
    "lib/libcudart.so.13",
    "lib/libcudart.so.13.0.96",
    "lib/libcudart.so.99999999999999999999999999999999999999999999",
    "lib/libnvrtc.so.13",
    "lib/libnvrtc-builtins.so.13.x",
    "lib64/stubs/libcuda.so",
    "version.json",
    "conda-meta",
    "conda-meta/cuda-nvcc-tools-13.0.88-0.json",
    "dist-info",
    "dist-info/nvidia_cuda_nvcc-13.0.88.dist-info/RECORD",
)

_TEXTS = st.sampled_from(
    (
        PROFILE_130,
        PROFILE_CONDA,
        *crt().values(),
        *runtime_headers().values(),
        *cccl().values(),
        "#!/bin/sh\nexec /nowhere/bin/nvcc\n",
        "#!/bin/sh\nexec $CUDA_HOME/bin/nvcc\n",
        "A = $(A)$(A)x\n" * 40,
        'INCLUDES = "-I\x00 -I/proc/self/../.. -I' + "../" * 200 + "\n",
        "#define CUDART_VERSION " + "9" * 6000,
        "#if __GNUC__ > " + "9" * 6000,
        '{"cuda_nvcc": {"version": "\\ud800"}}',
        "nvidia/cu13/bin/nvcc,sha256=x," + "9" * 6000 + "\n",
        'x,"\n' * 50,
    )
)

_NODES = st.one_of(
    st.tuples(st.just("file"), st.one_of(_TEXTS.map(str.encode), st.binary(max_size=200))),
    st.tuples(st.just("link"), st.sampled_from((*_PLACES, "gone", ".", "..", "/", "/dev/zero", "/proc/self/root"))),
    st.tuples(st.sampled_from(("folder", "pipe", "sparse", "closed", "odd-name", "nothing")), st.just(b"")),
)


def make(home: Path, place: str, kind: str, content: bytes | str) -> None:
    """Put one thing where a CUDA tree has another, unless a link made before leads the way there out of the tree."""
    path = home / place
    top = os.path.realpath(home)
    if os.path.commonpath((top, os.path.realpath(path.parent))) != top:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(path) and (path.is_symlink() or not path.is_dir()):
            path.unlink()  # a pipe too: opening one for writing waits for a reader
        if kind == "link":
            target = str(content)
            path.symlink_to(home / target if target in _PLACES else target)
        elif kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "odd-name":
            (path.parent / os.fsdecode(b"libcudart.so.\xff")).touch()
            (path.parent / os.fsdecode(b"\xff-linux")).mkdir()
        elif kind == "sparse":
            path.touch()
            os.truncate(path, 1 << 36)
        elif kind in ("file", "closed"):
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            path.chmod(0 if kind == "closed" else 0o755)
    except OSError:
        return


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    start=st.sampled_from(("nothing", "installer", "wheels")),
    nodes=st.lists(st.tuples(st.sampled_from(_PLACES), _NODES), max_size=12),
    flags=st.binary(max_size=40).map(lambda flags: os.fsdecode(flags.replace(b"\0", b"/"))),
)
def test_any_tree_is_answered(start: str, nodes: list[tuple[str, tuple[str, bytes | str]]], flags: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / SITE
        home = site / "nvidia/cu13"
        home.mkdir(parents=True)
        if start == "installer":
            installer_tree(home)
        elif start == "wheels":
            wheel_tree(site)
        for place, (kind, content) in nodes:
            make(home, place, kind, content)
        environment = {"CUDA_HOME": f"{home}", "PATH": f"{home}/bin", "NVCC_PREPEND_FLAGS": flags, "CPATH": flags}
        for root in ("", folder):
            inside = str(site) if not root else f"/{SITE}"
            made = context(site_packages=[inside], environment=environment, root=root)
            before = time.monotonic()
            toolkits = toolkits_of(made, {f"{inside}/nvidia/cu13": "CUDA_HOME"})
            assert time.monotonic() - before < LIMIT_S
            saved = msgspec.json.decode(encode_json(toolkits), type=tuple[Toolkit, ...])
            assert [toolkit.home for toolkit in saved] == [toolkit.home for toolkit in toolkits]


@pytest.mark.parametrize("links", [("a", "b"), ("a", "a")])
def test_cyclic_links_are_no_tree(tmp_path: Path, links: tuple[str, str]) -> None:
    (tmp_path / links[0]).symlink_to(links[1])
    if links[0] != links[1]:
        (tmp_path / links[1]).symlink_to(links[0])
    assert toolkits_of(context(cuda_home=tmp_path / "a")) == ()
