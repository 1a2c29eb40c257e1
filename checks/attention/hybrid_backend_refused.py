"""This SGLang does not let a hybrid Gated-DeltaNet model use that attention backend on Blackwell

## What it finds
A Qwen3-Next or Qwen3.5 model (or another one with Gated DeltaNet layers) with an attention backend that this version
refuses for such models on Blackwell: fa4 on 12.x from 0.5.16 on, fa3 and others in every version; and `trtllm_mha`
together with the state strategy `no_buffer` from 0.5.14 on.

## Why it matters
The refusal is an AssertionError when the weights are loaded already: minutes on a large model, and the log ends with
"Received sigquit from a child process". What is allowed changed several times: 0.5.10 to 0.5.15 take fa4 on every
Blackwell GPU and look at `--attention-backend` alone; later versions judge prefill and decode each.

## How it is found
The model's config.json says that it is hybrid. The backends are those of the launch line, else this version's default,
and are compared with the version's own list for this GPU.

## Remedy
flashinfer or triton on 12.x.

## Sources
- checks/tables/hybrid_backends.toml: attention_registry.py of the sglang wheels
- sglang 0.5.14 wheel: srt/server_args.py:4362; 0.5.23 wheel: srt/arg_groups/mamba_hook.py:162
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
    Unknown,
    at,
    check,
    error,
)
from sm120kit.diagnosis.asked import Backends, Server, backends_of, reasons_not_to_tell, servers
from sm120kit.diagnosis.attention import HybridRow, hybrid_row
from sm120kit.diagnosis.versions import within

NO_BUFFER_SINCE = ("0.5.14", "sglang 0.5.14 wheel: srt/server_args.py:4362; 0.5.23: srt/arg_groups/mamba_hook.py:162")

SIGNATURES = [
    Signature(
        pattern=r"only supported backends on Blackwell GPUs for hybrid GDN models"
        r"|backends are supported on Blackwell GPUs for hybrid GDN models",
        rank="cause",
        example="AssertionError: Only {'flashinfer', 'triton', 'trtllm_mha'} backends are supported on Blackwell GPUs "
        "for hybrid GDN models. Got prefill=fa4, decode=fa4.",
        look_alike="Using hybrid linear attention backend for hybrid GDN models.",
        source="sglang wheels: srt/layers/attention/attention_registry.py (0.5.12:258, 0.5.23:474)",
        versions="sglang 0.5.9 to 0.5.23",
        message="This attention backend is refused for hybrid Gated-DeltaNet models on Blackwell",
        remedies=(LogRemedy("Ask for flashinfer, or leave the choice to SGLang", ("--attention-backend flashinfer",)),),
    ),
    Signature(
        pattern=r"no_buffer do not support trtllm_mha attention backend",
        rank="cause",
        example="AssertionError: no_buffer do not support trtllm_mha attention backend.",
        look_alike="Mamba strategy no_buffer is used with the flashinfer attention backend",
        source="sglang 0.5.14 wheel: srt/server_args.py:4362",
        versions="sglang 0.5.14 to 0.5.23",
        message="trtllm_mha does not go together with the state strategy no_buffer",
        remedies=(LogRemedy("Take the strategy extra_buffer", ("--mamba-radix-cache-strategy extra_buffer",)),),
    ),
]


@check("attention.hybrid-backend-refused", needs="server")
def hybrid_backend_refused(case: Case) -> Iterator[Finding | CannotTell]:
    asked = list(servers(case))
    if isinstance(case.request.model, Unknown):
        yield CannotTell("the model", case.request.model.reason)
        return
    model = case.model
    if model is None or not model.hybrid_gdn:
        raise NotApplicable("the model has no Gated DeltaNet layers" if model else "no model was given (--model DIR)")
    for server in asked:
        subject = f"{model.architecture} on {server.capability}"
        if why := reasons_not_to_tell(server, case):
            yield CannotTell(subject, why)
            continue
        row, backends = hybrid_row(server.version, server.capability), backends_of(server, case)
        if backends is None:
            continue  # SGLang's own choice for such a model is one that it allows
        refused = _refused(row, server, backends) if row else ()
        if row and refused:
            yield _finding(server, backends, row, refused, subject)
        elif _without_buffer(server, backends):
            yield _buffer(server, backends, subject)


def _refused(row: HybridRow, server: Server, backends: Backends) -> tuple[str, ...]:
    """The backends that this version refuses, by what it looks at itself."""
    line = server.line
    split = bool(line and line.text("prefill_attention_backend") and line.text("decode_attention_backend"))
    judged = backends.names
    if row.judged == "attention-backend" or (row.judged == "split-if-both" and not split):
        if split and backends.prefill != backends.decode and line and not line.text("attention_backend"):
            return ()  # it looks at --attention-backend alone, which holds its own default then
        named = line.text("attention_backend") if line else ""
        judged = (named,) if named else backends.names[:1]
    return tuple(name for name in judged if name not in row.allowed)


def _without_buffer(server: Server, backends: Backends) -> bool:
    line = server.line
    return (
        line is not None
        and within(server.version, NO_BUFFER_SINCE[0], "")
        and line.mamba_strategy == "no_buffer"
        and not line.switched_on("disable_radix_cache")
        and "trtllm_mha" in (line.text("attention_backend"), *([backends.prefill] if backends.names[1:] == () else []))
    )


def _finding(server: Server, backends: Backends, row: HybridRow, refused: tuple[str, ...], subject: str) -> Finding:
    allowed = ", ".join(row.allowed)
    best = "flashinfer" if "flashinfer" in row.allowed else "triton"
    return error(
        subject,
        f"SGLang {server.version} refuses attention backend {' and '.join(refused)} for hybrid Gated-DeltaNet models "
        f"on compute capability {server.capability}, after the weights are loaded: it allows {allowed}",
        [*backends.where, *server.evidence, at(row.says, row.source)],
        [Manual(f"Ask for {best}", (f"--attention-backend {best}",))],
    )


def _buffer(server: Server, backends: Backends, subject: str) -> Finding:
    strategy = server.line.words("mamba_radix_cache_strategy") if server.line else ""
    return error(
        subject,
        f"SGLang {server.version} refuses trtllm_mha together with the state strategy no_buffer",
        [*backends.where, at(strategy, "the launch line"), *server.evidence, at("an assertion", NO_BUFFER_SINCE[1])],
        [
            Manual("Take the strategy extra_buffer", ("--mamba-radix-cache-strategy extra_buffer",)),
            Manual("Another attention backend", ("--attention-backend flashinfer",)),
        ],
    )
