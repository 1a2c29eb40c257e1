"""What an image demands of the machine it is started on: NVIDIA_REQUIRE_CUDA and its like, evaluated as
nvidia-container-cli does (libnvidia-container, src/cli/dsl.c and configure.c), with a third answer: unknown.

A requirement is a list of alternatives, spaces between them; each is a list of conditions, commas between them, which
must all hold: ``cuda>=13.0 brand=tesla,driver>=570,driver<571``.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest

import msgspec

from sm120kit.diagnosis.drivers import driver_number
from sm120kit.diagnosis.tables import Row, read_table

Answer = bool | None
"""``None``: too little is known."""

BRANDS: Mapping[str, frozenset[str]] = {
    "geforce": frozenset({"geforce", "geforcertx"}),
    "workstation": frozenset({"nvidiartx", "quadrortx"}),
    "server": frozenset({"nvidiartx", "nvidia", "quadrortx"}),
    "data-centre": frozenset({"nvidia", "tesla"}),
}
"""Brands (nvml.h, nvmlBrandType_t) that NVML may give to the GPUs of a board; which of them is not known of each."""

_CONDITION = re.compile(r"([^<>=!]+)(>=|<=|!=|=|<|>)([^<>=!]+)")
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
"""What strconv.ParseBool of the container toolkit takes for true."""


class DriverCuda(Row, frozen=True, kw_only=True):
    """The CUDA release that a driver branch serves."""

    driver: str
    cuda: str


class Machine(msgspec.Struct, frozen=True):
    """What is known of the machine, for one kind of GPU."""

    driver: str
    """``580`` or ``580.95.05``."""
    capability: str = ""
    """``12.0``; empty where no GPU is known."""
    brands: frozenset[str] = frozenset()
    """Those that its GPU may have; empty where nothing is known."""


def requirements_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The requirements in an image's variables by name; none where the image turns them off.

    An image that names CUDA_VERSION and has no NVIDIA_REQUIRE_CUDA demands that release, as older images do.
    """
    if environment.get("NVIDIA_DISABLE_REQUIRE", "") in _TRUE:
        return {}
    found = {
        name: value
        for name, value in sorted(environment.items())
        if name.startswith("NVIDIA_REQUIRE_") and not name.startswith("NVIDIA_REQUIRE_JETPACK") and value.strip()
    }
    legacy = re.match(r"v?(\d+)(?:\.(\d+))?", environment.get("CUDA_VERSION", ""))
    if legacy and not environment.get("NVIDIA_REQUIRE_CUDA"):
        found["CUDA_VERSION"] = f"cuda>={legacy[1]}.{legacy[2] or 0}"
    return found


def is_met(requirement: str, machine: Machine) -> Answer:
    """Whether the container would be started on this machine.

    Raises:
        ValueError: a condition cannot be read; then no container is started at all.
    """
    answers = {_is_met(requirement, machine, brand) for brand in machine.brands or ("",)}
    return answers.pop() if len(answers) == 1 else None


def _is_met(requirement: str, machine: Machine, brand: str) -> Answer:
    return _any(
        _all(_holds(condition, machine, brand) for condition in alternative.split(",") if condition)
        for alternative in requirement.split(" ")
        if alternative
    )


def cuda_served(driver: str) -> tuple[str, bool]:
    """The CUDA release that a driver serves, and whether that is all: of a branch newer than all known ones at least
    what the newest known one serves. Empty for a branch older than all."""
    number = driver_number(driver)[:1]
    rows = [row for row in read_table("driver_cuda", DriverCuda) if driver_number(row.driver) <= number]
    if not rows:
        return "", False
    newest = max(rows, key=lambda row: driver_number(row.driver))
    return newest.cuda, driver_number(newest.driver) == number


def _holds(condition: str, machine: Machine, brand: str) -> Answer:
    match = _CONDITION.fullmatch(condition)
    name, operator, value = match.groups() if match else ("", "", "")
    if name.lower() == "brand" and operator in ("=", "!="):
        return (brand == value.lower()) == (operator == "=") if brand else None
    if name.lower() not in _VERSIONS:
        raise ValueError(condition)
    return _VERSIONS[name.lower()](machine, operator, value)


def _cuda(machine: Machine, operator: str, value: str) -> Answer:
    served, exact = cuda_served(machine.driver)
    if not served:
        return None
    answer = _compare(served, operator, value)
    return answer if exact or (answer and operator in (">", ">=")) else None


def _driver(machine: Machine, operator: str, value: str) -> Answer:
    own, other = driver_number(machine.driver), _numbers(value)
    if len(own) < len(other) and own == other[: len(own)] and any(other[len(own) :]):
        return None  # 580 was named, and the condition is about a release of that branch
    return _compare(machine.driver, operator, value)


def _arch(machine: Machine, operator: str, value: str) -> Answer:
    return _compare(machine.capability, operator, value) if machine.capability else None


_VERSIONS: Mapping[str, Callable[[Machine, str, str], Answer]] = {
    "cuda": _cuda,
    "driver": _driver,
    "arch": _arch,
}


def _compare(one: str, operator: str, other: str) -> bool:
    pairs = list(zip_longest(_numbers(one), _numbers(other), fillvalue=0))
    left, right = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    return {
        "=": left == right,
        "!=": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[operator]


def _numbers(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9}){0,9}", text):
        raise ValueError(text)
    return tuple(int(part) for part in text.split("."))


def _all(answers: Iterable[Answer]) -> Answer:
    found = set(answers)
    if False in found:
        return False
    return None if None in found else True


def _any(answers: Iterable[Answer]) -> Answer:
    found = set(answers)
    if True in found or not found:
        return True
    return None if None in found else False
