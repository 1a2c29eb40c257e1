"""Cases of torch.toolkit-major-mismatch."""

from msgspec.structs import replace

from sm120kit.snapshot.facts import Unknown
from tests.builders import (
    CU13,
    distribution,
    flashinfer,
    known,
    named,
    sglang,
    snapshot,
    toolkit,
    torch_build,
    torch_extensions,
)
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "torch.toolkit-major-mismatch"

SYSTEM = "/usr/local/cuda-12.8"

_OLD = toolkit(SYSTEM, "12.8", layout="system")
_CU128 = torch_build("2.10.0+cu128", "12.8")

CASES = [
    healthy("13.0 for 13.0", named()),
    healthy(
        "system 12.8 beside a torch for 12.8",
        snapshot(torch=_CU128, toolkits=(_OLD,), consumers=(torch_extensions("2.10.0", SYSTEM),)),
    ),
    broken(
        "torch's extensions would take 12.8 beside a torch for 13.0",
        snapshot(toolkits=(_OLD,), consumers=(torch_extensions(home=SYSTEM),)),
        a_warning(SYSTEM, "is CUDA 12.8, torch 2.14.1+cu130 is built with 13.0", "refuses to build", "nvcc 12.8"),
    ),
    broken(
        "FlashInfer and SGLang would take it",
        snapshot(toolkits=(toolkit(), _OLD), consumers=(flashinfer(home=SYSTEM), sglang(home=SYSTEM))),
        a_warning(SYSTEM, "modules of flashinfer and sglang will ask for libcudart.so.12"),
    ),
    broken("named by --cuda-home", named(SYSTEM, toolkits=(_OLD,)), an_error(SYSTEM, "refuses to build with it")),
    broken(
        "13.0 beside a torch for 12.8",
        snapshot(torch=_CU128, consumers=(sglang(),)),
        a_warning(CU13, "libcudart.so.13"),
    ),
    look_alike(
        "12.4 beside a torch for 12.8: minor releases differ",
        snapshot(
            torch=_CU128,
            toolkits=(toolkit(SYSTEM, "12.4", layout="system"),),
            consumers=(torch_extensions(home=SYSTEM),),
        ),
    ),
    look_alike(
        "13.2 beside a torch for 13.0",
        snapshot(toolkits=(toolkit(release="13.2"),), consumers=(torch_extensions(), flashinfer())),
    ),
    look_alike(
        "12.8 lies on disk, 13.0 is taken",
        snapshot(toolkits=(toolkit(), _OLD), consumers=(torch_extensions(),)),
    ),
    unknown(
        "nvcc's release is not known",
        named(toolkits=(toolkit(releases={"nvcc": None}),)),
    ),
    unknown(
        "torch/version.py cannot be read",
        replace(named(), torch=Unknown("permission denied"), distributions=known((distribution("torch", "2.14.1"),))),
    ),
    not_applicable("no torch", replace(named(), torch=Unknown("not installed"), distributions=known(()))),
    not_applicable("a torch without CUDA", named(torch=torch_build("2.13.0+cpu", ""))),
    not_applicable("12.8 lies on disk and nobody takes it", snapshot(toolkits=(_OLD,))),
]
