"""Which parts on disk make one toolkit, as data: what is chosen, what is never mixed, and the reasons given."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from sm120kit.diagnosis.case import Case, NamedGpu, Request
from sm120kit.diagnosis.releases import Release
from sm120kit.repair.compose import Composition, Incomplete, compose
from sm120kit.repair.packages import what_to_install
from sm120kit.repair.view import lay_out
from sm120kit.snapshot.types.snapshot import Snapshot
from sm120kit.snapshot.types.toolkits import CcclCopy, GoneFile, Toolkit
from tests.builders import CU13, SITE, flashinfer, known, snapshot, toolkit, torch_build
from tests.snapshot.toolkit_trees import PROFILE_130, PROFILE_132, PROFILE_CONDA, PROFILE_DEBIAN

PROFILE_12 = PROFILE_130.replace(
    'SYSTEM_INCLUDES +=  "-isystem" "$(TOP)/$(_TARGET_DIR_)/include/cccl" $(_SPACE_)\n', ""
)
SYSTEM = "/usr/local/cuda-12.8"


def tree(*arguments: Any, profile: str = PROFILE_130, **changes: Any) -> Toolkit:
    return replace(toolkit(*arguments, **changes), profile=known(profile))


def system_12(**changes: Any) -> Toolkit:
    """As NVIDIA's installer lays 12.8: CCCL stands in include itself."""
    made = tree(SYSTEM, "12.8", layout="system", cccl="2.7.0", profile=PROFILE_12, **changes)
    copy = CcclCopy(f"{SYSTEM}/include", known("2.7.0"), True, True, True, True)
    return replace(made, include_dirs=(f"{SYSTEM}/include",), cccl_copies=(copy,))


def composed(*trees: Toolkit, **changes: Any) -> Composition:
    made = compose(Case(snapshot(toolkits=trees, **changes)))
    assert isinstance(made, Composition), made
    return made


def reasons(*trees: Toolkit, request: Request | None = None, **changes: Any) -> str:
    made = compose(Case(snapshot(toolkits=trees, **changes), request or Request()))
    assert isinstance(made, Incomplete)
    return "\n".join(made.reasons)


def names(folder: str) -> Sequence[str]:
    """What a tree of the tests holds, by the folder's name."""
    found = {
        "bin": ("nvcc", "nvcc.profile", "ptxas", "python3"),
        "include": ("cccl", "crt", "cub", "cuda", "cuda.h", "cuda_runtime_api.h", "nv", "thrust"),
        "lib": ("libcudart.so.13", "libpython3.so.1", "libcublas.so.13", "libcublas.so.13.1"),
        "lib64": ("libcudart.so.12", "libcudart.so", "libOpenCL.so.1"),
    }
    return found.get(posixpath.basename(folder), ())


def test_one_whole_tree_is_taken_as_it_is() -> None:
    made = composed(tree())
    assert made.trees == (tree(),)
    assert str(made.release) == "13.0"


def test_the_release_of_torch_goes_before_a_newer_one() -> None:
    newer = tree("/opt/cuda-13.2", "13.2", layout="system", cccl="3.2.0", profile=PROFILE_132)
    assert str(composed(newer, tree()).release) == "13.0"
    assert str(composed(newer, tree(), torch=torch_build("2.13.0+cpu", "")).release) == "13.2"


