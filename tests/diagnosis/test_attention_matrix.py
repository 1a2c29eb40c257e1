"""Every attention backend on every compute capability in every SGLang version: each verdict with its source."""

from __future__ import annotations

from collections import Counter

import pytest

from sm120kit.diagnosis.asked import KnownVersion, Server, backends_of, is_known
from sm120kit.diagnosis.attention import (
    BackendRow,
    DefaultRow,
    HybridRow,
    Phase,
    Question,
    ask,
    default_backend,
    hybrid_row,
)
from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.tables import read_table
from sm120kit.diagnosis.versions import version_key
from sm120kit.engines.sglang import flag_table, read_launch_line, versions
from tests.builders import snapshot
from tests.models import DEEPSEEK_V3, QWEN3_32B, QWEN3_NEXT_80B
from tests.servers import GPT_OSS, model

CAPABILITIES = ("8.0", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1")
MODELS = ("mha", "mla", "sinks")
PHASES: tuple[Phase, ...] = ("prefill", "decode")
MATRIX = [(version, capability) for version in versions() for capability in CAPABILITIES]
UNSPOKEN = {
    "nsa", "dsa", "dsv4", "compressed", "qsa", "dual_chunk_flash_attn", "llada2_cfg_flashinfer", "minicpm_flashattn",
    "minicpm_flashinfer",
}  # fmt: skip
"""Backends of single model classes: what is not in the table about them is unknown."""


def choices(version: str, flag: str) -> tuple[str, ...]:
    """What a version lets one ask for."""
    return flag_table(version).flags[flag].choices


@pytest.mark.parametrize(("version", "capability"), MATRIX, ids=lambda value: str(value))
def test_each_cell_has_a_verdict_with_its_source(version: str, capability: str) -> None:
    shown = []
    for backend in choices(version, "--attention-backend"):
        for phase in PHASES:
            for kind in MODELS:
                for kv_dtype in choices(version, "--kv-cache-dtype"):
                    answer = ask(Question(backend, version, capability, phase, kind, kv_dtype))
                    if answer.row is None:
                        assert backend in UNSPOKEN, f"no row speaks of {answer.question}"
                        continue
                    cell = f"{backend} {phase} {kind} {kv_dtype} on {capability} with {version}"
                    assert answer.row.source.strip(), f"{cell} has no source"
                    assert (answer.verdict == "fails") == bool(answer.row.stage), f"{cell}: when does it fail?"
                    assert answer.verdict == "works" or answer.row.says, f"{cell}: what is said?"
                    shown.append(f"{cell}: {answer.verdict} ({answer.row.source})")
    print("\n".join(shown))  # noqa: T201 - pytest -s shows the matrix
    assert len(shown) > 100


@pytest.mark.parametrize(("version", "capability"), MATRIX, ids=lambda value: str(value))
def test_each_vision_backend_has_a_verdict_or_none(version: str, capability: str) -> None:
    for backend in choices(version, "--mm-attention-backend"):
        answer = ask(Question(backend, version, capability, "vision", "mha"))
        assert answer.row is None or answer.row.source.strip()


@pytest.mark.parametrize(
    ("backend", "version", "capability", "phase", "kind", "kv_dtype", "verdict"),
    [
        ("fa3", "0.5.12", "9.0", "decode", "mla", "auto", "works"),
        ("fa3", "0.5.23", "12.0", "decode", "mha", "auto", "fails"),
        ("fa3", "0.5.23", "8.0", "decode", "mla", "auto", "fails"),
        ("fa4", "0.5.17", "12.0", "decode", "mha", "auto", "fails"),
        ("fa4", "0.5.18", "12.0", "decode", "mha", "auto", "works"),
        ("fa4", "0.5.23", "12.0", "decode", "mha", "fp8_e4m3", "unknown"),
        ("fa4", "0.5.23", "12.1", "decode", "mha", "auto", "unknown"),
        ("trtllm_mha", "0.5.12", "12.0", "prefill", "mha", "auto", "fails"),
        ("trtllm_mha", "0.5.12", "12.0", "decode", "mha", "auto", "works"),
        ("trtllm_mha", "0.5.18", "12.0", "prefill", "mha", "auto", "fails"),
        ("trtllm_mha", "0.5.19", "12.0", "prefill", "mha", "auto", "works"),
        ("trtllm_mha", "0.5.19", "12.0", "prefill", "mha", "fp8_e4m3", "fails"),
        ("trtllm_mha", "0.5.12", "9.0", "decode", "mha", "auto", "works"),
        ("trtllm_mha", "0.5.12", "8.9", "decode", "mha", "auto", "fails"),
        ("trtllm_mla", "0.5.12", "12.0", "decode", "mla", "auto", "fails"),
        ("trtllm_mla", "0.5.12", "10.3", "decode", "mla", "auto", "works"),
        ("trtllm_mla", "0.5.12", "10.0", "decode", "mla", "fp8_e5m2", "fails"),
        ("cutlass_mla", "0.5.12", "12.1", "decode", "mla", "auto", "fails"),
        ("flashmla", "0.5.23", "9.0", "decode", "mla", "auto", "works"),
        ("flashmla", "0.5.23", "12.0", "decode", "mla", "auto", "fails"),
        ("cutedsl_mla", "0.5.23", "10.0", "decode", "mla", "auto", "works"),
        ("cutedsl_mla", "0.5.23", "12.0", "decode", "mla", "auto", "fails"),
        ("tokenspeed_mla", "0.5.12", "10.0", "decode", "mla", "fp8_e4m3", "works"),
        ("tokenspeed_mla", "0.5.12", "10.0", "decode", "mla", "auto", "fails"),
        ("tokenspeed_mla", "0.5.12", "12.0", "decode", "mla", "fp8_e4m3", "unknown"),
        ("flashinfer", "0.5.12", "12.1", "decode", "mla", "auto", "works"),
        ("flashinfer", "0.5.12", "12.0", "decode", "sinks", "auto", "fails"),
        ("triton", "0.5.12", "12.0", "decode", "sinks", "auto", "works"),
        ("triton", "0.5.12", "11.0", "decode", "mha", "auto", "unknown"),
        ("torch_native", "0.5.12", "12.0", "decode", "mha", "auto", "unknown"),
    ],
)
def test_cells_that_were_read(
    backend: str, version: str, capability: str, phase: Phase, kind: str, kv_dtype: str, verdict: str
) -> None:
    assert ask(Question(backend, version, capability, phase, kind, kv_dtype)).verdict == verdict


def test_no_row_is_hidden_behind_another() -> None:
    reached: Counter[int] = Counter()
    rows = read_table("attention_backends", BackendRow)
    for version, capability in MATRIX:
        for backend in {row.backend for row in rows}:
            for phase in ("prefill", "decode", "vision"):
                for kind in MODELS:
                    for kv_dtype in ("auto", "fp8_e4m3", "fp8_e5m2", "bfloat16"):
                        answer = ask(Question(backend, version, capability, phase, kind, kv_dtype))
                        reached[id(answer.row)] += 1
    hidden = [f"{row.backend}: {row.source}" for row in rows if not reached[id(row)]]
    assert hidden == []


@pytest.mark.parametrize("version", versions())
def test_versions_of_the_tables_are_those_of_the_flags(version: str) -> None:
    assert is_known(version)
    assert version in [row.version for row in read_table("sglang_versions", KnownVersion)]


@pytest.mark.parametrize("row", read_table("attention_backends", BackendRow), ids=lambda row: f"{row.backend}")
def test_bounds_are_versions_that_were_read(row: BackendRow) -> None:
    for bound in (row.first, row.last):
        assert not bound or bound in versions()
    assert not row.first or not row.last or (version_key(row.first) or ()) <= (version_key(row.last) or ())


@pytest.mark.parametrize(
    ("version", "capability", "config", "line", "backend"),
    [
        ("0.5.12", "12.0", QWEN3_32B, "", "flashinfer"),
        ("0.5.23", "12.1", QWEN3_32B, "", "flashinfer"),
        ("0.5.23", "8.9", QWEN3_32B, "", "flashinfer"),
        ("0.5.12", "9.0", QWEN3_32B, "", "fa3"),
        ("0.5.12", "9.0", QWEN3_32B, "--speculative-algorithm EAGLE --speculative-eagle-topk 4", "flashinfer"),
        ("0.5.12", "10.0", QWEN3_32B, "", "trtllm_mha"),
        ("0.5.12", "10.0", QWEN3_32B, "--speculative-algorithm EAGLE", "flashinfer"),
        ("0.5.12", "10.0", QWEN3_32B, "--speculative-algorithm EAGLE --speculative-eagle-topk 1", "trtllm_mha"),
        ("0.5.12", "12.0", DEEPSEEK_V3, "", "triton"),
        ("0.5.12", "9.0", DEEPSEEK_V3, "", "fa3"),
        ("0.5.12", "10.0", DEEPSEEK_V3, "", None),
        ("0.5.23", "12.0", GPT_OSS, "", "triton"),
        ("0.5.23", "10.0", GPT_OSS, "", "trtllm_mha"),
        ("0.5.23", "12.0", QWEN3_NEXT_80B, "", "flashinfer"),
        ("0.5.23", "10.0", QWEN3_NEXT_80B, "", None),
        ("0.5.23", "12.0", QWEN3_32B, "--enable-deterministic-inference", None),
    ],
)
def test_what_a_version_chooses_by_itself(
    version: str, capability: str, config: dict[str, object], line: str, backend: str | None
) -> None:
    read = read_launch_line(line.split(), version)
    row = default_backend(version, capability, model(config).value, read, has_flashinfer=True)
    assert (row.backend if row else None) == backend
    if row and row.backend == "flashinfer":
        without = default_backend(version, capability, model(config).value, read, has_flashinfer=False)
        assert without
        assert without.backend == "triton"


@pytest.mark.parametrize(("version", "capability"), MATRIX, ids=lambda value: str(value))
@pytest.mark.parametrize("config", [QWEN3_32B, DEEPSEEK_V3, GPT_OSS], ids=["mha", "mla", "sinks"])
def test_no_version_chooses_by_itself_what_is_called_failing(
    version: str, capability: str, config: dict[str, object]
) -> None:
    server = Server(version, "", capability, "", None, model(config).value)
    chosen = backends_of(server, Case(snapshot()))
    kind = "sinks" if config is GPT_OSS else server.model.attention if server.model else ""
    for backend, phase in zip((chosen.prefill, chosen.decode) if chosen else (), PHASES, strict=False):
        assert ask(Question(backend, version, capability, phase, kind)).verdict != "fails"


@pytest.mark.parametrize("version", versions())
@pytest.mark.parametrize("capability", ["10.0", "11.0", "12.0", "12.1"])
def test_every_version_has_its_list_for_hybrid_models_on_blackwell(version: str, capability: str) -> None:
    row = hybrid_row(version, capability)
    assert row
    assert row.source
    assert {"triton", "trtllm_mha"} <= set(row.allowed)
    assert ("fa4" in row.allowed) == (version != "0.5.9" and (capability < "12" or version < "0.5.16"))


def test_hybrid_models_are_free_elsewhere() -> None:
    assert hybrid_row("0.5.23", "9.0") is None
    assert all(row.capabilities for row in read_table("hybrid_backends", HybridRow))


def test_defaults_end_with_a_row_for_everything() -> None:
    last = read_table("attention_defaults", DefaultRow)[-1]
    assert (last.backend, last.capabilities, last.models, last.architectures, last.when) == ("triton", (), (), (), "")
