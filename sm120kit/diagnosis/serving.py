"""What is served here: the engine that is installed, who must compile for it, and over how many GPUs it is spread."""

from __future__ import annotations

from collections.abc import Iterable

from sm120kit.diagnosis.case import Case
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.types.packages import Distribution, SharedObject
from sm120kit.snapshot.types.toolkits import Consumer

ENGINES = ("sglang", "vllm")


def engine(case: Case) -> Distribution | None:
    """The installed inference engine: what makes Triton, kernels and JITs matter at every start."""
    return next((found for name in ENGINES if (found := case.distribution(name))), None)


def builders(case: Case) -> tuple[Consumer, ...]:
    """Those that compile for the engine at run time and have nothing prebuilt, Triton left out."""
    return tuple(each for each in case.snapshot.consumers if each.name != "triton" and case.must_compile(each))


def consumer(case: Case, name: str) -> Consumer | None:
    """The consumer of that name, where it is installed."""
    return next((each for each in case.snapshot.consumers if each.name == name), None)


def gpu_count(case: Case) -> int | None:
    """How many GPUs there are or are named; ``None`` where that is not known."""
    if case.request.gpus:
        return sum(gpu.count for gpu in case.request.gpus)
    gpus = case.snapshot.driver.gpus
    return len(gpus.value) if isinstance(gpus, Known) else None


def is_loaded(case: Case, library: SharedObject) -> bool:
    """Whether some GPU here makes a package load this library; on GPUs that are not known, any might."""
    capabilities = case.compute_capabilities
    return library.role != "hopper" or not isinstance(capabilities, Known) or "9.0" in capabilities.value


def listed(names: Iterable[str]) -> str:
    """``a, b and c``."""
    each = list(dict.fromkeys(names))
    return " and ".join([", ".join(each[:-1]), each[-1]] if len(each) > 1 else each)
