"""Which attention backend works where: SGLang's own checks and the kernels behind them, from dated tables."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from sm120kit.diagnosis.launch import LaunchLine
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.diagnosis.versions import within
from sm120kit.snapshot.model_facts import ModelFacts

Phase = Literal["prefill", "decode", "vision"]
Verdict = Literal["works", "fails", "unknown"]


class Question(msgspec.Struct, frozen=True):
    """One backend in one place."""

    backend: str
    version: str
    capability: str
    phase: Phase
    model: str
    kv_dtype: str = "auto"


class BackendRow(Row, frozen=True, kw_only=True):
    """One cell, or a block of cells with the same answer (attention_backends.toml). The first that fits counts."""

    backend: str
    first: str = ""
    """First SGLang version that it holds for; empty = the oldest known."""
    last: str = ""
    capabilities: tuple[str, ...] = ()
    """Compute capabilities (``12.1``) or majors (``12``); empty = all."""
    phases: tuple[Phase, ...] = ("prefill", "decode")
    models: tuple[str, ...] = ()
    """``mha``, ``mla``, ``sinks``; empty = all."""
    kv_dtypes: tuple[str, ...] = ()
    """Values of --kv-cache-dtype; empty = all."""
    verdict: Verdict
    stage: Literal["", "arguments", "load", "kernel"] = ""
    """When it fails: while arguments are checked, when the backend is made after the weights are loaded, or in the
    first kernel."""
    says: str = ""
    """The error that shows, else why nothing is known."""

    def fits(self, question: Question) -> bool:
        """Whether this row answers the question."""
        return (
            self.backend == question.backend
            and within(question.version, self.first, self.last)
            and has_capability(self.capabilities, question.capability)
            and question.phase in self.phases
            and (not self.models or question.model in self.models)
            and (not self.kv_dtypes or question.kv_dtype in self.kv_dtypes)
        )


class Answer(msgspec.Struct, frozen=True):
    """What the tables say. ``row`` is ``None`` where they say nothing."""

    question: Question
    row: BackendRow | None

    @property
    def verdict(self) -> Verdict:
        """What became of it."""
        return self.row.verdict if self.row else "unknown"


class DefaultRow(Row, frozen=True, kw_only=True):
    """What a version chooses where nothing is asked for (attention_defaults.toml). The first that fits counts."""

    backend: str
    """``unknown`` where the model class has rules of its own that are not in the table."""
    first: str = ""
    last: str = ""
    capabilities: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    """``mha``, ``mla``, ``gdn``, ``sinks``; empty = all."""
    architectures: tuple[str, ...] = ()
    """Model classes; empty = all."""
    when: Literal["", "one-draft-path", "one-draft-path-chosen", "flashinfer-installed", "deterministic"] = ""


class HybridRow(Row, frozen=True, kw_only=True):
    """Backends that a version lets hybrid Gated-DeltaNet models use (hybrid_backends.toml)."""

    first: str = ""
    last: str = ""
    capabilities: tuple[str, ...]
    allowed: tuple[str, ...]
    judged: Literal["attention-backend", "split-if-both", "each-phase"]
    """What is compared: --attention-backend alone; prefill's and decode's where both are given, else that; or what
    each phase ends up with."""
    says: str


def has_capability(wanted: Sequence[str], capability: str) -> bool:
    """Whether ``12.1`` is among capabilities and majors."""
    return not wanted or capability in wanted or capability.partition(".")[0] in wanted


def ask(question: Question) -> Answer:
    """What is known of one backend in one place."""
    rows = read_table("attention_backends", BackendRow)
    return Answer(question, next((row for row in rows if row.fits(question)), None))


def model_kinds(model: ModelFacts | None) -> tuple[str, ...]:
    """The kinds of attention to ask about: the model's own, or all where no model is known."""
    if model is None:
        return ("mha", "mla")
    return ("sinks",) if model.attention_sinks else (model.attention,)


def default_backend(
    version: str, capability: str, model: ModelFacts | None, line: LaunchLine | None, *, has_flashinfer: bool
) -> DefaultRow | None:
    """What this version chooses by itself on this chip; ``None`` where the table does not say.

    Without a model, what it chooses for an ordinary one (MHA or GQA, no sinks).
    """
    kinds = {"mha"} if model is None else {*model_kinds(model), *(("gdn",) if model.hybrid_gdn else ())}
    architecture = model.architecture if model else ""
    for row in read_table("attention_defaults", DefaultRow):
        if (
            within(version, row.first, row.last)
            and has_capability(row.capabilities, capability)
            and (not row.models or kinds & set(row.models))
            and (not row.architectures or architecture in row.architectures)
            and _holds(row.when, line, has_flashinfer=has_flashinfer)
        ):
            return row if row.backend != "unknown" else None
    return None


def hybrid_row(version: str, capability: str) -> HybridRow | None:
    """What hybrid models may use; ``None`` where no version known refuses anything."""
    rows = read_table("hybrid_backends", HybridRow)
    fitting = (row for row in rows if within(version, row.first, row.last))
    return next((row for row in fitting if has_capability(row.capabilities, capability)), None)


def _holds(when: str, line: LaunchLine | None, *, has_flashinfer: bool) -> bool:
    if when == "flashinfer-installed":
        return has_flashinfer
    if when == "deterministic":
        return line is not None and line.switched_on("enable_deterministic_inference")
    if when.startswith("one-draft-path"):
        return line is None or _one_draft_path(line, chosen=when.endswith("chosen"))
    return True


def _one_draft_path(line: LaunchLine, *, chosen: bool) -> bool:
    """SGLang's is_no_spec_infer_or_topk_one; ``chosen``: a speculating line must also say so itself."""
    top_k, page_size = line.number("speculative_eagle_topk"), line.number("page_size")
    one = top_k is None or (top_k == 1 and page_size in (None, 1))
    return one and not (chosen and line.speculative and top_k is None)
