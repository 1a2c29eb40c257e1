"""DeepGEMM was asked for on a GPU that it has no kernels for: "Unknown recipe", or wrong results

## What it finds
`--fp8-gemm-backend deep_gemm`, `--moe-runner-backend deep_gemm` or `--fp8-gemm-backend flashinfer_deepgemm` on a GPU
for which the installed DeepGEMM, or this SGLang's use of it, has no kernels; or without DeepGEMM being installed.

## Why it matters
DeepGEMM was written for Hopper and compute capability 10.0. On 12.x its older releases stop in the first layer with
`layout.hpp:56: Unknown recipe` or `Unsupported architecture`. Newer ones have kernels for 12.x, and an SGLang before
0.5.20 feeds them the wrong layout in its MoE path: no error, and wrong answers.

## How it is found
Only what the launch line asks for is judged: by itself SGLang takes triton or cutlass on 12.x. The installed
sgl-deep-gemm, the version of SGLang and the GPU are looked up in a table.

## Remedy
triton in its place.

## Sources
- checks/tables/kernel_choices.toml: include folders of the sgl-deep-gemm wheels, sglang wheels
- deepseek-ai/DeepGEMM#236, #324; sgl-project/sglang#25877; vllm-project/vllm#54125
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    LogRemedy,
    Manual,
    NotApplicable,
    Signature,
    at,
    check,
    error,
)
from sm120kit.diagnosis.asked import Server, reasons_not_to_tell, servers
from sm120kit.diagnosis.kernels import KernelChoice, choices

PACKAGES = ("sgl-deep-gemm", "deep-gemm")
SETTINGS = {"fp8_gemm_runner_backend": "--fp8-gemm-backend", "moe_runner_backend": "--moe-runner-backend"}
NOT_AVAILABLE = "sglang wheels: srt/layers/quantization/fp8_utils.py 0.5.12:429-435, 0.5.23:1194-1200"
INSTEAD = (
    LogRemedy("Take Triton's kernels in its place", ("--fp8-gemm-backend triton", "--moe-runner-backend triton")),
)

SIGNATURES = [
    Signature(
        pattern=r"(?:layout|hyperconnection)\.hpp:\d+\)?.*(?:Unknown recipe|Unsupported architecture)",
        rank="cause",
        example="RuntimeError: Assertion error (csrc/apis/layout.hpp:56): Unknown recipe",
        look_alike="Assertion error (csrc/apis/layout.hpp:56): sf.dim() == num_groups",
        source="deepseek-ai/DeepGEMM#236, sgl-project/sglang#25877",
        versions="sgl-deep-gemm 0.1.0 to 0.1.4.post1 on compute capability 12.x",
        message="DeepGEMM has no kernel for this GPU",
        remedies=INSTEAD,
    ),
    Signature(
        pattern=r"DeepGEMM backend requested via --fp8-gemm-backend=deep_gemm, but DeepGEMM is not available",
        rank="cause",
        example="RuntimeError: DeepGEMM backend requested via --fp8-gemm-backend=deep_gemm, but DeepGEMM is not "
        "available. This usually means the deep_gemm package is not installed",
        look_alike="DeepGEMM backend requested via --fp8-gemm-backend=deep_gemm",
        source="sglang 0.5.12 wheel: srt/layers/quantization/fp8_utils.py:431",
        versions="sglang 0.5.9 to 0.5.23",
        message="DeepGEMM was asked for and cannot be used here",
        remedies=INSTEAD,
    ),
    Signature(
        pattern=r"Unsupported SM version for FP8 block scaling GEMM",
        rank="cause",
        example="[TensorRT-LLM][ERROR] Assertion failed: Unsupported SM version for FP8 block scaling GEMM",
        look_alike="Using FP8 block scaling GEMM for SM version 90",
        source="NVIDIA/TensorRT-LLM#5581",
        message="The FP8 block-scale GEMM asked for has no kernel for this GPU",
        remedies=INSTEAD,
    ),
]


@check("kernels.deep-gemm-unsupported", needs="server")
def deep_gemm_unsupported(case: Case) -> Iterator[Finding | CannotTell]:
    asked = list(servers(case))
    line = case.request.launch
    wanted = [name for name in SETTINGS if line and "deep" in line.text(name)]
    if line is None or not wanted:
        raise NotApplicable("the launch line does not ask for DeepGEMM")
    for server in asked:
        if why := reasons_not_to_tell(server, case):
            yield CannotTell(f"DeepGEMM on {server.capability}", why)
            continue
        judged = {row.setting: row for row in choices("deep-gemm", server, case)}
        for name in wanted:
            row, words = judged.get(name), line.words(name)
            if row is not None and row.verdict == "unknown":
                yield CannotTell(words, row.says)
            elif row is not None:
                yield _finding(server, row, words)
            elif _not_installed(case):
                yield _missing(server, name, words)


def _finding(server: Server, row: KernelChoice, words: str) -> Finding:
    what = "gives wrong results" if row.verdict == "wrong" else "does not run"
    return error(
        words,
        f"{words} {what} on compute capability {server.capability} with SGLang {server.version}",
        [at(words, "the launch line"), *server.evidence, at(row.says, row.source)],
        [Manual("Take Triton's kernels in its place", (row.instead,))],
    )


def _not_installed(case: Case) -> bool:
    """Whether the target holds an SGLang and no DeepGEMM."""
    return case.distribution("sglang") is not None and not any(case.distribution(name) for name in PACKAGES)


def _missing(server: Server, setting: str, words: str) -> Finding:
    return error(
        words,
        f"{words} asks for DeepGEMM, which is not installed",
        [at(words, "the launch line"), *server.evidence, at("SGLang ends with a RuntimeError", NOT_AVAILABLE)],
        [
            Manual("Take Triton's kernels in its place", (f"{SETTINGS[setting]} triton",)),
            Manual("Install the DeepGEMM that this SGLang pins (pip check names it)"),
        ],
    )
