"""What a server was asked to do, worked out: its version, its attention backends, the GPUs and the model."""

from collections.abc import Iterator

import msgspec

from sm120kit.diagnosis.attention import default_backend
from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.findings import at
from sm120kit.diagnosis.launch import LaunchLine
from sm120kit.diagnosis.registry import NotApplicable
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.diagnosis.types import Evidence
from sm120kit.diagnosis.versions import within
from sm120kit.snapshot.facts import Known, Unknown
from sm120kit.snapshot.model_facts import ModelFacts

DECODE_ONLY = {"cutedsl_mla": "0.5.13", "tokenspeed_mla": "0.5.23"}
"""Backends that SGLang itself gives a prefill backend, and the version since when."""


class KnownVersion(Row, frozen=True, kw_only=True):
    """One SGLang whose wheel was read (sglang_versions.toml), oldest first."""

    version: str


class Server(msgspec.Struct, frozen=True):
    """The server that is asked about, on one kind of GPU."""

    version: str
    version_where: str
    capability: str
    capability_where: str
    line: LaunchLine | None
    model: ModelFacts | None

    @property
    def evidence(self) -> list[Evidence]:
        """What it is: GPU, version and model."""
        found = [
            at(f"compute capability {self.capability}", self.capability_where),
            at(f"SGLang {self.version}", self.version_where),
        ]
        if self.model:
            found.append(at(f"{self.model.architecture}, {describe(self.model)}", self.model.path))
        return found


class Backends(msgspec.Struct, frozen=True):
    """The attention backends that a server would use."""

    prefill: str
    decode: str
    given: bool
    """False: nothing was asked for, and the version chooses this itself."""
    where: tuple[Evidence, ...]
    """The words that set them, or what chooses them."""

    @property
    def names(self) -> tuple[str, ...]:
        """Both, each once."""
        return tuple(dict.fromkeys((self.prefill, self.decode)))


def is_known(version: str) -> bool:
    """Whether the tables speak of this SGLang."""
    rows = read_table("sglang_versions", KnownVersion)
    return within(version, rows[0].version, rows[-1].version)


def known_range() -> str:
    """The versions that the tables speak of, in words."""
    rows = read_table("sglang_versions", KnownVersion)
    return f"{rows[0].version} to {rows[-1].version}"


def servers(case: Case) -> Iterator[Server]:
    """The server asked about, once for each kind of GPU.

    Raises:
        NotApplicable: no launch line and no model was given, or no GPU or version is known.
    """
    request = case.request
    if request.launch is None and request.model is None:
        raise NotApplicable("no launch line and no model was given (doctor --model DIR -- SGLANG ARGS)")
    version, capabilities = case.sglang, case.compute_capabilities
    if isinstance(version, Unknown):
        raise NotApplicable(f"which SGLang would run is not known: {version.reason}")
    if isinstance(capabilities, Unknown):
        raise NotApplicable(f"the GPU is not known: {capabilities.reason}")
    for capability in capabilities.value:
        yield Server(
            version=version.value,
            version_where=version.source.where,
            capability=capability,
            capability_where=capabilities.source.where,
            line=request.launch,
            model=case.model,
        )


def reasons_not_to_tell(server: Server, case: Case) -> str:
    """Why nothing can be said about this server from the tables; empty where something can."""
    if not is_known(server.version):
        return f"what is known of SGLang covers {known_range()}, and this is {server.version}"
    if server.line and server.line.config_file:
        return f"{server.line.words('config')} names a file with more settings, which is not read"
    if isinstance(case.request.model, Unknown):
        return case.request.model.reason
    return ""


def backends_of(server: Server, case: Case) -> Backends | None:
    """What attention runs on; ``None`` where the version's own choice for this model is not known."""
    line, model = server.line, server.model
    prefill, decode = line.attention_backends if line else ("", "")
    where = [
        at(line.words(name), "the launch line")
        for name in ("attention_backend", "prefill_attention_backend", "decode_attention_backend")
        if line and line.text(name)
    ]
    if line and line.text("attention_backend") == "fa3" and line.kv_cache_dtype == "fp8_e5m2":
        prefill, decode = ("triton" if each == "fa3" else each for each in (prefill, decode))
    if decode in DECODE_ONLY and within(server.version, DECODE_ONLY[decode], "") and prefill in ("", decode):
        prefill = prefill if line and line.text("prefill_attention_backend") else "trtllm_mla"
    if prefill and decode:
        return Backends(prefill, decode, True, tuple(where))
    row = default_backend(
        server.version,
        server.capability,
        model,
        line,
        has_flashinfer=case.distribution("flashinfer-python") is not None or not _sees_packages(case),
    )
    if row is None:
        return None
    chosen = at(f"chosen by SGLang {server.version} itself: {row.backend}", row.source)
    return Backends(prefill or row.backend, decode or row.backend, bool(prefill or decode), (*where, chosen))


def describe(model: ModelFacts) -> str:
    """A model's kind in a few words: ``MLA, mixture of 256 experts, fp8``."""
    words = ["MLA" if model.attention == "mla" else "MHA or GQA"]
    if model.linear:
        names = {"gdn": "Gated DeltaNet", "mamba2": "Mamba 2", "kda": "Kimi Delta Attention"}
        words.append(f"hybrid with {names.get(model.linear.kind, 'linear attention')}")
    if model.attention_sinks:
        words.append("attention sinks")
    if model.experts:
        words.append(f"{model.experts} experts")
    if model.multimodal:
        words.append("multimodal")
    words.append(model.weights or "dtype not said")
    return ", ".join(words)


def _sees_packages(case: Case) -> bool:
    """Whether the target is a stack with SGLang in it; else its packages prove nothing about the one asked about."""
    return isinstance(case.snapshot.distributions, Known) and case.distribution("sglang") is not None