def test_a_part_that_does_not_fit_comes_from_another_tree() -> None:
    mixed = tree(releases={"crt": "13.5", "runtime-headers": "13.2", "driver-header": "13.2"})
    whole = tree("/opt/cuda-13.0", layout="system")
    made = composed(mixed, whole)
    assert made.release == Release(13, 0)
    assert {each.tree.home for each in (made.nvcc, made.crt, made.headers)} == {"/opt/cuda-13.0"}
    without_nvcc = tree("/opt/cuda-13.0", layout="system", drop=("nvcc",))
    made = composed(mixed, without_nvcc)
    assert (made.nvcc.tree.home, made.crt.tree.home, made.headers.tree.home) == (
        CU13, "/opt/cuda-13.0", "/opt/cuda-13.0",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (tree(releases={"cicc": "13.5"}), "finds no cicc (nvvm) that fits it (on disk: 13.5)"),
        (tree("/x", "13.5", releases={"cicc": "13.1"}, profile=PROFILE_132), "finds no cicc (nvvm) that fits it"),
        (
            tree(releases={"crt": "13.2"}),
            "finds none of the compiler's own headers (include/crt) that fit it (on disk: 13.2)",
        ),
        (tree(releases={"runtime-headers": "13.2"}), "finds no CUDA runtime headers of its release (on disk: 13.2)"),
        (tree(cccl=None), "finds no whole CCCL"),
        (tree(drop=("ptxas",)), "has no ptxas beside it"),
        (tree(drop=("libcudart",)), "finds no libcudart.so.13"),
        (tree(profile=PROFILE_DEBIAN), "an nvcc.profile that leads elsewhere"),
        (tree(layout="distro"), "no nvcc is on disk"),
        (tree(layout="view"), "no nvcc is on disk"),
        (system_12(), "of another CUDA major than torch, which was built with 13.0"),
        (tree('/srv/a"b/nvidia/cu13'), 'in a folder whose path holds a double quote ("). Move'),
        (tree("/srv/a$b/nvidia/cu13", drop=("crt",)), "in a folder whose path holds a dollar sign ($). Move"),
        (tree("/srv/a`b/nvidia/cu13"), "in a folder whose path holds a backtick (`). Move"),
        (toolkit(drop=("nvcc", "cicc"), layout="wheel-cu12"), "no nvcc is on disk"),
    ],
)
def test_why_there_is_none(made: Toolkit, words: str) -> None:
    assert words in reasons(made)


def test_a_compiler_that_does_not_know_the_gpu() -> None:
    request = Request((NamedGpu("RTX 5090", "12.0"),))
    old = replace(system_12(), parts=tree(SYSTEM, "12.6", layout="system").parts)
    assert "cannot build for compute capability 12.0" in reasons(
        old, request=request, torch=torch_build("2.9.1+cu126", "12.6")
    )


def test_a_view_of_12_has_cccl_where_its_compiler_looks() -> None:
    made = composed(system_12(), torch=torch_build("2.9.1+cu128", "12.8"))
    layout = lay_out(made, names, b"stub")
    for name in ("nv", "cuda", "cub", "thrust"):
        assert layout.links[f"include/{name}"] == f"cccl/{name}"
        assert layout.links[f"include/cccl/{name}"] == f"{SYSTEM}/include/{name}"
    assert layout.links["include/cuda.h"] == f"{SYSTEM}/include/cuda.h"


def test_a_view_of_wheels_has_one_cccl_alone() -> None:
    layout = lay_out(composed(tree()), names, b"stub")
    assert {name for name in layout.links if name.startswith("include/")} == {
        *(f"include/cccl/{name}" for name in ("nv", "cuda", "cub", "thrust")),
        *("include/nv", "include/crt", "include/cuda.h", "include/cuda_runtime_api.h"),
    }
    assert layout.links["lib64/libcublas.so"] == "libcublas.so.13"


def test_of_a_conda_environment_only_what_is_cudas() -> None:
    conda = tree("/opt/conda/envs/x", layout="conda", profile=PROFILE_CONDA)
    layout = lay_out(composed(conda), names, b"stub")
    assert {name for name in layout.links if name.startswith("bin/")} == {"bin/nvcc", "bin/nvcc.profile", "bin/ptxas"}
    assert "lib64/libpython3.so.1" not in layout.links
    assert "lib64/libcudart.so" in layout.links


