"""Cases of toolkit.cccl-mixed: the overlays people make by hand, and what only looks like one."""

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.toolkits import CcclCopy, Toolkit
from tests.builders import CU13, flashinfer, known, named, sglang, snapshot, toolkit
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "toolkit.cccl-mixed"

_INCLUDE, _CCCL = f"{CU13}/include", f"{CU13}/include/cccl"
_FI_LIBCUDACXX = "/srv/venv/lib/python3.12/site-packages/flashinfer/data/cccl/libcudacxx/include"


def _copy(
    folder: str, version: str | None, parts: str = "nv std cub thrust", *, owner: str = "", unowned: int = 0
) -> CcclCopy:
    return CcclCopy(
        folder,
        Unknown("no version header") if version is None else known(version),
        has_nv_target="nv" in parts,
        has_cuda_std="std" in parts,
        has_cub="cub" in parts,
        has_thrust="thrust" in parts,
        owner=owner,
        unowned_files=unowned,
    )


def _with(*copies: CcclCopy, release: str = "13.0") -> Toolkit:
    return toolkit(release=release, cccl_copies=copies)


_OWN = _copy(_CCCL, "3.0.1", owner="nvidia-cuda-cccl 13.0.85")
_OWN_NV = _copy(_INCLUDE, None, "nv", owner="nvidia-cuda-cccl 13.0.85")
_OVERLAY = _with(_copy(_INCLUDE, "3.6.0", "nv std", owner="nvidia-cuda-cccl 13.0.85", unowned=9), _OWN)

CASES = [
    healthy("one CCCL", named()),
    look_alike("the wheel's second copy of nv in include", named(toolkits=(_with(_OWN_NV, _OWN),))),
    look_alike("a whole CCCL of another release", named(toolkits=(_with(_copy(_CCCL, "3.5.0")),))),
    look_alike(
        "FlashInfer brings a CCCL of its own",
        snapshot(toolkits=(_with(_OWN_NV, _OWN),), consumers=(flashinfer("0.7.2.post1"), sglang())),
    ),
    look_alike(
        "a whole CCCL copied into include where no wheel was", named(toolkits=(_with(_copy(_INCLUDE, "3.6.0")),))
    ),
    look_alike(
        "a whole CCCL in front of another whole one: the first brings all",
        named(toolkits=(_with(_copy(_INCLUDE, "3.6.0"), _OWN),)),
    ),
    look_alike("one whole CCCL without a version header", named(toolkits=(_with(_copy(_CCCL, None)),))),
    look_alike("the same version twice", named(toolkits=(_with(_copy(_INCLUDE, "3.0.1", "nv std"), _OWN),))),
    broken(
        "libcudacxx 3.6.0 copied over CCCL 3.0.1",
        named(toolkits=(_OVERLAY,)),
        an_error(CU13, f"cuda/std of CCCL 3.6.0 in {_INCLUDE}", f"cub and thrust of CCCL 3.0.1 in {_CCCL}", "9 files"),
    ),
    broken(
        "libcudacxx 3.3.2 copied over CCCL 3.5.0",
        named(toolkits=(_with(_copy(_INCLUDE, "3.3.2", "nv std"), _copy(_CCCL, "3.5.0"), release="13.5"),)),
        an_error(CU13, "CCCL 3.3.2", "CCCL 3.5.0"),
    ),
    broken(
        "the overlay, through FlashInfer 0.6.7's own rule",
        snapshot(toolkits=(_OVERLAY,), consumers=(flashinfer("0.6.7.post2"),)),
        an_error(CU13, "used by flashinfer"),
    ),
    broken(
        "the overlay, while all takers bring their own",
        snapshot(toolkits=(_OVERLAY,), consumers=(flashinfer("0.7.2.post1"),)),
        a_warning(CU13, "CCCL 3.6.0"),
    ),
    broken(
        "CPATH names FlashInfer's libcudacxx",
        named(
            toolkits=(_with(_OWN_NV, _copy(_FI_LIBCUDACXX, "3.6.0", "nv std"), _OWN),),
            environment={"CPATH": _FI_LIBCUDACXX},
        ),
        an_error(CU13, f"CPATH={_FI_LIBCUDACXX}", "CCCL 3.0.1"),
    ),
    broken(
        "cuda/ overwritten inside include/cccl: cub of another version beside it",
        named(toolkits=(_with(_copy(_CCCL, "3.6.0", "nv std"), _copy(_CCCL, "3.0.1", "cub thrust")),)),
        an_error(CU13, "CCCL 3.6.0", "CCCL 3.0.1"),
    ),
    broken(
        "patch versions only",
        named(toolkits=(_with(_copy(_INCLUDE, "3.0.2", "nv std"), _OWN),)),
        a_warning(CU13, "CCCL 3.0.2"),
    ),
    broken(
        "copied into include/cccl: works by luck",
        named(toolkits=(_with(_OWN_NV, _copy(_CCCL, "3.0.1", owner="nvidia-cuda-cccl 13.0.85", unowned=31)),)),
        a_warning(CU13, "31 files that no wheel lists", "by luck"),
    ),
    broken(
        "libcudacxx alone where no wheel is: cub is missing",
        snapshot(toolkits=(_with(_copy(_INCLUDE, "3.6.0", "nv std")),), consumers=(sglang(),)),
        a_warning(CU13, "without cub and thrust"),
    ),
    look_alike(
        "libcudacxx alone, and FlashInfer brings its own",
        snapshot(toolkits=(_with(_copy(_INCLUDE, "3.6.0", "nv std")),), consumers=(flashinfer("0.7.2.post1"),)),
    ),
    unknown(
        "a copy without a version header in front", named(toolkits=(_with(_copy(_INCLUDE, None, "nv std"), _OWN),))
    ),
    not_applicable("an overlay in a toolkit that nobody takes", snapshot(toolkits=(_OVERLAY,))),
    not_applicable("no CCCL at all", named(toolkits=(toolkit(cccl=None, cccl_copies=()),))),
]
