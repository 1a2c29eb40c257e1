"""Cases of toolkit.host-compiler-unsupported."""

from typing import Any

from msgspec.structs import replace

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.snapshot import Snapshot
from sm120kit.snapshot.types.toolkits import HostCompiler, HostCompilerLimits
from tests.builders import CU13, flashinfer, gcc, known, named, sglang, snapshot, toolkit, torch_extensions
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "toolkit.host-compiler-unsupported"


def clang(version: str, command: str = "clang") -> HostCompiler:
    return replace(gcc(version, command), kind="clang")


def _on(compilers: tuple[HostCompiler, ...], environment: dict[str, str] | None = None, **changes: Any) -> Snapshot:
    return named(host_compilers=compilers, environment=environment or {}, **changes)


_GCC16 = gcc("16.1.0", "gcc")
_GCC14 = gcc("14.2.0", "gcc-14")

CASES = [
    healthy("gcc 13 under a toolkit that admits 15", _on((gcc("13.3.0", "gcc"),))),
    healthy("exactly the newest gcc admitted", _on((gcc("15.2.0", "gcc"),))),
    broken(
        "gcc 16 under a toolkit that admits 15",
        _on((_GCC16,)),
        an_error(CU13, "admits gcc up to 15", "gcc is gcc 16", "16.1.0", "nvcc's default"),
    ),
    broken("an older one on disk", _on((_GCC16, _GCC14)), an_error(CU13, "gcc is gcc 16")),
    broken(
        "CC names too new a gcc for FlashInfer",
        snapshot(
            consumers=(flashinfer(),),
            host_compilers=(gcc("13.3.0", "gcc"), gcc("16.1.0", "gcc-16")),
            environment={"CC": "gcc-16"},
        ),
        an_error(CU13, "gcc-16 is gcc 16", "-ccbin from CC, for flashinfer"),
    ),
    broken(
        "NVCC_CCBIN names a clang that is too new",
        _on((gcc("13.3.0", "gcc"), clang("21.1.0")), {"NVCC_CCBIN": "clang"}),
        an_error(CU13, "clang up to 20", "clang is clang 21"),
    ),
    broken(
        "-ccbin in NVCC_PREPEND_FLAGS goes before all else",
        _on(
            (gcc("13.3.0", "gcc"), gcc("16.1.0", "g++-16")),
            {"NVCC_PREPEND_FLAGS": "-ccbin=g++-16", "NVCC_CCBIN": "gcc"},
        ),
        an_error(CU13, "g++-16 is gcc 16", "-ccbin in NVCC_PREPEND_FLAGS"),
    ),
    broken(
        "-allow-unsupported-compiler silences the header",
        _on((_GCC16,), {"NVCC_APPEND_FLAGS": "-allow-unsupported-compiler -O2"}),
        a_warning(CU13, "silences the refusal", "NVCC_APPEND_FLAGS"),
    ),
    broken(
        "only torch, for those who build extensions",
        snapshot(consumers=(torch_extensions(),), host_compilers=(_GCC16,)),
        a_warning(CU13, "gcc is gcc 16"),
    ),
    look_alike(
        "CC names too new a gcc, and SGLang's JIT does not pass it on",
        snapshot(
            consumers=(sglang(),),
            host_compilers=(gcc("13.3.0", "gcc"), gcc("16.1.0", "gcc-16")),
            environment={"CC": "gcc-16"},
        ),
    ),
    look_alike("a newer gcc lies beside the one used", _on((gcc("13.3.0", "gcc"), gcc("16.1.0", "gcc-16")))),
    look_alike("clang 16: a number above no limit of clang's", _on((clang("16.0.6"),), {"NVCC_CCBIN": "clang"})),
    look_alike(
        "a header without limits",
        _on((_GCC16,), toolkits=(replace(toolkit(), host_compiler_limits=known(HostCompilerLimits(0, 0))),)),
    ),
    unknown("no compiler on PATH", _on(())),
    unknown("mpicc is neither", _on((replace(gcc("4.1", "mpicc"), kind="other"),), {"NVCC_CCBIN": "mpicc"})),
    unknown("a gcc that does not tell its version", _on((replace(_GCC16, version=Unknown("it did not answer")),))),
    unknown(
        "limits not read",
        _on((_GCC16,), toolkits=(replace(toolkit(), host_compiler_limits=Unknown("no host_config.h")),)),
    ),
    not_applicable("a tree that nobody takes", snapshot(host_compilers=(_GCC16,))),
]
