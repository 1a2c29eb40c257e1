"""Cases of jit.memory-exhaustion."""

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.machine import Host
from tests.builders import GIB, flashinfer, host, known, sglang, snapshot, torch_extensions
from tests.cases.harness import a_warning, broken, healthy, look_alike, not_applicable, unknown

CHECK = "jit.memory-exhaustion"


def _memory(gib: int, cores: int) -> Host:
    return host(memory_available=known(gib * GIB), cpus=known(cores))


CASES = [
    healthy("16 cores and 100 GiB", snapshot(consumers=(sglang(),))),
    healthy("96 cores and 480 GiB", snapshot(consumers=(sglang(),), host=_memory(480, 96))),
    broken(
        "16 cores and 58 GiB, where flashinfer#3636 was seen",
        snapshot(consumers=(flashinfer(),), host=_memory(58, 16)),
        a_warning("MAX_JOBS", "18 compilers at once with 58 GiB", "MAX_JOBS is not set", "16 cores"),
    ),
    broken(
        "MAX_JOBS is no number",
        snapshot(consumers=(sglang(),), host=_memory(16, 16), environment={"MAX_JOBS": "all"}),
        a_warning("MAX_JOBS", "MAX_JOBS=all, which is no number"),
    ),
    broken(
        "several threads in each nvcc",
        snapshot(consumers=(flashinfer(),), environment={"FLASHINFER_NVCC_THREADS": "4"}),
        a_warning("MAX_JOBS"),
    ),
    look_alike("GB10 with nothing loaded", snapshot(consumers=(sglang(),), host=_memory(110, 20))),
    look_alike(
        "little memory, and MAX_JOBS set",
        snapshot(consumers=(sglang(),), host=_memory(16, 16), environment={"MAX_JOBS": "2"}),
    ),
    look_alike("little memory and few cores", snapshot(consumers=(sglang(),), host=_memory(16, 2))),
    unknown(
        "an unpacked image",
        snapshot(
            consumers=(sglang(),), host=host(memory_available=Unknown("no hardware"), cpus=Unknown("no hardware"))
        ),
    ),
    not_applicable("only people build extensions", snapshot(consumers=(torch_extensions(),), host=_memory(8, 64))),
]
