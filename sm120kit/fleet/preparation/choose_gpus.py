"""Which GPUs ``--gpus`` means, and how they are shared out to servers. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.fleet.spec import Gpu
from sm120kit.text import visible


def choose_gpus(wanted: str, found: Sequence[Gpu]) -> tuple[Gpu, ...]:
    """The GPUs that ``all``, ``none`` or a list of indices and UUIDs means, in the order of the list.

    An index is NVML's, so nvidia-smi's. A UUID may be shortened as CUDA_VISIBLE_DEVICES allows it, as long as it fits
    one GPU alone.

    Raises:
        Sm120kitError: a name fits no GPU or several, one is named twice (2), or there is none (4).
    """
    text = wanted.strip()
    if text.lower() == "none":
        return ()
    if not found:
        raise Sm120kitError(
            "no GPU was found to start a server on",
            hint="See why with: sm120kit doctor --only 'driver.*'; without one: --gpus none and -- --device cpu",
            exit_code=TARGET_UNREADABLE,
        )
    if text.lower() == "all":
        return tuple(found)
    chosen: list[Gpu] = []
    for name in (each.strip() for each in text.split(",")):
        gpu = _one(name, found)
        if gpu in chosen:
            raise Sm120kitError(f"--gpus names GPU {gpu.index} twice ({visible(text)})", hint="Name each one once")
        chosen.append(gpu)
    return tuple(chosen)


def _one(name: str, found: Sequence[Gpu]) -> Gpu:
    if not name:
        raise Sm120kitError("--gpus has an empty place between its commas", hint="Write it as 0,2")
    if name.isascii() and name.isdigit():
        fitting = [gpu for gpu in found if gpu.index == int(name[:9])]
    else:
        full = name.lower()
        fitting = [gpu for gpu in found if full.startswith("gpu-") and gpu.uuid.lower().startswith(full) and full[4:]]
    if len(fitting) == 1:
        return fitting[0]
    here = [f"{gpu.index} ({gpu.uuid})" for gpu in found]
    if fitting:
        raise Sm120kitError(f"--gpus: {visible(name)} fits several GPUs", hint="Name one of these", listed=here)
    if name.upper().startswith("MIG-"):
        raise Sm120kitError(
            f"--gpus: {visible(name)} is a MIG instance, and servers are started on whole GPUs",
            hint="Name one of these",
            listed=here,
        )
    raise Sm120kitError(f"--gpus: there is no GPU {visible(name)}", hint="Name one of these", listed=here)


def share_out(gpus: Sequence[Gpu], each: int) -> tuple[tuple[Gpu, ...], ...]:
    """Groups of ``each`` GPUs, in order.

    Raises:
        Sm120kitError: they do not come out even; exit code 2.
    """
    if len(gpus) % each:
        raise Sm120kitError(
            f"servers of {each} GPUs each do not share out {len(gpus)} GPUs evenly: {len(gpus) % each} would be left",
            hint=f"Name {len(gpus) // each * each} of them with --gpus, or another --tp-size"
            if len(gpus) > each
            else "Take a smaller --tp-size",
        )
    return tuple(tuple(gpus[start : start + each]) for start in range(0, len(gpus), each))
