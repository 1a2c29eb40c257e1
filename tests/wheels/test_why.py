"""What real compilers and linkers print over broken trees, inside a server's own messages, is diagnosed from that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.programs import require_program
from tests.wheels.variants import BROKEN, HEALTHY, Made, make

pytestmark = pytest.mark.wheels

PLAIN = "__global__ void fill(float *to) { to[threadIdx.x] = 1; }\n"
HALF = "#include <cuda_fp16.h>\n" + PLAIN
STD = "#include <cuda/std/type_traits>\n" + PLAIN
CUB = "#include <cub/cub.cuh>\n" + PLAIN


class Probe(NamedTuple):
    """A compilation, or a link without any object, that a tree cannot do, and the checks that its output names."""

    source: str
    options: tuple[str, ...]
    expected: tuple[str, ...]


LINK = ("-shared", "-lcudart", "-lcuda")
COMPILE = ("-c", "-arch=sm_120a")
PREPROCESS = ("-E",)

CUDART = "toolkit.cudart-unlinkable"
LIBCUDA = "toolkit.libcuda-stub-missing"
NV_TARGET = "toolkit.nv-target-missing"
MIXED = "toolkit.cccl-mixed"
RELEASES = "toolkit.release-mismatch"
INCOMPLETE = "toolkit.incomplete"

PROBES: Mapping[str, tuple[Probe, ...]] = {
    "pure": (Probe("", LINK, (CUDART, LIBCUDA)),),
    "no_lib64": (Probe("", LINK, (CUDART, LIBCUDA)),),
    "no_devlink": (Probe("", LINK, (CUDART,)),),
    "no_stub": (Probe("", LINK, (LIBCUDA,)),),
    "no_cccl": (Probe(HALF, PREPROCESS, (NV_TARGET,)), Probe(STD, PREPROCESS, (NV_TARGET,))),
    "hdr_newer": (Probe(STD, PREPROCESS, (RELEASES,)),),
    "hdr_older": (Probe(STD, PREPROCESS, (RELEASES,)),),
    "crt_newer": (Probe(PLAIN, COMPILE, (RELEASES,)),),
    "crt_older": (Probe(PLAIN, COMPILE, (RELEASES,)),),
    "nvvm_newer": (Probe(PLAIN, COMPILE, (RELEASES,)),),
    "nvvm_older": (Probe(PLAIN, COMPILE, (RELEASES,)),),
    "natural": (
        Probe(PLAIN, COMPILE, (RELEASES,)),
        Probe(HALF, PREPROCESS, (NV_TARGET,)),
        Probe("", LINK, (CUDART, LIBCUDA)),
    ),
    "no_crt": (Probe(PLAIN, PREPROCESS, (INCOMPLETE,)),),
    "no_nvvm": (Probe(PLAIN, COMPILE, (INCOMPLETE,)),),
    "no_runtime": (Probe(PLAIN, PREPROCESS, (INCOMPLETE,)),),
    "overlay_13.0": (Probe(CUB, PREPROCESS, (MIXED,)),),
    "overlay_13.5": (Probe(CUB, PREPROCESS, (MIXED,)),),
}

AROUND = """\
[2026-11-29 16:02:10] Scheduler hit an exception: Traceback (most recent call last):
RuntimeError: Ninja build failed. Ninja output:
{}
ninja: build stopped: subcommand failed.
Exception: Capture cuda graph failed: Ninja build failed. Ninja output:
Possible solutions:
1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)
[2026-11-29 16:02:10] Received sigquit from a child process. It usually means the child failed.
"""


def test_every_variant_has_a_probe() -> None:
    assert PROBES.keys() == BROKEN.keys()


@pytest.mark.parametrize("name", BROKEN)
def test_the_real_text_is_diagnosed(name: str, tmp_path: Path) -> None:
    require_program("gcc", "c++")
    with make(BROKEN[name]) as made:
        for probe in PROBES[name]:
            done = run(probe, made, tmp_path)
            assert done.returncode != 0, "the tree does what it should not be able to do"
            answer = why(AROUND.format(done.stdout), tmp_path)
            assert tuple(cause["check"] for cause in answer["causes"]) == probe.expected, done.stdout


@pytest.mark.parametrize("release", HEALTHY)
def test_a_healthy_tree_prints_nothing_of_the_kind(release: str, tmp_path: Path) -> None:
    require_program("gcc", "c++")
    with make(HEALTHY[release]) as made:
        for probe in (
            Probe("", LINK, ()),
            Probe(HALF, PREPROCESS, ()),
            Probe(STD, PREPROCESS, ()),
            Probe(PLAIN, COMPILE, ()),
        ):
            done = run(probe, made, tmp_path)
            assert done.returncode == 0, done.stdout
            log = f"{done.stdout[-20_000:]}\n[2026-11-29 16:02:10] The server is fired up and ready to roll!\n"
            assert why(log, tmp_path)["causes"] == []


@pytest.mark.parametrize(
    ("name", "says"), [("no_devlink", "has a version in its name"), ("no_runtime", "no libcudart at all")]
)
def test_log_and_tree_together_say_which_of_the_causes_it_is(name: str, says: str, tmp_path: Path) -> None:
    require_program("gcc", "c++")
    with make(BROKEN[name]) as made:
        done = run(Probe("", LINK, ()), made, tmp_path)
        target = (
            "--site-packages",
            str(made.site_packages),
            "--cuda-home",
            str(made.cuda_home),
            "--no-system-toolkits",
        )
        answer = why(AROUND.format(done.stdout), tmp_path, *target)
    cudart = next(cause for cause in answer["causes"] if cause["check"] == CUDART)
    assert cudart["on_target"]["outcome"] == "found"
    assert says in cudart["on_target"]["findings"][0]["message"]
    assert cudart["remedies"] == cudart["on_target"]["findings"][0]["remedies"]


def run(probe: Probe, made: Made, scratch: Path) -> subprocess.CompletedProcess[str]:
    """Compile with the tree's own nvcc, or link as FlashInfer does; its standard error is in its standard output."""
    home = made.cuda_home
    output = ("-o", str(scratch / "made"))
    if probe.source:
        source = scratch / "probe.cu"
        source.write_text(probe.source)
        command = (str(home / "bin/nvcc"), *probe.options, str(source), *output)
    else:
        command = ("c++", f"-L{home}/lib64", f"-L{home}/lib64/stubs", *probe.options, *output)
    return subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=300,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TMPDIR": str(scratch)},
    )


def why(log: str, scratch: Path, *options: str) -> Any:
    """The answer of the real command."""
    path = scratch / "server.log"
    path.write_text(log)
    done = subprocess.run(
        [sys.executable, "-m", "sm120kit", "why", "--json", str(path), *options],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode in (0, 1, 4), done.stderr
    assert done.stdout, done.stderr
    return json.loads(done.stdout)