def test_a_whole_cccl_goes_before_parts_of_two() -> None:
    halves = (
        CcclCopy(f"{CU13}/include", known("3.6.0"), True, True, False, False),
        CcclCopy(f"{CU13}/include/cccl", known("3.0.1"), True, True, True, True, "nvidia-cuda-cccl 13.0.85"),
    )
    assert composed(replace(tree(), cccl_copies=halves)).cccl.version == "3.0.1"
    overlaid = (replace(halves[1], unowned_files=12),)
    bundle = flashinfer(include_dirs=(f"{SITE}/flashinfer/data/cccl/libcudacxx/include",), bundled_cccl=known("3.6.0"))
    made = composed(replace(tree(), cccl_copies=overlaid), consumers=(bundle,))
    assert (made.cccl.version, made.cccl.cub) == ("3.6.0", f"{SITE}/flashinfer/data/cccl/cub/cub")
    assert "finds no whole CCCL" in reasons(replace(tree(), cccl_copies=overlaid))


def shopping(*trees: Toolkit, **changes: Any) -> tuple[str, ...]:
    taken: Snapshot = snapshot(toolkits=trees, **changes)
    found = what_to_install(Case(taken))
    return found.commands if found else ()


def test_the_packages_follow_torch() -> None:
    whole = ('pip install "cuda-toolkit[nvcc,cccl]==13.0.3.0"',)
    assert shopping(tree(drop=("nvcc", "cicc", "crt"), cccl=None)) == whole
    assert shopping() == whole
    assert shopping(tree("/x", "13.5")) == whole
    assert shopping(tree(cccl=None)) == ("pip install nvidia-cuda-cccl==13.0.85",)
    assert shopping(tree(releases={"crt": "13.5", "cicc": "13.5"})) == (
        "pip install nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88",
    )


def test_no_wheel_of_cuda_12_is_named_for_its_compiler() -> None:
    assert shopping(torch=torch_build("2.9.1+cu128", "12.8")) == ()


@pytest.mark.parametrize("character", ['"', "$", "`"])
def test_no_packages_for_a_folder_in_which_nvcc_cannot_work(character: str) -> None:
    assert shopping(tree(f"/srv/a{character}b/nvidia/cu13", drop=("crt",))) == ()
    assert shopping(tree("/srv/a b'c/nvidia/cu13", drop=("crt",)))


def test_a_borrowed_part_is_named_with_its_path() -> None:
    owned = "nvidia-cuda-crt 13.0.88"
    lender = tree("/opt/cuda-13.0", layout="system", drop=("nvcc",))
    lender = replace(lender, parts=tuple(replace(each, owner=owned) for each in lender.parts))
    bundle = flashinfer(include_dirs=(f"{SITE}/flashinfer/data/cccl/libcudacxx/include",), bundled_cccl=known("3.6.0"))
    lender = replace(lender, cccl_copies=())
    made = composed(tree(releases={"crt": "13.5"}, cccl=None), lender, consumers=(bundle,))
    sources = {choice.part: choice.source for choice in made.choices}
    crt = lender.part("crt")
    assert crt is not None
    assert sources["compiler's headers"] == f"{owned} ({crt.path})"
    assert sources["CCCL"].endswith(f" ({SITE}/flashinfer/data/cccl/libcudacxx/include)")
    assert CU13 not in sources["cicc"]


def test_headers_of_a_wheel_that_lost_one_are_not_taken() -> None:
    lost = GoneFile(f"{CU13}/include/cuda_fp16.h", "nvidia-cuda-runtime 13.0", for_every_compile=True)
    damaged = tree(gone_files=(lost,))
    assert f"finds no whole set of CUDA runtime headers of its release ({lost.path} is gone)" in reasons(damaged)
    shopping = what_to_install(Case(snapshot(toolkits=(damaged,))))
    assert shopping is not None
    # pip does nothing about a wheel of the wanted version without being forced.
    assert shopping.commands == ("pip install --force-reinstall --no-deps nvidia-cuda-runtime==13.0.96",)
    only_some_need_it = replace(lost, for_every_compile=False)
    assert composed(tree(gone_files=(only_some_need_it,))).release == Release(13, 0)
