"""``sm120kit plan``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from sm120kit.cli.launch_options import newest_version, sglang_version
from sm120kit.cli.options import option, subcommand
from sm120kit.cli.output import terminal, write_result
from sm120kit.cli.target_options import Asked, target_options
from sm120kit.cli.text_option import output_option, text_option
from sm120kit.errors import FINDINGS, GOOD, Sm120kitError

if TYPE_CHECKING:
    from sm120kit.capacity.machine import Machine
    from sm120kit.capacity.types import Plan
    from sm120kit.diagnosis.case import NamedGpu
    from sm120kit.diagnosis.launch import LaunchLine
    from sm120kit.engines.sglang.observed import Observed
    from sm120kit.snapshot.types.snapshot import Snapshot

_GIB = 1 << 30

EPILOG = """\b
Examples:
  sm120kit plan /models/qwen -- --max-running-requests 128 --mem-fraction-static 0.85
      on the GPUs of this machine, for the SGLang installed here
  sm120kit plan config.json --weights-gib 51 --gpu b200x7 --free-gib 177.5 --sglang 0.5.11
      before anything is bought, downloaded or loaded
  sm120kit plan /models/qwen --check http://127.0.0.1:30000
      beside a running server; a start-up log does as well

Exit codes: 0 the server will start, 1 it will not or serves no such request, 2 wrong usage or nothing to plan with,
3 a fault of sm120kit itself, 4 a server or log to check against cannot be read.
"""


@subcommand(epilog=EPILOG)
@click.argument("words", metavar="MODEL [-- SGLANG ARGS]", nargs=-1, type=click.UNPROCESSED)
@target_options(takes_snapshot=True)
@text_option("--sglang", metavar="VERSION", help="Plan for this SGLang; else the one installed.")
@option("--free-gib", metavar="X", type=float, default=None, help="Memory free on each GPU before loading.")
@option(
    "--weights-gib",
    metavar="X",
    type=float,
    default=None,
    help="Weights that each GPU holds; no checkpoint is read.",
)
@option(
    "--need-tokens-per-request",
    metavar="N",
    type=click.IntRange(min=1),
    default=None,
    help="Tokens that every request must be able to hold.",
)
@option("--assume-version", is_flag=True, help="Plan for an unknown SGLang as for the known one before it.")
@text_option("--check", "check", metavar="URL|LOG", help="Compare with a server or its start-up log.")
@option("--json", "as_json", is_flag=True, help="Print the data (sm120kit.plan/1) alone.")
@output_option("Write the plan to this file.")
def command(
    *,
    words: Sequence[str],
    target: Asked,
    sglang: str,
    free_gib: float | None,
    weights_gib: float | None,
    need_tokens_per_request: int | None,
    assume_version: bool,
    check: str,
    as_json: bool,
    output: str,
) -> int:
    """Say how many requests a server will really run at a time, before a byte is loaded.

    MODEL is a folder with config.json and safetensors files, of which only the headers are read, or a config.json with
    --weights-gib. SGLang's arguments follow after -- as they would be typed.
    """
    from sm120kit.capacity.inputs import Named, known_model, make_order
    from sm120kit.capacity.plan import make_plan
    from sm120kit.cli.plan_missing import holds_weights, refuse_missing
    from sm120kit.snapshot.target_files import open_files

    model, arguments = (words[0], words[1:]) if words and not words[0].startswith("-") else ("", tuple(words))
    request = target.request()
    options = target.options
    files = open_files(options.image_archive or options.root, archive=bool(options.image_archive))
    if not model and not arguments and not check:
        raise _no_model()
    typed = _typed_model(arguments)
    if model and typed not in ("", model):
        raise Sm120kitError(f"the model is named twice: {model} and {typed}", hint="Name it once")
    if model or typed:
        known_model(model or typed, files)  # a wrong path is said first, whatever else is missing
    seen = _observed(check) if check else None
    hardware_known = bool(request.gpus or (seen and seen.free_before))
    version_known = bool(sglang or (seen and seen.version and seen.version_exact))
    snapshot = None if hardware_known and version_known else target.read()
    refuse_missing(
        snapshot,
        version=version_known or bool(seen and seen.version),
        gpus=hardware_known,
        weights=weights_gib is not None or holds_weights(model or typed, files),
    )
    version, source, assumptions = _version(sglang, seen, snapshot)
    line = _line(arguments, version, source, seen)
    model = model or line.model_path
    if not model:
        raise _no_model()
    named = Named(
        model=model,
        line=line,
        machine=_machine(request.gpus, snapshot, seen, _bytes("--free-gib", free_gib)),
        weights=_bytes("--weights-gib", weights_gib),
        tokens_each=need_tokens_per_request,
        assume=assume_version,
        assumptions=assumptions,
        environment=dict(os.environ),
    )
    order = make_order(named, files)
    plan = make_plan(order)
    if seen:
        from sm120kit.capacity.compare import compare

        plan = replace(plan, check=compare(order.server, seen), notes=(*_contradiction(sglang, seen), *plan.notes))
    write_result(_rendered(plan, output, as_json=as_json), output)
    return FINDINGS if plan.predicted.failure or plan.unfit else GOOD


def _typed_model(arguments: Sequence[str]) -> str:
    """What --model-path names, read before it is known whose flags these are."""
    for word, following in zip(arguments, (*arguments[1:], ""), strict=False):
        name, equals, value = word.partition("=")
        if name in ("--model-path", "--model"):
            return value if equals else following
    return ""


def _no_model() -> Sm120kitError:
    return Sm120kitError("no model was named", hint="Name its folder, as in: sm120kit plan /models/qwen")


def _bytes(option: str, gib: float | None) -> int | None:
    if gib is None:
        return None
    if not 0 < gib < 1 << 20:
        raise Sm120kitError(f"{option} {gib:g} is no size of memory", hint="Give GiB (2^30 bytes), as in 94.16")
    return round(gib * _GIB)


def _machine(gpus: tuple[NamedGpu, ...], snapshot: Snapshot | None, seen: Observed | None, free: int | None) -> Machine:
    """The GPUs named, else the one whose free memory a log tells, else those of the target."""
    from sm120kit.capacity.machine import machine_of_log, machine_of_names, machine_of_snapshot

    if gpus:
        return machine_of_names(gpus, free)
    if seen and seen.free_before:
        return machine_of_log(free or seen.free_before)
    if snapshot is None:
        raise Sm120kitError("no GPU to plan for", hint="Name one, as in: --gpu rtx-pro-6000x8")
    return machine_of_snapshot(snapshot, free)


def _line(arguments: Sequence[str], version: str, source: str, seen: Observed | None) -> LaunchLine:
    """The launch line as typed; without one, that of the server to compare with, from its own record."""
    from sm120kit.engines.sglang import read_launch_line

    line = read_launch_line(arguments, version, source)
    if seen and not arguments and seen.settings:
        known = {name: value for name, value in seen.settings.items() if name in line.defaults}
        asked = {name: value for name, value in known.items() if value != line.defaults[name]}
        line = replace(
            line, given=asked, typed={name: f"{name}={value} of {seen.source}" for name, value in asked.items()}
        )
    return line


def _version(sglang: str, seen: Observed | None, snapshot: Snapshot | None) -> tuple[str, str, tuple[str, ...]]:
    """The version, who tells it, and what is assumed of it: the one named, that of the server to compare with, the one
    installed, or the one that the form of the log belongs to."""
    if sglang:
        return sglang.removeprefix("v"), f"--sglang {sglang}", ()
    if seen and seen.version and seen.version_exact:
        return seen.version, seen.source, ()
    if snapshot is None:
        hint = f"Say it, as in --sglang {newest_version()}"
        raise Sm120kitError("which SGLang is planned for is not known", hint=hint)
    try:
        return *sglang_version(snapshot, ""), ()
    except Sm120kitError:
        if not seen or not seen.version:
            raise
    return seen.version, seen.source, (f"SGLang {seen.version}: {_told(seen)}; say another with --sglang",)


def _told(seen: Observed) -> str:
    if not seen.version_line:
        return f"{seen.source} says so"
    where = f"line {seen.version_line} of {seen.source}"
    return f"{where} says so" if seen.version_exact else f"{where} has the form that this version gives it"


def _contradiction(sglang: str, seen: Observed) -> tuple[str, ...]:
    """What is to be said where another version was named than the one that was compared with."""
    from sm120kit.diagnosis.logs.told import WITH_FORM

    named = sglang.removeprefix("v")
    if not named or seen.version in ("", named) or not (seen.version_exact or named in WITH_FORM):
        return ()
    seems = "is" if seen.version_exact else "seems to be"
    compared = f"what it is compared with {seems} {seen.version}: {_told(seen)}"
    return (f"planned for SGLang {named} (--sglang), and {compared}",)


def _observed(check: str) -> Observed:
    """What the server says at its address, or said in its log.

    Raises:
        Sm120kitError: it cannot be reached or read, or says nothing of its capacity.
    """
    from sm120kit.engines.sglang.client import get_json
    from sm120kit.engines.sglang.endpoints import read_loads, read_server_info

    if check.startswith(("http://", "https://")):
        info = read_server_info(get_json(check, "/server_info"), f"{check.rstrip('/')}/server_info")
        if info.granted is not None:
            return info
        loads = read_loads(get_json(check, "/v1/loads"), f"{check.rstrip('/')}/v1/loads")
        return replace(info, granted=loads.granted)
    return _observed_in_log(check)


def _observed_in_log(path: str) -> Observed:
    from sm120kit.diagnosis.logs.opening import open_log
    from sm120kit.engines.sglang.startup_log import lines_of, read_startup_log

    name = "standard input" if path == "-" else path
    with open_log(path) as stream:
        seen = read_startup_log(lines_of(iter(lambda: stream.read(1 << 20), b"")), name)
    if seen.granted is None and not seen.failure and seen.weights is None:
        raise Sm120kitError(
            f"{name} holds no line of SGLang's start-up that speaks of memory",
            hint="Give the log from the server's first line on",
        )
    return seen


def _rendered(plan: Plan, output: str, *, as_json: bool) -> str | bytes:
    if as_json:
        from sm120kit.text import encode_json

        return encode_json(plan)
    from sm120kit.report.plan import render_plan

    width, colour = terminal(output)
    return render_plan(plan, width=width, colour=colour)
