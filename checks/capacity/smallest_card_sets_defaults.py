"""The smallest card sets the defaults of servers on all the others

## What it finds
GPUs of different memory in one machine, and a launch line that leaves the static fraction, the chunk of prefill or the
largest graph to SGLang.

## Why it matters
SGLang asks nvidia-smi for the memory of every card and takes the smallest, whichever cards the server itself may use:
neither CUDA_VISIBLE_DEVICES nor --base-gpu-id counts. A server on the largest card then works with chunks and graphs
made for the smallest, and with a fraction that fits neither.

## How it is found
Memory sizes of the GPUs of the machine, or of those named by `--gpu`, and the settings that the launch line leaves
open.

## Remedy
Give these settings for each server.

## Sources
- sglang 0.5.12, srt/utils/common.py:1647 get_nvgpu_memory_capacity
"""

from collections.abc import Iterator

from sm120kit.diagnosis import CannotTell, Case, Finding, Known, Manual, at, check, warning
from sm120kit.diagnosis.capacity import SUBJECT, prediction_of

_MIB = 1 << 20


@check("capacity.smallest-card-sets-defaults", needs="prediction")
def smallest_card_sets_defaults(case: Case) -> Iterator[Finding | CannotTell]:
    fact = prediction_of(case)
    if not isinstance(fact, Known):
        yield CannotTell(SUBJECT, fact.reason)
        return
    found = fact.value
    sizes = {card.memory for card in found.cards}
    if len(sizes) < 2 or not found.left_to_card:
        return
    if 0 in sizes:
        yield CannotTell(SUBJECT, "one of the GPUs does not tell how much memory it has")
        return
    smallest = min(found.cards, key=lambda card: card.memory)
    yield warning(
        SUBJECT,
        f"{smallest.name} with {smallest.memory // _MIB:,} MiB sets {' and '.join(found.left_to_card)} for servers on "
        "every card",
        [at(f"{card.number}x {card.name}: {card.memory // _MIB:,} MiB") for card in found.cards],
        [
            Manual(
                "Give these settings for each server; sm120kit plan --gpu NAME shows what each card takes by itself",
                ("--mem-fraction-static X --chunked-prefill-size N",),
            )
        ],
    )
