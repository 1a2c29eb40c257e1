"""Cases of toolkit.glibc-clash."""

from msgspec.structs import replace

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.snapshot import Snapshot
from sm120kit.snapshot.types.toolkits import GlibcGuards, Toolkit
from tests.builders import CU13, gcc, host, known, named, sglang, snapshot, toolkit, torch_extensions
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "toolkit.glibc-clash"

SYSTEM = "/usr/local/cuda-12.9"


def _guarded(*, sinpi_cospi: bool, rsqrt: bool) -> Toolkit:
    return replace(toolkit(), glibc_guards=known(GlibcGuards(sinpi_cospi=sinpi_cospi, rsqrt=rsqrt)))


def _on(glibc: str, made: Toolkit) -> Snapshot:
    return named(host=host(glibc=known(glibc)), toolkits=(made,))


_NONE = _guarded(sinpi_cospi=False, rsqrt=False)
_PI_ONLY = _guarded(sinpi_cospi=True, rsqrt=False)
_BOTH = _guarded(sinpi_cospi=True, rsqrt=True)
_CONDA = gcc("14.2.0", "/opt/conda/bin/x86_64-conda-linux-gnu-cc")

CASES = [
    healthy("glibc 2.39 and headers with every guard", named()),
    healthy("glibc 2.42 and headers with every guard", _on("2.42", _BOTH)),
    broken(
        "glibc 2.41, no guard", _on("2.41", _NONE), an_error(CU13, "declare sinpi and cospi otherwise than glibc 2.41")
    ),
    broken("glibc 2.42, 13.0's guard", _on("2.42", _PI_ONLY), an_error(CU13, "declare rsqrt otherwise", "nvcc 13.0")),
    broken("glibc 2.42, no guard", _on("2.42", _NONE), an_error(CU13, "sinpi and cospi and rsqrt")),
    broken(
        "taken by those who build extensions",
        snapshot(host=host(glibc=known("2.41")), toolkits=(_NONE,), consumers=(torch_extensions(),)),
        a_warning(CU13),
    ),
    look_alike("glibc 2.41 with 13.0's guard: rsqrt came with 2.42", _on("2.41", _PI_ONLY)),
    look_alike("glibc 2.40 is older than either", _on("2.40", _NONE)),
    look_alike("2.9 is not newer than 2.41", _on("2.9", _NONE)),
    unknown("glibc unknown", named(host=host(glibc=Unknown("musl")), toolkits=(_NONE,))),
    unknown(
        "the header could not be read", _on("2.42", replace(toolkit(), glibc_guards=Unknown("no crt/math_functions.h")))
    ),
    unknown(
        "conda's compiler brings its own glibc",
        replace(
            _on("2.42", _NONE),
            host_compilers=(_CONDA,),
            environment={"NVCC_CCBIN": "/opt/conda/bin/x86_64-conda-linux-gnu-cc"},
        ),
    ),
    not_applicable("a tree that nobody takes", snapshot(host=host(glibc=known("2.42")), toolkits=(_NONE,))),
    not_applicable("no toolkit", snapshot(toolkits=(), consumers=(sglang(home=None),))),
]
