"""Whether the model is there as a whole, and may be read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from sm120kit.capacity.weights import INDEX, Loading, read_weights
from sm120kit.diagnosis.findings import at
from sm120kit.diagnosis.launch import LaunchLine
from sm120kit.diagnosis.types import Finding, Manual
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.preflight.findings import stops, warns
from sm120kit.fleet.preflight.types import Answer
from sm120kit.fleet.preparation.model_place import ModelPlace
from sm120kit.fleet.preparation.open_files import open_files
from sm120kit.fleet.preparation.prepare import Prepared
from sm120kit.fleet.preparation.remarks import missing_model
from sm120kit.fleet.rehearsal import built_in
from sm120kit.snapshot.facts import Fact, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.model_dir import read_model
from sm120kit.snapshot.model_facts import ModelFacts

_MISSING, _INCOMPLETE = "launch.model-missing", "launch.model-incomplete"
_OTHER_WEIGHTS = (".bin", ".pt", ".pth", ".gguf", ".npz")
_TOKENIZER = ("tokenizer", "tokenization", "vocab", "tekken", "spiece", "merges", "sentencepiece", ".tiktoken")
_LONGEST_INDEX = 64 << 20
_MOST_NAMED = 5

_WITHOUT = Manual(
    "Rehearse without them: say how much of them each GPU would hold", ("sm120kit launch --rehearse --weights-gib X",)
)
_AGAIN = Manual("Download the model again: what is whole already is kept", ("hf download NAME --local-dir FOLDER",))


def ask_model(prepared: Prepared, environment: Mapping[str, str]) -> Answer:
    """Its folder with configuration, weights and tokenizer; or why there is none to look at."""
    place, line = prepared.place, prepared.case.request.launch
    if prepared.spec.rehearsal and place.kind == "nothing":
        return Answer(
            "model", f"{place.name} is not there, and a rehearsal needs no model", (_nothing_to_rehearse(place),)
        )
    if prepared.spec.rehearsal and (not place.folder or place.folder == built_in.FOLDER):
        return Answer("model", "a rehearsal needs no model")
    assert line is not None
    variables = {**environment, **prepared.spec.environment}
    match place.kind:
        case "nothing":
            return Answer("model", f"{place.name} is not there", (_not_there(place),))
        case "hub":
            return _on_the_hub(place, variables)
        case "remote":
            return Answer("model", f"{place.name} is an address, which only SGLang can look at")
        case "file":
            return _file(place)
    with open_files() as files:
        if prepared.order.rehearse and (given := prepared.order.rehearsal.weights_gib):
            text = f"configuration in {place.folder}, weights of {given:g} GiB on each GPU as given; no more is needed"
            return Answer("model", text, tuple(_configuration(place.folder, read_model(files, place.folder))))
        findings = tuple(_folder(place.folder, line, files, rehearsal=prepared.order.rehearse))
    parts = "configuration, weights and tokenizer"
    looked = f"looked for {parts} in {place.folder}: not all is well, see below"
    return Answer("model", looked if findings else f"{parts} in {place.folder}", findings)


def _nothing_to_rehearse(place: ModelPlace) -> Finding:
    """A rehearsal goes on without a model; a mistyped path must not look as if it had been rehearsed."""
    path, above = _way_to(place)
    return warns(
        _MISSING,
        place.name,
        missing_model(place),
        [at(f"the last folder on the way that is there: {above}", path)],
        [
            Manual("Name the folder that holds its config.json, and the plan is made for it", (f"ls -l {above}",)),
            Manual("Rehearse without a model: leave it out"),
        ],
    )


def _way_to(place: ModelPlace) -> tuple[str, str]:
    """The path that was named, and the last folder on the way to it that is there."""
    path = os.path.abspath(os.path.expanduser(place.name))
    above = path
    while above != "/" and not os.path.lexists(above):
        above = os.path.dirname(above)
    return path, above


def _not_there(place: ModelPlace) -> Finding:
    path, above = _way_to(place)
    return stops(
        _MISSING,
        place.name,
        f"there is no model at {path}, and {place.name} is no name that a hub could know",
        [at(f"the last folder on the way that is there: {above}", path)],
        [
            Manual("Name the folder that holds its config.json", (f"ls -l {above}",)),
            Manual("In a container: mount the folder, and name it as the container sees it"),
        ],
    )


def _on_the_hub(place: ModelPlace, environment: Mapping[str, str]) -> Answer:
    offline = [
        name
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
        if environment.get(name, "").upper() in ("1", "ON", "YES", "TRUE")
    ]
    looked = at(f"no snapshot of {place.name}", place.cache)
    if offline:
        finding = stops(
            _MISSING,
            place.name,
            f"{place.name} was never downloaded here, and {offline[0]} forbids it",
            [looked, at(environment[offline[0]], offline[0])],
            [Manual("Download it first, or name its folder", (f"hf download {place.name}",))],
        )
        return Answer("model", f"{place.name} is not in the cache", (finding,))
    finding = warns(
        _MISSING,
        place.name,
        f"{place.name} lies neither here nor in the cache, so the servers will download it, each for itself",
        [looked],
        [Manual("Download it first", (f"hf download {place.name}",))],
    )
    return Answer("model", f"{place.name} is not in the cache", (finding,))


def _file(place: ModelPlace) -> Answer:
    if place.folder.endswith(".gguf") and os.access(place.folder, os.R_OK):
        return Answer("model", f"{place.folder}, whose inside is not looked at")
    finding = stops(
        _INCOMPLETE,
        place.folder,
        f"{place.folder} is a file, and no GGUF file that may be read",
        [at("a file", place.folder)],
        [Manual("Name the folder that the model's files lie in")],
    )
    return Answer("model", place.folder, (finding,))


def _configuration(folder: str, facts: Fact[ModelFacts]) -> Iterator[Finding]:
    if isinstance(facts, Unknown):
        yield stops(
            _INCOMPLETE,
            f"{folder}/config.json",
            f"what model lies in {folder} cannot be told: {facts.reason}",
            [at(facts.reason, folder)],
            [Manual("Name the folder that holds the model's config.json"), _AGAIN],
        )


def _folder(folder: str, line: LaunchLine, files: Files, *, rehearsal: bool) -> Iterator[Finding]:
    facts = read_model(files, folder)
    yield from _configuration(folder, facts)
    try:
        names = files.names(folder)
    except OSError:
        return  # it was said above why the folder cannot be read
    if line.text("load_format") != "dummy":
        layers = 0 if isinstance(facts, Unknown) else facts.value.layers
        without = (_WITHOUT,) if rehearsal else ()
        yield from (
            replace(each, remedies=(*each.remedies, *without)) for each in _weights(folder, names, files, layers)
        )
    own = line.text("tokenizer_path") or line.switched_on("skip_tokenizer_init")
    if not own and not any(name.lower().startswith(_TOKENIZER) or name.endswith(_TOKENIZER) for name in names):
        yield stops(
            _INCOMPLETE,
            f"{folder}/tokenizer",
            f"{folder} holds no tokenizer",
            [at("no tokenizer.json, tokenizer.model, vocab.json or tekken.json", folder)],
            [_AGAIN, Manual("Name where it lies", ("--tokenizer-path FOLDER",))],
        )


def _weights(folder: str, names: list[str], files: Files, layers: int) -> Iterator[Finding]:
    missing = _missing(folder, names, files)
    if missing:
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        yield stops(
            _INCOMPLETE,
            f"{folder}/{missing[0]}",
            f"{len(missing)} weight files are missing: {', '.join(missing[:_MOST_NAMED])}{more}",
            [at(f"names {', '.join(missing[:_MOST_NAMED])}", f"{folder}/{INDEX}")],
            [_AGAIN, Manual("Links that point out of a mounted folder count as missing", (f"ls -lL {folder}",))],
        )
        return
    shards = [name for name in names if name.endswith(".safetensors")]
    if not shards and any(name.endswith(_OTHER_WEIGHTS) for name in names):
        return  # kinds of files that say nothing of their length
    try:
        read_weights(files, folder, Loading(layers))
    except Sm120kitError as error:
        yield stops(
            _INCOMPLETE, folder, f"the weights are not whole: {error.message}", [at(error.message, folder)], [_AGAIN]
        )


class _Index(msgspec.Struct):
    weight_map: dict[str, str]


def _missing(folder: str, names: list[str], files: Files) -> list[str]:
    """Files that the index names and that are not there; links that lead nowhere are not there."""
    if INDEX not in names:
        return []
    try:
        index = msgspec.json.decode(files.read(f"{folder}/{INDEX}", _LONGEST_INDEX), type=_Index)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return []  # what is wrong with it is said when the weights are read
    named = dict.fromkeys(index.weight_map.values())
    return [name for name in named if "/" not in name and not files.is_file(f"{folder}/{name}")]
