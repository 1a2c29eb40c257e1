"""The assembler that Triton takes does not know this GPU: "ptxas fatal: Value 'sm_…' is not defined"

## What it finds
A ptxas, the one that Triton brings or one named by a variable, that has no target for a GPU that is there or named.

## Why it matters
Triton compiles every kernel through it, so the first one fails, in a server during CUDA-graph capture, where the log
then advises to lower the memory fraction. Triton 3.3 is the first that knows compute capability 12.0, 3.6 the first
with 10.3 and 12.1, 3.7 with 11.0.

## How it is found
The release of the ptxas that each Triton brings stands in a table, what each release knows in another; nothing is run.
For a ptxas that a variable names, the toolkit that it lies in tells its release. It is an error where an engine is
installed, which always runs Triton's kernels; where torch alone is, only torch.compile does: a warning.

## Remedy
Name the ptxas of a toolkit that knows the GPU, by the variable that this Triton reads; or install a newer torch, which
brings a newer Triton.

## Sources
- checks/tables/triton_ptxas.toml, architectures.toml
- triton-lang/triton#5950, #8539, #10331; vllm-project/vllm#31338; RLinf/RLinf#92
"""

import shlex
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Known,
    LogRemedy,
    Manual,
    NotApplicable,
    Release,
    Remedy,
    Severity,
    Signature,
    Unknown,
    at,
    check,
    finding,
)
from sm120kit.diagnosis.architectures import release_supports
from sm120kit.diagnosis.serving import consumer, engine
from sm120kit.diagnosis.triton import TritonPtxas, is_blackwell, triton_ptxas
from sm120kit.snapshot.types.toolkits import Consumer

SIGNATURES = [
    Signature(
        pattern=r"ptxas fatal\s*: Value '(?P<target>sm_1[0-9]{2}[af]?)' is not defined for option 'gpu-name'",
        rank="consequence",
        example="ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",
        look_alike="ptxas fatal   : Unsupported .version 9.0; current version is '8.8'",
        source="triton-lang/triton#8539, #10331; vllm-project/vllm#31338",
        versions="sm_120 before triton 3.3, sm_103 and sm_121 before 3.6, sm_110 before 3.7",
        message="If Triton called it, as a traceback with triton/backends/nvidia around that line tells: the "
        "ptxas that "
        "Triton brings does not know {target}",
        remedies=(
            LogRemedy(
                "Name the ptxas of a newer toolkit by both variables: newer Tritons read the second one",
                (
                    "export TRITON_PTXAS_PATH=FOLDER/bin/ptxas",
                    "export TRITON_PTXAS_BLACKWELL_PATH=FOLDER/bin/ptxas",
                ),
            ),
            LogRemedy("Install a newer torch, which brings a newer Triton"),
            LogRemedy("See which Triton and which ptxas it is", ("sm120kit doctor --only 'triton.*'",)),
        ),
    ),
]


@check("triton.ptxas-too-old", needs="triton")
def ptxas_too_old(case: Case) -> Iterator[Finding | CannotTell]:
    triton, capabilities = consumer(case, "triton"), case.compute_capabilities
    if triton is None:
        return
    if isinstance(capabilities, Unknown):
        yield CannotTell(triton.distribution, f"the GPU is not known: {capabilities.reason}")
        return
    blackwell = [each for each in capabilities.value if is_blackwell(each)]
    if not blackwell:
        raise NotApplicable("no GPU here needs the newer ptxas")
    if isinstance(triton.nvcc, Unknown):
        yield CannotTell(triton.distribution, triton.nvcc.reason)
        return
    row = triton_ptxas(triton.distribution.partition(" ")[2])
    release = _release(case, triton, triton.nvcc.value, row)
    answers = {each: release_supports(release, f"{each}a") if release else None for each in blackwell}
    missing = [each for each in blackwell if answers[each] is False]
    if missing:
        yield _too_old(case, triton, triton.nvcc.value, release, missing, row)
    elif None in answers.values():
        yield CannotTell(triton.nvcc.value, "whether this ptxas knows the GPU is not known")


def _release(case: Case, triton: Consumer, path: str, row: TritonPtxas | None) -> Release | None:
    if triton.found_via.startswith("its own"):
        return Release.parse(row.ptxas) if row else None
    parts = [part for toolkit in case.snapshot.toolkits if (part := toolkit.part("ptxas"))]
    return next((Release.of(part.release) for part in parts if part.path == path), None)


def _too_old(
    case: Case, triton: Consumer, path: str, release: Release | None, missing: list[str], row: TritonPtxas | None
) -> Finding:
    gpus = " and ".join(missing)
    where = case.compute_capabilities.source.where if isinstance(case.compute_capabilities, Known) else ""
    serves = engine(case)
    need = f"{serves.name} runs its kernels" if serves else "torch.compile needs it"
    return finding(
        Severity.ERROR if serves else Severity.WARNING,
        triton.distribution,
        f"{triton.distribution} takes {path} (release {release}), which does not know compute capability {gpus}: no "
        f"Triton kernel compiles, and {need}",
        [
            at(f"ptxas {release}, {triton.found_via}", path, triton.distribution),
            at(f"compute capability {gpus}", where),
            *([at(f"brings ptxas {row.ptxas}", row.source)] if row else []),
        ],
        _remedies(case, missing, row),
    )


def _remedies(case: Case, missing: list[str], row: TritonPtxas | None) -> list[Remedy]:
    remedies: list[Remedy] = []
    for toolkit in case.snapshot.toolkits:
        part = toolkit.part("ptxas")
        release = Release.of(part.release) if part else None
        if part is None or release is None or row is None or not row.variable:
            continue
        fits = not row.newest_major or release.major <= row.newest_major
        if fits and all(release_supports(release, f"{each}a") for each in missing):
            command = f"export {row.variable}={shlex.quote(part.path)}"
            remedies.append(Manual(f"Let Triton take the ptxas {release} of {toolkit.home}", (command,)))
    remedies.append(Manual("Install a newer torch with its Triton, and the SGLang that pins it"))
    return remedies
