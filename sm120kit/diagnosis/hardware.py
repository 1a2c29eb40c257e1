"""Reads ``--gpu``: hardware that is named and not asked for."""

from __future__ import annotations

import re

from sm120kit.diagnosis.case import NamedGpu
from sm120kit.diagnosis.gpus import GpuModel, gpu_models
from sm120kit.errors import Sm120kitError
from sm120kit.nearest import likeness, nearest
from sm120kit.patterns import pattern

MOST_GPUS = 128
"""Most GPUs that one ``--gpu`` may name: more than any one machine holds (an NVL72 rack has 72)."""

_MOST_MEANT = 3
_MIB = 1 << 20
_COUNT_BEHIND = pattern(r"(?P<name>.+?)\s*[x*]\s*(?P<count>\d+)")
_COUNT_BEFORE = pattern(r"(?P<count>\d+)\s*[x*]\s*(?P<name>.+)")
_CAPABILITY = pattern(r"(?:sm_?|compute_?)?(?P<major>\d{1,2})\.?(?P<minor>\d)[af]?")


def parse_gpus(spec: str) -> tuple[NamedGpu, ...]:
    """Read ``rtx-pro-6000x4,b200x2``, ``8x b200``, ``RTX 5090``, ``12.0`` or ``sm_121``, in the order given.

    Raises:
        Sm120kitError: an unknown name (the hint has the nearest ones), or a count below 1 or above MOST_GPUS.
    """
    items = [item.strip() for item in spec.split(",")]
    if not any(items):
        raise Sm120kitError("--gpu names no GPU", hint="Name some, as in: --gpu rtx-pro-6000x8")
    if not all(items):
        between = ",".join(item for item in items if item)
        raise Sm120kitError(
            f"--gpu {spec}: nothing stands beside a comma", hint=f"Write --gpu {between}, or name what is missing"
        )
    gpus = tuple(_parse_item(item) for item in items)
    total = sum(gpu.count for gpu in gpus)
    if total > MOST_GPUS:
        raise Sm120kitError(f"--gpu {spec} names {total} GPUs", hint=f"Name at most {MOST_GPUS}, those of one machine")
    return gpus


def _parse_item(item: str) -> NamedGpu:
    model, capability = _model(item), _capability(item)
    count = 1
    counted = _COUNT_BEHIND.fullmatch(item) or _COUNT_BEFORE.fullmatch(item)
    if not model and not capability and counted:
        model, capability = _model(counted["name"]), _capability(counted["name"])
        count = int(counted["count"][:9])
    if not model and not capability:
        raise _unknown(item, counted["name"] if counted else "")
    if not 1 <= count <= MOST_GPUS:
        raise Sm120kitError(f"--gpu {item!r}: {count} is no count of GPUs", hint=f"Give 1 to {MOST_GPUS}")
    if model:
        return NamedGpu(model.name, model.compute_capability, count, model.memory_mib * _MIB)
    return NamedGpu(capability, capability, count)


def _model(name: str) -> GpuModel | None:
    wanted = _run_together(_normal(name))
    return next((row for row in gpu_models() if wanted in map(_run_together, _names(row))), None)


def _names(row: GpuModel) -> set[str]:
    return {row.name, *row.aliases, _normal(row.product)}


def _normal(name: str) -> str:
    """``NVIDIA GeForce RTX 5090`` and ``rtx_5090`` as the table writes them: ``rtx-5090``."""
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return words.removeprefix("nvidia-").removeprefix("geforce-")


def _run_together(name: str) -> str:
    """``rtx5090`` for ``rtx-5090``: where the words of a name end is not asked of those who type it."""
    return name.replace("-", "")


def _capability(name: str) -> str:
    """``12.0`` for ``12.0``, ``sm_120`` or ``sm_120a``; empty for anything that is no compute capability."""
    written = _CAPABILITY.fullmatch(name.strip().lower())
    if written is None or ("." not in name and not name[:1].isalpha()):
        return ""
    return f"{int(written['major'])}.{written['minor']}" if 5 <= int(written["major"]) <= 20 else ""


def _unknown(item: str, counted: str) -> Sm120kitError:
    """Which part of ``item`` is not the name of a GPU, and what was probably meant.

    Digits at the end may be a count (``rtx-5091x2``) or belong to the name (``rtx6000``).
    """
    known = {_run_together(alias): row.name for row in gpu_models() for alias in _names(row)}
    readings = [each for each in (counted, item) if each]
    name = max(readings, key=lambda each: likeness(_run_together(_normal(each)), known))
    near = nearest(_run_together(_normal(name)), known, most=len(known), within=0.3)
    message = f"--gpu {item!r}: no GPU called {name!r} is known"
    if near:
        meant = list(dict.fromkeys(known[each] for each in near))[:_MOST_MEANT]
        return Sm120kitError(message, hint=f"Did you mean {' or '.join(meant)}?")
    hint = "Give a compute capability such as 12.0, or one of these"
    return Sm120kitError(message, hint=hint, listed=[row.name for row in gpu_models()])
