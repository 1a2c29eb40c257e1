"""From what was named (a model, a launch line, hardware) to an order for a plan. Reads the checkpoint's headers."""

from __future__ import annotations

import posixpath

import msgspec
from msgspec.structs import replace

from sm120kit.capacity.estimated import embedding_bytes, expert_bytes, whole_bytes
from sm120kit.capacity.formulas import choose_formula
from sm120kit.capacity.geometry import Geometry, geometry_of
from sm120kit.capacity.machine import Machine
from sm120kit.capacity.memory import GIB, STATE_DTYPES
from sm120kit.capacity.plan import Order
from sm120kit.capacity.predict import Server
from sm120kit.capacity.roofline import Read
from sm120kit.capacity.settings import Settings, resolve_settings
from sm120kit.capacity.weights import Loading, Weights, read_weights
from sm120kit.diagnosis.launch import LaunchLine
from sm120kit.diagnosis.versions import older
from sm120kit.errors import Sm120kitError
from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.model_dir import read_model
from sm120kit.snapshot.model_facts import ModelFacts

_RENAMED_STRATEGY = "0.5.14"
"""First version that spells it --mamba-radix-cache-strategy."""


_ONE_BYTE = ("fp8", "w8a8_fp8", "w8a8_int8")
"""What --quantization makes bytes of while it loads."""


_ABOUT = 0.15
"""By how much a whole checkpoint may differ from what its configuration gives."""


class Named(msgspec.Struct, frozen=True):
    """What was named on the command line."""

    model: str
    """A folder with config.json and, unless ``weights`` is given, safetensors files; or a config.json."""
    line: LaunchLine
    machine: Machine
    weights: int | None = None
    """Bytes by ``--weights-gib``."""
    tokens_each: int | None = None
    assume: bool = False
    assumptions: tuple[str, ...] = ()
    """What was taken for granted about them."""
    environment: dict[str, str] = {}
    """The server's variables."""
    gpus_there: int = 0
    """GPUs of the machine, where ``machine`` is but those of one server; 0 = those of ``machine``."""


def make_order(named: Named, files: Files) -> Order:
    """Gather all that a plan needs.

    Raises:
        Sm120kitError: the model, its weights or the launch line cannot be planned for, with the reason.
    """
    formula, assumption = choose_formula(named.line.version, assume=named.assume)
    facts = known_model(named.model, files)
    geometry = geometry_of(facts)
    settings, assumptions = resolve_settings(named.line, formula, geometry, named.environment)
    known = [*named.assumptions, *([assumption] if assumption else [])]
    known += assumptions
    if not named.line.exact:
        known.append(f"flags of SGLang {named.line.version} are read as those of {named.line.read_as}")
    loaded = _loaded(named, facts, settings, files, known)
    draft, draft_layers = _draft(settings, geometry, loaded, files, known)
    tp = settings.tp
    if tp > named.machine.gpus:
        raise Sm120kitError(
            f"--tp-size {tp} needs {tp} GPUs, and {named.machine.gpus} are named", hint="Name them: --gpu NAMExN"
        )
    return Order(
        server=Server(
            formula=formula,
            geometry=geometry,
            settings=settings,
            free=named.machine.cards[0].free,
            weights=loaded.main // tp,
            draft_weights=draft // tp if settings.algorithm else 0,
            draft_layers=draft_layers,
            gpu_memory_mib=named.machine.smallest_mib,
        ),
        machine=named.machine,
        model=named.model,
        version=named.line.version,
        strategy_flag=_strategy_flag(formula.version),
        assumptions=tuple(known),
        read=Read(loaded.experts // tp, loaded.left_out // tp),
        tokens_each=named.tokens_each,
        weights_type=facts.weights,
        notes=_too_much(named, facts, settings),
        gpus_there=named.gpus_there,
    )


def known_model(path: str, files: Files) -> ModelFacts:
    """What the model's config.json says.

    Raises:
        Sm120kitError: it cannot be read, or is none.
    """
    fact = read_model(files, path)
    if isinstance(fact, Unknown):
        raise Sm120kitError(fact.reason, hint="Name the folder of a checkpoint, or its config.json with --weights-gib")
    return fact.value


def _strategy_flag(version: str) -> str:
    old = older(version, _RENAMED_STRATEGY)
    return "--mamba-scheduler-strategy" if old else "--mamba-radix-cache-strategy"


def _loaded(named: Named, facts: ModelFacts, settings: Settings, files: Files, known: list[str]) -> Weights:
    if named.weights is not None:
        return _named_weights(named, facts, settings, known)
    if settings.tp > 1:
        known.append("weights are split evenly over the GPUs of one server")
    folder = posixpath.dirname(facts.path)
    stored_as_is = facts.quantisation is not None
    online = settings.quantisation if not stored_as_is else ""
    matrix = 1 if online in _ONE_BYTE else 0
    if online and not matrix:
        known.append(f"--quantization {online}: weights are counted as they are stored")
    elif matrix:
        known.append(f"--quantization {online}: matrices of the layers are counted as one byte an element")
    loading = Loading(facts.layers, 0 if stored_as_is else STATE_DTYPES[settings.dtype], matrix)
    weights = read_weights(files, folder or ".", loading)
    if not facts.experts:
        return replace(weights, experts=0)
    return weights


def _named_weights(named: Named, facts: ModelFacts, settings: Settings, known: list[str]) -> Weights:
    """What the configuration says of the parts of weights whose size is named."""
    known.append("--weights-gib is what each GPU holds of the model that serves, without a draft model")
    size = (named.weights or 0) * settings.tp
    quantised = _quantised(facts, settings)
    return Weights(size, 0, expert_bytes(facts, quantised=quantised), embedding_bytes(facts), size, {}, 0)


def _quantised(facts: ModelFacts, settings: Settings) -> bool:
    return facts.quantisation is None and settings.quantisation in _ONE_BYTE


def _too_much(named: Named, facts: ModelFacts, settings: Settings) -> tuple[str, ...]:
    """Whether what was named as one GPU's weights is about what the whole checkpoint takes."""
    whole, tp = whole_bytes(facts, quantised=_quantised(facts, settings)), settings.tp
    if named.weights is None or tp == 1 or not whole or abs(named.weights - whole) > _ABOUT * whole:
        return ()
    gib = named.weights / GIB
    return (
        f"--weights-gib {gib:g} is counted on each of the {tp} GPUs of a server, and by its configuration the whole "
        f"checkpoint takes about {whole / GIB:.0f}: where {gib:g} is the whole, give --weights-gib {gib / tp:.2f}",
    )


def _draft(settings: Settings, geometry: Geometry, loaded: Weights, files: Files, known: list[str]) -> tuple[int, int]:
    """Bytes of the draft model's weights, and its layers."""
    if not settings.algorithm or settings.algorithm == "NGRAM":
        return 0, 0
    if not settings.draft_path:
        if not loaded.draft:
            known.append("the draft model's weights are not counted: nothing says how large they are")
        return loaded.draft, geometry.draft_layers
    facts = known_model(settings.draft_path, files)
    weights = read_weights(
        files, posixpath.dirname(facts.path) or ".", Loading(facts.layers, STATE_DTYPES[settings.dtype])
    )
    return weights.main, facts.draft_layers or facts.layers
