"""The server will run fewer requests at a time than it is asked for

## What it finds
A launch line whose `--max-running-requests` is more than the server will grant, by the memory formulas of its version.

## Why it matters
The server starts all the same and answers; the rest waits in its queue. Up to 0.5.15 SGLang says nothing about it, and
a long job takes several times as long as it could. With drafting, versions up to 0.5.12 set memory aside for every
request that is asked for: asking for more then grants less.

## How it is found
Memory free before loading, less the weights, less what the static fraction leaves alone, is shared out between states
and keys and values as the version's own functions do it. The numbers stand in the evidence, the assumptions too.

## Remedy
Ask for the number that is granted at best, or change what the pools are made of: `sm120kit plan` lists what helps.

## Sources
- checks/tables/sglang_capacity.toml names the functions of each version
- sgl-project/sglang#38846
"""

from collections.abc import Iterator

from sm120kit.diagnosis import CannotTell, Case, Finding, Known, Manual, at, check, warning
from sm120kit.diagnosis.capacity import SUBJECT, CapacityPrediction, prediction_of


@check("capacity.requested-not-granted", needs="prediction")
def requested_not_granted(case: Case) -> Iterator[Finding | CannotTell]:
    fact = prediction_of(case)
    if not isinstance(fact, Known):
        yield CannotTell(SUBJECT, fact.reason)
        return
    found = fact.value
    if found.requested is None or found.failure or found.granted >= found.requested:
        return
    yield warning(
        SUBJECT,
        f"{found.requested} requests at a time are asked for, and SGLang {found.version} will grant {found.granted}",
        [
            at(found.explanation or f"the pool of {found.tokens:,} tokens serves {found.granted}", found.formulas),
            *(at(assumption, "assumed") for assumption in found.assumptions),
        ],
        _remedies(found),
    )


def _remedies(found: CapacityPrediction) -> list[Manual]:
    remedies = []
    if found.best > found.granted:
        remedies.append(
            Manual(
                f"Ask for {found.best}, which is granted ({found.tokens_each:,} tokens each)",
                (f"--max-running-requests {found.best}",),
            )
        )
    remedies.append(Manual("See what else raises it with: sm120kit plan MODEL -- SGLANG ARGS"))
    return remedies
