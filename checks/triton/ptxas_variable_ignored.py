"""A variable names a ptxas for Triton, and the installed Triton does not read it for this GPU

## What it finds
TRITON_PTXAS_PATH where Triton reads TRITON_PTXAS_BLACKWELL_PATH for the GPU, or the other way round.

## Why it matters
From 3.6 on Triton keeps a ptxas of its own for compute capability 10.0 and later, with a variable of its own. Whoever
sets the old name meets the same error as before and concludes that the new ptxas is at fault too.

## How it is found
By the installed version, the variables that are set and the GPUs. It is a note where Triton's own ptxas knows the GPU,
so that nothing is lost, and a warning where it does not. Where older GPUs are there beside, the old name has a use.

## Remedy
Set the variable that this Triton reads.

## Sources
- triton 3.3.1, 3.5.1, 3.6.0, 3.8.0: knobs.py, backends/nvidia/compiler.py; triton-lang/triton#10331
"""

import shlex
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Known,
    Manual,
    NotApplicable,
    Severity,
    Unknown,
    at,
    check,
    finding,
)
from sm120kit.diagnosis.serving import consumer
from sm120kit.diagnosis.triton import TritonPtxas, is_blackwell, triton_ptxas

_NAMES = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")


@check("triton.ptxas-variable-ignored", needs="triton")
def ptxas_variable_ignored(case: Case) -> Iterator[Finding | CannotTell]:
    triton, environment = consumer(case, "triton"), case.snapshot.environment
    if triton is None:
        return
    named = [name for name in _NAMES if environment.get(name)]
    if not named:
        raise NotApplicable("no variable names a ptxas for Triton")
    capabilities, row = case.compute_capabilities, triton_ptxas(triton.distribution.partition(" ")[2])
    if isinstance(capabilities, Unknown):
        yield CannotTell(named[0], f"the GPU is not known: {capabilities.reason}")
        return
    blackwell = [each for each in capabilities.value if is_blackwell(each)]
    if row is None or not blackwell or row.variable in named:
        return
    for name in named:
        if name != "TRITON_PTXAS_PATH" or len(blackwell) == len(capabilities.value):
            yield _ignored(capabilities, blackwell, triton.distribution, name, environment[name], row)


def _ignored(
    capabilities: Known[tuple[str, ...]], blackwell: list[str], triton: str, name: str, value: str, row: TritonPtxas
) -> Finding:
    gpus = " and ".join(blackwell)
    lost = [each for each in blackwell if each not in row.capabilities]
    reads = f"it reads {row.variable}" if row.variable else "it reads no variable that a shell can set"
    effect = f", whose own ptxas does not know {' and '.join(lost)}" if lost else "; its own ptxas knows this GPU"
    remedy = (
        Manual("Set the variable that it reads", (f"export {row.variable}={shlex.quote(value)}", f"unset {name}"))
        if row.variable
        else Manual("Unset it; another ptxas needs another Triton", (f"unset {name}",))
    )
    return finding(
        Severity.WARNING if lost else Severity.NOTE,
        name,
        f"{name} has no effect on compute capability {gpus} with {triton}: {reads} for such GPUs{effect}",
        [
            at(f"{name}={value}", name),
            at(f"compute capability {gpus}", capabilities.source.where),
            at(reads, row.source),
        ],
        [remedy],
    )
