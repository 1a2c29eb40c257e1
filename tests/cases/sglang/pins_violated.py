"""Cases of sglang.pins-violated."""

from typing import Any

from msgspec.structs import replace

from sm120kit.snapshot.facts import Source, Unknown
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import distribution, host, known, snapshot
from tests.cases.harness import a_warning, broken, healthy, look_alike, not_applicable, unknown

CHECK = "sglang.pins-violated"

PINS_23 = (
    "apache-tvm-ffi==0.1.11",
    'av==16.1.0; sys_platform == "linux" and (platform_machine == "aarch64" or platform_machine == "arm64")',
    "flashinfer_python[cu13]==0.7.2",
    "nvidia-cutlass-dsl[cu13]==4.8.0",
    "sglang-kernel==0.4.10",
    "torch==2.14.1",
    "torchaudio==2.11.0",
    'torchcodec==0.17.0; sys_platform != "linux" or (sys_platform == "linux" and platform_machine != "aarch64")',
    "transformers==5.19.0",
)
HEALTHY_23 = {
    "apache-tvm-ffi": "0.1.11",
    "flashinfer-python": "0.7.2",
    "nvidia-cutlass-dsl": "4.8.0",
    "sglang-kernel": "0.4.10",
    "torch": "2.14.1+cu130",
    "torchaudio": "2.11.0",
    "torchcodec": "0.17.0",
    "transformers": "5.19",
}


def stack(changes: dict[str, str] | None = None, pins: Any = None, sglang: str = "0.5.23") -> Snapshot:
    """0.5.23 with its own pins, unless something else is said; an empty version = not installed."""
    versions = {**HEALTHY_23, "sglang": sglang, **(changes or {})}
    source = Source("file", "/srv/venv/lib/python3.12/site-packages/sglang-0.5.23.dist-info/METADATA")
    return snapshot(
        distributions=known(tuple(distribution(name, each) for name, each in sorted(versions.items()) if each)),
        sglang_requires=known(PINS_23, source) if pins is None else pins,
    )


CASES = [
    healthy("as pinned, an older torchaudio beside torch included", stack()),
    broken(
        "another torch",
        stack({"torch": "2.13.0"}),
        a_warning("torch", "2.13.0", "pins 2.14.1", "torch==2.14.1", "METADATA"),
    ),
    broken(
        "two moved along",
        stack({"transformers": "5.20.0", "apache-tvm-ffi": "0.1.12"}),
        a_warning("apache-tvm-ffi", "0.1.12"),
        a_warning("transformers", "5.20.0"),
    ),
    broken("a post release is another version", stack({"flashinfer-python": "0.7.2.post1"}),
           a_warning("flashinfer-python", "0.7.2.post1")),
    look_alike("another local part", stack({"torch": "2.14.1+cu132"})),
    look_alike("zeros at the end do not count", stack({"transformers": "5.19.0.0"})),
    look_alike("a pin for another machine", stack({"av": "15.0"})),
    broken("the same pin on that machine", replace(stack({"av": "15.0", "torchcodec": "0.1"}),
                                                   host=host(architecture=known("aarch64"))),
           a_warning("av", "15.0")),
    look_alike("a package that is not installed", stack({"torchaudio": ""})),
    look_alike("too old is an error of sglang.start-assert", stack({"flashinfer-python": "0.6.18"})),
    unknown("METADATA cannot be read", stack(pins=Unknown("METADATA cannot be read: Permission denied"))),
    not_applicable("no SGLang", stack(sglang="")),
]  # fmt: skip
