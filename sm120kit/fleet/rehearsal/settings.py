"""Server arguments as /server_info of one version shows them, from the words of a launch line.

The names come from answers that were recorded of genuine servers (``recorded.json``), the values from the table of
flags. This costs too much for the start of a stand-in, so it is done when its profile is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sm120kit.diagnosis.launch import LaunchLine, refuse
from sm120kit.diagnosis.versions import version_key
from sm120kit.engines.sglang import flag_table, read_launch_line
from sm120kit.engines.sglang.arguments import SECRET_SETTINGS, without
from sm120kit.fleet.rehearsal.shapes import Shape, blank, fits
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.model_dir import read_model

RECORDED = Path(__file__).parent / "recorded.json"

OF_EACH_REPLICA = ("--model-path", "--served-model-name", "--host", "--port", "--nccl-port", "--random-seed",
                   "--tp-size", "--mem-fraction-static", "--chunked-prefill-size", "--max-running-requests",
                   "--context-length", "--api-key", "--admin-api-key", "--config", "--enable-metrics")  # fmt: skip
"""Flags that a fleet sets itself, or that a stand-in acts on."""

NOT_SETTINGS = frozenset({"status", "max_total_num_tokens", "max_req_input_len", "internal_states", "version",
                          "startup_time", "launch_command", "kv_events", "frontend",
                          "hicache_object_layout"})  # fmt: skip
"""What /server_info tells beside the server arguments."""

RESOLVED: dict[str, Any] = {
    "attention_backend": "flashinfer",
    "sampling_backend": "flashinfer",
    "grammar_backend": "xgrammar",
    "device": "cuda",
    "page_size": 1,
    "mem_fraction_static": 0.858,
    "chunked_prefill_size": 8192,
    "mamba_full_memory_ratio": 0.9,
    "swa_full_tokens_ratio": 0.8,
    "cuda_graph_max_bs": 256,
    "piecewise_cuda_graph_max_tokens": 8192,
    "context_length": None,
    "max_total_tokens": None,
}
"""What a server makes of arguments that are not given."""

_TYPES = {"int": "int", "float": "float", "": "str"}
_CONTEXT = 32_768


class Resolved(NamedTuple):
    """What the arguments come to."""

    wording: str
    arguments: tuple[str, ...]
    settings: dict[str, Any]
    flags: dict[str, tuple[str, str]]
    architecture: str
    context: int
    embedding: dict[str, Any]


def resolve(arguments: Sequence[str], version: str, model: str) -> Resolved:
    """Resolve the arguments of a launch line, without its secrets, for a model's folder or name.

    Raises:
        Sm120kitError: this version would not take the arguments.
    """
    public = without(arguments, SECRET_SETTINGS, version)
    line = read_launch_line(public, version)
    refuse(line.problems)
    wording = recorded_version(version)
    names = argument_shapes(wording)
    settings = {name: RESOLVED.get(name, blank(shape)) for name, shape in names.items()}
    values = {**line.defaults, **line.given}
    own_names = _own_names(wording)
    for dest, value in values.items():
        name = own_names.get(dest, dest)
        plain = list(value) if isinstance(value, tuple) else value
        if name in names and name not in SECRET_SETTINGS and (dest in line.given or fits(names[name], plain)):
            settings[name] = plain
    facts = read_model(Files(), model)
    longest = facts.value.max_positions if isinstance(facts, Known) else 0
    settings |= {"model_path": model, "tokenizer_path": settings.get("tokenizer_path") or model}
    return Resolved(
        wording=wording,
        arguments=public,
        settings=settings,
        flags=_flags(line, wording, names),
        architecture=facts.value.architecture if isinstance(facts, Known) else "Qwen3ForCausalLM",
        context=settings.get("context_length") or longest or _CONTEXT,
        embedding=blank(recorded()[wording]["answers"]["model_info"]["shape"].get("embedding", {})),
    )


@cache
def recorded() -> dict[str, dict[str, Any]]:
    """By version, what genuine servers answered and logged (made by tools/record_sglang_answers.py)."""
    found: dict[str, dict[str, Any]] = msgspec.json.decode(RECORDED.read_bytes())
    return found


def argument_shapes(version: str) -> dict[str, Shape]:
    """Every server argument of a recorded version, with the types that it had."""
    shape = recorded()[version]["answers"]["server_info"]["shape"]
    return {name: each for name, each in shape.items() if name not in NOT_SETTINGS}


def given_settings(words: Sequence[str], version: str) -> dict[str, Any]:
    """What these words set, by the names of this version; secrets are among them.

    Raises:
        Sm120kitError: this version would not take them.
    """
    line = read_launch_line(words, version)
    refuse(line.problems)
    own_names = _own_names(recorded_version(version))
    return {
        own_names.get(dest, dest): list(value) if isinstance(value, tuple) else value
        for dest, value in line.given.items()
        if dest != "config"
    }


def recorded_version(version: str) -> str:
    """The newest recorded version that is not after this one, else the oldest."""
    known = sorted(recorded(), key=lambda each: version_key(each) or ())
    wanted = version_key(version)
    return next((each for each in reversed(known) if wanted and (version_key(each) or ()) <= wanted), known[0])


def _own_names(version: str) -> dict[str, str]:
    """The setting's name in this version by its name in the newest one, where they differ."""
    names = argument_shapes(version)
    found = {}
    for spelling, flag in flag_table(version).flags.items():
        own = spelling.lstrip("-").replace("-", "_")
        if flag.dest not in names and own in names:
            found[flag.dest] = own
    return found


def _flags(line: LaunchLine, wording: str, names: dict[str, Shape]) -> dict[str, tuple[str, str]]:
    """Flags that need no reader of all flags: one plain value each, or none."""
    table, own_names = flag_table(line.read_as).flags, _own_names(wording)
    typed = [word.partition("=")[0] for word in line.arguments if word.startswith("--")]
    found = {}
    for spelling in dict.fromkeys((*OF_EACH_REPLICA, *typed)):
        flag = table.get(spelling)
        if flag is None or flag.deprecated or flag.choices or flag.kind not in ("value", "switch"):
            continue
        name = own_names.get(flag.dest, flag.dest)
        kind = "switch" if flag.kind == "switch" else _TYPES.get(flag.type, "")
        if kind and flag.takes in "01" and (name in names or name == "config"):
            found[spelling] = (name, kind)
    return found
