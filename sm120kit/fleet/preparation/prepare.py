"""Reads what a launch needs to know, and makes its spec: all that happens before preflight asks its questions."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping

from msgspec.structs import replace

from sm120kit.diagnosis.case import Case, NamedGpu, Request
from sm120kit.engines.sglang.arguments import secrets_in
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.api_key import api_key_words
from sm120kit.fleet.order.order import Order
from sm120kit.fleet.preparation.choose_gpus import choose_gpus
from sm120kit.fleet.preparation.forecast import Forecast, forecasts
from sm120kit.fleet.preparation.gpus_of import refuse_split
from sm120kit.fleet.preparation.make_spec import Ground, make_spec, replica_groups
from sm120kit.fleet.preparation.model_place import ModelPlace, place_model
from sm120kit.fleet.preparation.open_files import open_files
from sm120kit.fleet.preparation.remarks import remarks_of
from sm120kit.fleet.preparation.settle_arguments import Settled, refuse_without_model, settle_arguments, settled
from sm120kit.fleet.preparation.target_read import TargetRead
from sm120kit.fleet.preparation.warm_key import warm_key
from sm120kit.fleet.process.hide_arguments import hide_arguments
from sm120kit.fleet.rehearsal import built_in
from sm120kit.fleet.spec import FleetSpec, Gpu
from sm120kit.fleet.state import fleets_home
from sm120kit.fleet.supervision.command import secrets_as_yaml
from sm120kit.fleet.types import Struct
from sm120kit.snapshot.facts import Fact, Known, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.model_dir import read_model
from sm120kit.snapshot.model_facts import ModelFacts

_GIB = 1 << 30


class Prepared(Struct, frozen=True):
    """A launch that could begin, as far as preflight agrees."""

    order: Order
    spec: FleetSpec
    case: Case
    """The target with the launch line, for the doctor."""
    found: tuple[Gpu, ...]
    """All GPUs, chosen or not."""
    forecasts: tuple[Forecast, ...]
    """One for each replica; empty where none could be made."""
    place: ModelPlace
    """Of the model as it was named, before staging."""


def prepare(order: Order, environment: Mapping[str, str] | None = None) -> Prepared:
    """Read the target and make the spec. ``environment``: the caller's, else that of this process.

    Raises:
        Sm120kitError: the order cannot be met as it stands, with the reason; or the target cannot be examined.
    """
    caller = dict(os.environ if environment is None else environment)
    order = replace(order, arguments=(*order.arguments, *api_key_words(order, caller)))
    if not order.rehearse:
        refuse_without_model(order)  # said before an environment is looked for
    read = _read(order, caller)
    settled_arguments = settle_arguments(order, read.version, read.version_source)
    invented = order.rehearse and settled_arguments.model == built_in.NAME
    if invented and "max_running_requests" not in settled_arguments.line.given:
        order = replace(order, arguments=(*order.arguments, "--max-running-requests", str(built_in.REQUESTS)))
        settled_arguments = settle_arguments(order, read.version, read.version_source)
    variables = {**caller, **read.environment}
    line = settled_arguments.line
    gpus = () if settled_arguments.on_cpu else choose_gpus(order.gpus, read.gpus)
    refuse_split(read.snapshot, gpus)
    groups = replica_groups(order, settled_arguments, gpus)
    with open_files() as files:
        place = (
            ModelPlace(built_in.NAME, "folder", built_in.FOLDER)
            if invented
            else place_model(settled_arguments.model, variables, line.text("revision"), files)
        )
        if place.kind == "file" and place.folder.endswith(".json") and _weights_as_given(order):
            place = replace(place, kind="folder")  # a config.json under any name, as plan takes one
        folder = place.folder if place.kind != "file" else ""
        weights = built_in.WEIGHTS if invented else _weights_as_given(order)
        plans = (
            forecasts(folder, line, groups, read.gpus, files, environment=variables, weights=weights)
            if gpus and folder
            else ()
        )
        facts = read_model(files, folder) if folder else None
        config = _config_text(place, files)
    staged = _staged(order, place, settled_arguments)
    spec = make_spec(
        order,
        Ground(
            settled=staged,
            python=read.python,
            gpus=gpus,
            forecasts=plans,
            environment=read.environment,
            unset=read.unset,
            warm_key=""
            if order.rehearse and not gpus
            else warm_key(
                read.snapshot,
                line,
                compute_capabilities=tuple(gpu.compute_capability for gpu in gpus),
                model_config=config,
                environment=variables,
            ),
        ),
    )
    spec = replace(spec, remarks=remarks_of(place, plans, rehearsal=order.rehearse))
    if order.rehearse:
        from sm120kit.fleet.preparation.read_rehearsal import refuse_faults_of_nobody

        refuse_faults_of_nobody(spec)
    secrets = secrets_in(spec.arguments, spec.sglang)
    hide_arguments(secrets.values())
    secrets_as_yaml(secrets)
    _refuse_what_is_no_text(spec)
    case = _case(order, read, settled_arguments, gpus, facts)
    return Prepared(order, spec, case, read.gpus, plans, place)


def _refuse_what_is_no_text(spec: FleetSpec) -> None:
    """The spec and the state are JSON, which holds text and no other bytes."""
    named = [
        ("the model's name", spec.model),
        ("--served-model-name", spec.served_model_name),
        ("--log-dir", spec.log_folder),
        ("the place for state, XDG_STATE_HOME or the home folder,", fleets_home()),
        ("the folder for temporary files, TMPDIR,", tempfile.gettempdir()),
        *(("an argument of SGLang", word) for word in spec.arguments),
        *((f"the variable {name}", value) for name, value in spec.environment.items()),
    ]
    # The value itself may be a secret.
    if what := next((what for what, value in named if _holds_other_bytes(value)), ""):
        raise Sm120kitError(
            f"{what} holds bytes that are no UTF-8, and a fleet cannot be described with them",
            hint="Take another name for it",
        )


def _holds_other_bytes(value: str) -> bool:
    """Whether it is no text: bytes that are no UTF-8 reach a program as lone surrogates."""
    return any("\ud800" <= letter <= "\udfff" for letter in value)


def _read(order: Order, caller: Mapping[str, str]) -> TargetRead:
    """Each way of reading is loaded where it is needed: a rehearsal does without what examines a machine."""
    if order.rehearse:
        from sm120kit.fleet.preparation.read_rehearsal import read_rehearsal

        return read_rehearsal(order)
    from sm120kit.fleet.preparation.read_target import read_target

    return read_target(order, caller)


def _weights_as_given(order: Order) -> int | None:
    """Bytes on each GPU, where a rehearsal is told of them; else they are read."""
    return round(order.rehearsal.weights_gib * _GIB) if order.rehearse and order.rehearsal.weights_gib else None


def _staged(order: Order, place: ModelPlace, given: Settled) -> Settled:
    """The arguments as they are once the model lies on the RAM disk; clients go on using its old name."""
    if not order.stage:
        return given
    from sm120kit.fleet.preparation.staging import staged_path

    if not place.folder:
        raise Sm120kitError(
            f"--stage copies a model that lies on this machine, and {given.model} does not",
            hint="Download it first, or name its folder",
        )
    return settled(
        given.arguments,
        given.line.version,
        given.line.version_source,
        model=staged_path(order.stage, place.folder),
        served_model_name=given.served_model_name or given.model,
        host=given.host,
    )


def _config_text(place: ModelPlace, files: Files) -> bytes:
    if place.folder:
        try:
            return files.read(f"{place.folder}/config.json")
        except OSError:
            pass
    return place.name.encode("utf-8", "surrogateescape")


def _case(
    order: Order, read: TargetRead, given: Settled, gpus: tuple[Gpu, ...], facts: Fact[ModelFacts] | None
) -> Case:
    """The target with the launch line; of its GPUs those that servers are started on."""
    named: tuple[NamedGpu, ...] = ()
    if order.rehearse:
        from sm120kit.fleet.preparation.read_rehearsal import hardware_used

        named = hardware_used(order, gpus)
    request = Request(gpus=named, launch=given.line, model=facts)
    snapshot = read.snapshot
    known = snapshot.driver.gpus
    if not order.rehearse and not isinstance(known, Unknown):
        chosen = {gpu.uuid for gpu in gpus}
        kept = tuple(gpu for gpu in known.value if gpu.uuid in chosen)
        snapshot = replace(snapshot, driver=replace(snapshot.driver, gpus=Known(kept, known.source)))
    return Case(snapshot, request)
