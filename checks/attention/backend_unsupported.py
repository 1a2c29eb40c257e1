"""The attention backend does not run on this GPU: an AssertionError after loading, or a failing kernel

## What it finds
An attention backend that was asked for, or that this SGLang chooses by itself, and that fails on the GPU that is there
or named: for prefill, for decode, or for the vision encoder of a multimodal model.

## Why it matters
Some backends are refused while arguments are read, which costs half a minute. Others are refused when the weights are
loaded already (`FlashAttention v3 Backend requires SM>=80 and SM<=90`), and some pass every check of SGLang's own and
fail in their first kernel: `trtllm_mla` on compute capability 12.x is let through, and its kernels exist for 10.0 and
10.3 alone. Advice for B200 (10.0) is often wrong for RTX PRO 6000 and RTX 5090 (12.0).

## How it is found
The launch line is read as the given or installed SGLang reads it; where it names no backend, the default of that
version for this GPU and model is taken. Backend, compute capability, version, kind of model (MHA or GQA, MLA,
attention sinks) and type of the KV cache are looked up in a table. Cells that no source speaks about are unknown, and
so are versions newer than the tables. Without `--model` only what holds for every kind of model is said.

## Remedy
The backend that this version chooses by itself on this GPU: flashinfer for ordinary models on 12.x, triton for MLA and
for attention sinks. For fa4 on 12.0, SGLang 0.5.18 or later.

## Sources
- checks/tables/attention_backends.toml, attention_defaults.toml: lines of the sglang wheels
- flashinfer-ai/flashinfer#3263, #5445; sgl-project/sglang#24633, #31578, #40286, #14842; Dao-AILab/flash-attention#1853
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    LogRemedy,
    Manual,
    Remedy,
    Signature,
    at,
    check,
    error,
)
from sm120kit.diagnosis.asked import Backends, Server, backends_of, reasons_not_to_tell, servers
from sm120kit.diagnosis.attention import Answer, Phase, Question, ask, default_backend, model_kinds

FLASHINFER = LogRemedy("Ask for a backend that runs on this GPU", ("--attention-backend flashinfer",))
TRITON = LogRemedy("Ask for a backend that runs on this GPU with MLA models", ("--attention-backend triton",))

SIGNATURES = [
    Signature(
        pattern=r"FlashAttention v3 Backend requires SM>=80 and SM<=90",
        rank="cause",
        example="AssertionError: FlashAttention v3 Backend requires SM>=80 and SM<=90. Please use "
        "`--attention-backend flashinfer`.",
        look_alike="Attention backend not specified. Use fa3 backend by default.",
        source="sglang 0.5.12 wheel: srt/layers/attention/attention_registry.py:153",
        versions="sglang 0.5.9 to 0.5.23",
        message="FlashAttention 3 was asked for on a GPU that it does not run on",
        remedies=(FLASHINFER,),
    ),
    Signature(
        pattern=r"FA version 3 is not supported .*Blackwell archs",
        rank="cause",
        example="AssertionError: FA version 3 is not supported on platforms with compute capability Blackwell archs "
        "(>=10)",
        look_alike="INFO Using FA version 2 on Blackwell archs",
        source="Dao-AILab/flash-attention#1853",
        message="FlashAttention 3 was asked for on a GPU that it does not run on",
        remedies=(FLASHINFER,),
    ),
    Signature(
        pattern=r"The 'fa3' backend is not supported on Blackwell GPUs",
        rank="cause",
        example="ValueError: The 'fa3' backend is not supported on Blackwell GPUs",
        look_alike="INFO Multimodal attention backend not set. Use fa3.",
        source="sglang 0.5.12 wheel: srt/layers/attention/vision.py:973",
        versions="sglang 0.5.12 to 0.5.23",
        message="The vision encoder was given FlashAttention 3, which does not run on Blackwell",
        remedies=(LogRemedy("Ask for another one", ("--mm-attention-backend triton_attn",)),),
    ),
    Signature(
        pattern=r"(?:Paged KV|SplitKV|Block sparsity) not supported on SM 12\.0 in this PR",
        rank="cause",
        example="AssertionError: Paged KV not supported on SM 12.0 in this PR",
        look_alike="NotImplementedError: Paged KV not supported with this head_dim",
        source="flash-attn-4 4.0.0b9: flash_attn/cute/interface.py:798-800",
        versions="sglang up to 0.5.17 with flash-attn-4 4.0.0b9 to b18",
        message="FlashAttention 4 as installed cannot read a paged KV cache on compute capability 12.0",
        remedies=(
            FLASHINFER,
            LogRemedy("Take an SGLang that brings its own kernels for this GPU", ('pip install "sglang>=0.5.18"',)),
        ),
    ),
    Signature(
        pattern=r"Only SM 10\.x and 11\.x are supported|FP8 is only supported on SM100 .*for FA4",
        rank="cause",
        example="AssertionError: Only SM 10.x and 11.x are supported",
        look_alike="AssertionError: Only SM 9.x is supported",
        source="vllm-project/vllm#46002, sgl-project/sglang#23985",
        message="FlashAttention 4 was asked for on a GPU or a KV cache type that it does not serve",
        remedies=(FLASHINFER,),
    ),
    Signature(
        pattern=r"TRTLLM MHA backend for (?P<phase>prefill|decode) (?:is only supported on|requires)",
        rank="cause",
        example="ValueError: TRTLLM MHA backend for prefill is only supported on Blackwell GPUs (SM100). Please use a "
        "different prefill backend.",
        look_alike="TensorRT-LLM MHA only supports page_size of 16, 32 or 64, changing page_size from 1 to 64.",
        source="sglang 0.5.12 wheel: srt/server_args.py:2765,2778; 0.5.23 wheel: srt/arg_groups/attention_hook.py:204",
        versions="sglang 0.5.9 to 0.5.23",
        message="trtllm_mha does not serve {phase} on this GPU in this SGLang",
        remedies=(FLASHINFER,),
    ),
    Signature(
        pattern=r"TRTLLM MHA backend is only supported on Blackwell GPUs",
        rank="cause",
        example="ValueError: TRTLLM MHA backend is only supported on Blackwell GPUs (SM100). Please use a different "
        "backend.",
        look_alike="Use trtllm_mha backend by default on Blackwell GPUs",
        source="sgl-project/sglang#14842",
        versions="sglang of 2025",
        message="trtllm_mha does not serve this GPU in this SGLang",
        remedies=(FLASHINFER,),
    ),
    Signature(
        pattern=r"TRTLLM FMHAv2 prefill on SM120 does not support",
        rank="cause",
        example="ValueError: TRTLLM FMHAv2 prefill on SM120 does not support fp8_e4m3 KV cache or skip-softmax.",
        look_alike="Using TRTLLM FMHAv2 prefill on SM120",
        source="sglang 0.5.23 wheel: srt/arg_groups/attention_hook.py:219",
        versions="sglang 0.5.19 to 0.5.23",
        message="On compute capability 12.0, trtllm_mha cannot prefill into an fp8_e4m3 KV cache",
        remedies=(LogRemedy("Give prefill another backend", ("--prefill-attention-backend flashinfer",)),),
    ),
    Signature(
        pattern=r"(?P<name>TRTLLM MLA|CuteDSL MLA|tokenspeed_mla) backend is only supported on Blackwell GPUs",
        rank="cause",
        example="ValueError: CuteDSL MLA backend is only supported on Blackwell GPUs (SM100). Please use a different "
        "backend.",
        look_alike="TensorRT-LLM MLA only supports page_size of 32 or 64, changing page_size from 1 to 64.",
        source="sglang 0.5.12 wheel: srt/server_args.py:2719,2739; 0.5.23 wheel: srt/arg_groups/overrides.py:1212,1246",
        versions="sglang 0.5.9 to 0.5.23",
        message="The {name} backend does not run on this GPU",
        remedies=(TRITON,),
    ),
    Signature(
        pattern=r"(?:TllmGenFmhaRunner.*|fmhaRunner\.cuh:\d+.*)Unsupported architecture",
        rank="cause",
        example="RuntimeError: Error in function 'TllmGenFmhaRunner' at flashinfer/data/include/flashinfer/trtllm/fmha/"
        "fmhaRunner.cuh:37: Unsupported architecture",
        look_alike="RuntimeError: Error in function 'TllmGenFmhaRunner': Unsupported head dimension",
        source="flashinfer-ai/flashinfer#3263, #5445; sgl-project/sglang#24633",
        versions="flashinfer 0.6 and 0.7",
        message="The TensorRT-LLM attention kernels exist for compute capability 10.0 and 10.3 alone",
        remedies=(TRITON,),
    ),
    Signature(
        pattern=r"Sparse Attention Forward Kernel is only supported on SM90a and SM100f",
        rank="cause",
        example="RuntimeError: Sparse Attention Forward Kernel is only supported on SM90a and SM100f architectures",
        look_alike="Sparse attention forward kernel selected for SM100f",
        source="sgl-project/sglang#31578",
        versions="sglang 0.5.15.post1 and later",
        message="FlashMLA's sparse prefill does not run on this GPU",
        remedies=(
            LogRemedy("Switch it off", ("export SGLANG_OPT_FLASHMLA_SPARSE_PREFILL=0",), "sglang", "0.5.15.post1"),
        ),
    ),
    Signature(
        pattern=r"(?P<backend>trtllm_mla|cutedsl_mla|tokenspeed_mla) backend can only be used with MLA models"
        r"|(?P<mha>trtllm_mha|hpc_ops) backend can only be used with non-MLA models",
        rank="cause",
        example="ValueError: trtllm_mla backend can only be used with MLA models.",
        look_alike="trtllm_mla backend is used for this MLA model",
        source="sglang 0.5.12 wheel: srt/layers/attention/attention_registry.py",
        versions="sglang 0.5.9 to 0.5.23",
        message="The attention backend does not fit the model's kind of attention",
        remedies=(LogRemedy("Leave --attention-backend out: SGLang chooses one that fits the model"),),
    ),
    Signature(
        pattern=r"GptOssForCausalLM requires one of .* attention backend",
        rank="cause",
        example="AssertionError: GptOssForCausalLM requires one of ['triton', 'trtllm_mha', 'fa3', 'fa4', 'ascend', "
        "'intel_xpu', 'aiter'] attention backend, but got the following backends",
        look_alike="Use triton as attention backend for GptOssForCausalLM",
        source="sglang 0.5.12 wheel: srt/server_args.py:2047",
        versions="sglang 0.5.9 to 0.5.23",
        message="The model has attention sinks, which the backend asked for does not know",
        remedies=(LogRemedy("Ask for triton", ("--attention-backend triton",)),),
    ),
]

PHASES: tuple[Phase, ...] = ("prefill", "decode")


@check("attention.backend-unsupported", needs="server")
def backend_unsupported(case: Case) -> Iterator[Finding | CannotTell]:
    for server in servers(case):
        if why := reasons_not_to_tell(server, case):
            yield CannotTell(f"SGLang {server.version} on {server.capability}", why)
            continue
        backends = backends_of(server, case)
        if backends is None:
            name = server.model.architecture if server.model else "this model"
            yield CannotTell(f"SGLang {server.version} on {server.capability}", f"its default for {name} is not known")
        else:
            yield from _judge(server, backends)
        yield from _vision(server)


def _judge(server: Server, backends: Backends) -> Iterator[Finding | CannotTell]:
    kv_dtype = server.line.kv_cache_dtype if server.line else "auto"
    phases: dict[str, list[Phase]] = {}
    for phase, backend in zip(PHASES, (backends.prefill, backends.decode), strict=True):
        phases.setdefault(backend, []).append(phase)
    for backend, used_for in phases.items():
        answers = [
            ask(Question(backend, server.version, server.capability, phase, kind, kv_dtype))
            for phase in used_for
            for kind in model_kinds(server.model)
        ]
        verdicts = {answer.verdict for answer in answers}
        failing = [answer for answer in answers if answer.verdict == "fails"]
        subject = f"{backend} on {server.capability}"
        if failing and _certain(server, answers, used_for):
            yield _fails(server, backends, subject, failing)
        elif failing:
            yield CannotTell(subject, "it depends on the model's kind of attention: give --model")
        elif verdicts != {"works"}:
            said = next((answer.row.says for answer in answers if answer.row and answer.row.verdict == "unknown"), "")
            yield CannotTell(subject, said or f"no source says whether {backend} runs there")


def _certain(server: Server, answers: list[Answer], used_for: list[Phase]) -> bool:
    """Whether one phase at least fails, whatever the model is."""
    if server.model:
        return True
    return any(
        all(answer.verdict == "fails" for answer in answers if answer.question.phase == phase) for phase in used_for
    )


def _fails(server: Server, backends: Backends, subject: str, failing: list[Answer]) -> Finding:
    row = next(answer.row for answer in failing if answer.row)
    phases = " and ".join(dict.fromkeys(answer.question.phase for answer in failing))
    when = {
        "arguments": "SGLang refuses it while it reads its arguments",
        "load": "SGLang refuses it when the weights are loaded already",
        "kernel": "SGLang lets it through, and its first kernel fails",
    }[row.stage]
    own = "" if backends.given else ", which SGLang chooses by itself"
    return error(
        subject,
        f"attention backend {row.backend}{own} does not serve {phases} on compute capability {server.capability}: "
        f"{when}",
        [*backends.where, *server.evidence, at(row.says, row.source)],
        _remedies(server),
    )


def _remedies(server: Server) -> list[Remedy]:
    row = default_backend(server.version, server.capability, server.model, server.line, has_flashinfer=True)
    if row is None:
        return [Manual("Take triton, which runs on every GPU, unless the model's own page names another backend")]
    text = f"Leave the choice to SGLang {server.version}, which takes {row.backend} here, or ask for it"
    return [Manual(text, (f"--attention-backend {row.backend}",))]


def _vision(server: Server) -> Iterator[Finding | CannotTell]:
    line, model = server.line, server.model
    backend = line.text("mm_attention_backend") if line else ""
    if line is None or not backend or (model and not model.multimodal):
        return
    answer = ask(Question(backend, server.version, server.capability, "vision", model_kinds(model)[0]))
    subject = f"{backend} for vision on {server.capability}"
    if answer.verdict == "unknown":
        said = answer.row.says if answer.row else f"no source says whether {backend} runs there"
        yield CannotTell(subject, said)
    elif answer.verdict == "fails" and answer.row:
        yield error(
            subject,
            f"attention backend {backend} for the vision encoder does not run on compute capability "
            f"{server.capability}",
            [
                at(line.words("mm_attention_backend"), "the launch line"),
                *server.evidence,
                at(answer.row.says, answer.row.source),
            ],
            [Manual("Ask for one that runs on every GPU", ("--mm-attention-backend triton_attn",))],
        )
