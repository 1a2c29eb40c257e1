"""The model leaves no memory for requests

## What it finds
A launch line with which nothing is left for keys and values, or for the states of a hybrid model, once the weights are
loaded: they are larger than the static fraction of the free memory, or all but.

## Why it matters
The server loads for minutes and then ends with "Not enough memory", "Loaded weights leave no GPU memory for the KV
cache" or "max_running_request is zero".

## How it is found
The weights are added up from the headers of the safetensors files and compared with what the static fraction gives of
the memory that is free before loading.

## Remedy
More GPUs for one server, a quantised checkpoint, a larger static fraction where it is small, or fewer requests asked
for where drafting sets memory aside for each.

## Sources
- sglang 0.5.12, srt/model_executor/pool_configurator.py, MemoryPoolConfig.__post_init__
- sglang 0.5.23, srt/mem_cache/kv_cache_configurator.py:2990 _profile_available_bytes
"""

from collections.abc import Iterator

from sm120kit.diagnosis import CannotTell, Case, Finding, Known, Manual, at, check, error
from sm120kit.diagnosis.capacity import SUBJECT, prediction_of

_GIB = 1 << 30


@check("capacity.no-room-for-weights", needs="prediction")
def no_room_for_weights(case: Case) -> Iterator[Finding | CannotTell]:
    fact = prediction_of(case)
    if not isinstance(fact, Known):
        yield CannotTell(SUBJECT, fact.reason)
        return
    found = fact.value
    if not found.failure:
        return
    fraction = f"{found.fraction:.3f} of it may be used" + ("" if found.fraction_given else ", SGLang's own choice")
    yield error(
        SUBJECT,
        f"SGLang {found.version} will not start: {found.failure}",
        [
            at(f"{found.free_before / _GIB:.2f} GiB free before loading; {fraction}", found.formulas),
            at(f"weights of {found.weights / _GIB:.2f} GiB on each GPU"),
            *(at(assumption, "assumed") for assumption in found.assumptions),
        ],
        [
            Manual("Split the model over more GPUs, or take a quantised checkpoint", ("--tp-size N",)),
            Manual("See what fits with: sm120kit plan MODEL -- SGLANG ARGS"),
        ],
    )
