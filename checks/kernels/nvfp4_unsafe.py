"""NVFP4 weights with kernels that fail or give garbage on this GPU

## What it finds
A model stored in NVFP4 on compute capability 12.x, with kernels asked for that were made for 10.x, that give NaN in
this version, or that were seen to give gibberish; and experts so narrow on each GPU that the kernels read past them.

## Why it matters
Wrong FP4 results raise no error: the server answers with HTTP 200 and nonsense. What works on B200 often does not on
RTX PRO 6000, as the TensorRT-LLM kernels exist for 10.x alone. SGLang's own choice on 12.x was changed for this
reason: flashinfer_cudnn up to 0.5.12, since flashinfer_cutlass gave NaN, and flashinfer_cutlass again from 0.5.13 on.

## How it is found
`--fp4-gemm-backend` and `--moe-runner-backend` of the launch line, the model's config.json and the version are looked
up in a table. Without these flags SGLang's own choice counts, and that is healthy. Experts are judged by their width
divided by `--tp`.

## Remedy
Leave the choice to SGLang; in doubt marlin, which computes in 16 bits. Ask the server something with a known answer
before it is trusted.

## Sources
- checks/tables/kernel_choices.toml
- sgl-project/sglang#20043; vllm-project/vllm#46816, #48898, #48965; NVIDIA/cutlass#3096
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    LogRemedy,
    Manual,
    NotApplicable,
    Severity,
    Signature,
    at,
    check,
    finding,
    warning,
)
from sm120kit.diagnosis.asked import Server, reasons_not_to_tell, servers
from sm120kit.diagnosis.kernels import KernelChoice, choices

ALIGNMENT = 32
ALIGNMENT_SOURCE = "vllm-project/vllm#46816: at TP 8 the width on each GPU was no multiple of 32, and so was the answer"

SIGNATURES = [
    Signature(
        pattern=r"FlashInfer-CUTLASS MoE kernel does not support current device (?P<device>sm_\d+)",
        rank="cause",
        example="ValueError: FlashInfer-CUTLASS MoE kernel does not support current device sm_120",
        look_alike="Using FlashInfer-CUTLASS MoE kernel on current device sm_120",
        source="vllm-project/vllm#33417",
        versions="vllm 0.15.0",
        message="This version does not let the FlashInfer CUTLASS MoE kernel run on {device}, though it could",
        remedies=(LogRemedy("Take another MoE backend, or a version that knows this GPU"),),
    ),
    Signature(
        pattern=r"expects arch to be one of \['sm_100a', 'sm_100f'\], but got (?P<device>sm_12\d\w?)",
        rank="cause",
        example="ValueError: expects arch to be one of ['sm_100a', 'sm_100f'], but got sm_121a",
        look_alike="expects arch to be one of ['sm_120a', 'sm_121a'], and got sm_121a",
        source="NVIDIA/cutlass#2802, #2800",
        versions="nvidia-cutlass-dsl 4.x",
        message="A CuTe-DSL kernel made for compute capability 10.x was asked for on {device}",
        remedies=(LogRemedy("Leave the choice of FP4 and MoE kernels to SGLang"),),
    ),
    Signature(
        pattern=r"Failed to (?:run|initialize) cutlass FP4 gemm(?: on (?P<device>sm\w+))?",
        rank="cause",
        example="RuntimeError: [FP4 gemm Runner] Failed to run cutlass FP4 gemm on sm120. Error: Error Internal",
        look_alike="[FP4 gemm Runner] Using cutlass FP4 gemm on sm120",
        source="vllm-project/vllm#24377, #30163; NVIDIA/cutlass#3096; FlashInfer: fp4_gemm_template_sm120.h",
        versions="FlashInfer, TensorRT-LLM kernels; mostly on compute capability 12.1 (GB10)",
        message="FlashInfer's CUTLASS kernel for FP4 cannot run[[ on {device}|]]: it asks for more shared memory "
        "than the GPU "
        "has, or was built for another one",
        remedies=(
            LogRemedy("Take another FP4 kernel", ("--fp4-gemm-backend flashinfer_cudnn",), "sglang"),
            LogRemedy(
                "For a mixture of experts, marlin, which computes in 16 bits",
                ("--moe-runner-backend marlin",),
                "sglang",
            ),
            LogRemedy("Take marlin, which computes in 16 bits", ("export VLLM_NVFP4_GEMM_BACKEND=marlin",), "vllm"),
        ),
    ),
]


@check("kernels.nvfp4-unsafe", needs="server")
def nvfp4_unsafe(case: Case) -> Iterator[Finding | CannotTell]:
    asked = list(servers(case))
    if case.model is None:
        raise NotApplicable("no model was given whose config.json can be read (--model DIR)")
    if case.model.weights != "nvfp4":
        raise NotApplicable(f"{case.model.architecture} is not stored in NVFP4")
    for server in asked:
        if why := reasons_not_to_tell(server, case):
            yield CannotTell(f"{case.model.architecture} on {server.capability}", why)
            continue
        yield from (_finding(server, row) for row in choices("nvfp4", server, case))
        yield from _narrow_experts(server)


def _finding(server: Server, row: KernelChoice) -> Finding:
    line = server.line
    words = line.words(row.setting) if line else row.setting
    what = {
        "fails": "does not run on",
        "wrong": "gives wrong results on",
        "doubtful": "was seen to give wrong results on",
        "unknown": "is not known to be right on",
    }[row.verdict]
    return finding(
        Severity.WARNING if row.verdict == "doubtful" else Severity.ERROR,
        words,
        f"{words} with NVFP4 weights {what} compute capability {server.capability}",
        [at(words, "the launch line"), *server.evidence, at(row.says, row.source)],
        [Manual("Take another kernel, and ask the server something with a known answer", (row.instead,))],
    )


def _narrow_experts(server: Server) -> Iterator[Finding]:
    line, model = server.line, server.model
    tp_size = line.tp_size if line else 1
    if model is None or not model.moe_intermediate_size or not server.capability.startswith("12."):
        return
    width, rest = divmod(model.moe_intermediate_size, tp_size)
    if rest or width % ALIGNMENT == 0:
        return
    yield warning(
        f"--tp {tp_size}",
        f"each GPU gets experts {width} wide, which is no multiple of {ALIGNMENT}: NVFP4 kernels were seen to give "
        "wrong results then",
        [
            at(line.words("tp_size") if line else "default", "the launch line"),
            at(f"moe_intermediate_size {model.moe_intermediate_size}", model.path),
            at(f"{model.moe_intermediate_size} / {tp_size} = {width}", ALIGNMENT_SOURCE),
        ],
        [Manual("Take a smaller --tp, and ask the server something with a known answer")],
    )
