"""The pools leave no memory for CUDA graphs

## What it finds
A launch line whose static fraction leaves less memory than CUDA graphs, and a draft model that is loaded after the
pools, will take.

## Why it matters
The server loads for minutes, makes its pools, and ends with "Capture cuda graph failed" or a CUDA out-of-memory error.

## How it is found
What is free before loading, less weights, pools and the draft model's weights, is compared with SGLang's own estimate
for the graphs (2 MiB for each request of the largest decode graph, 8 MiB for each prefill graph). Prefill needs memory
beside that: what fits by this measure may still fail under load.

## Remedy
A smaller static fraction, or smaller graphs.

## Sources
- sglang 0.5.12, srt/server_args.py:1401 _handle_gpu_memory_settings
- sglang 0.5.23, srt/arg_groups/memory_hook.py:357 reserve_for_graph_mb
"""

from collections.abc import Iterator

from sm120kit.diagnosis import CannotTell, Case, Finding, Known, Manual, at, check, error
from sm120kit.diagnosis.capacity import SUBJECT, prediction_of

_GIB = 1 << 30


@check("capacity.graph-capture-no-room", needs="prediction")
def graph_capture_no_room(case: Case) -> Iterator[Finding | CannotTell]:
    fact = prediction_of(case)
    if not isinstance(fact, Known):
        yield CannotTell(SUBJECT, fact.reason)
        return
    found = fact.value
    if found.failure or found.left >= 0:
        return
    taken = f"weights {found.weights / _GIB:.2f} GiB, pools {found.pools / _GIB:.2f} GiB"
    if found.draft_weights:
        taken += f", draft model {found.draft_weights / _GIB:.2f} GiB"
    less = max(found.fraction + found.left / found.free_before - 0.005, 0.01)
    yield error(
        SUBJECT,
        f"with a static fraction of {found.fraction:.3f} the graphs of SGLang {found.version} do not fit: "
        f"{-found.left / _GIB:.2f} GiB are missing",
        [
            at(f"{found.free_before / _GIB:.2f} GiB free before loading; {taken}", found.formulas),
            at(f"graphs take about {found.graphs / _GIB:.2f} GiB", "SGLang's own estimate"),
            *(at(assumption, "assumed") for assumption in found.assumptions),
        ],
        [Manual("Leave more memory to them", (f"--mem-fraction-static {int(less * 1000) / 1000:g}",))],
    )
