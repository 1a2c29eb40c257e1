"""Reads what a launch needs to know, and makes its spec: all that happens before preflight asks its questions."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from sm120kit.diagnosis.case import Case, NamedGpu, Request
from sm120kit.diagnosis.hardware import parse_gpus
from sm120kit.diagnosis.versions import version_key
from sm120kit.engines.sglang.arguments import secrets_in
from sm120kit.engines.sglang.flags import versions
from sm120kit.environment import applied
from sm120kit.environment.reading import read_healthy
from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.fleet.choose_gpus import choose_gpus
from sm120kit.fleet.forecast import Forecast, forecasts
from sm120kit.fleet.gpus_of import gpus_of, refuse_split
from sm120kit.fleet.make_spec import Ground, make_spec, replica_groups
from sm120kit.fleet.model_place import ModelPlace, place_model
from sm120kit.fleet.open_files import open_files
from sm120kit.fleet.order import Order
from sm120kit.fleet.process.hide_arguments import hide_arguments
from sm120kit.fleet.settle_arguments import Settled, settle_arguments, settled
from sm120kit.fleet.spec import FleetSpec, Gpu
from sm120kit.fleet.types import Struct
from sm120kit.fleet.unread import unread_snapshot
from sm120kit.fleet.warm_key import warm_key
from sm120kit.snapshot.collect import take_snapshot
from sm120kit.snapshot.environment import read_environment
from sm120kit.snapshot.facts import Fact, Known, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.model_dir import read_model
from sm120kit.snapshot.model_facts import ModelFacts
from sm120kit.snapshot.target import TargetOptions
from sm120kit.snapshot.types import Snapshot


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


class _Read(Struct, frozen=True):
    """What was read of the target."""

    snapshot: Snapshot
    python: str
    version: str
    version_source: str
    gpus: tuple[Gpu, ...]
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    unset: tuple[str, ...] = ()


def prepare(order: Order, environment: Mapping[str, str] | None = None) -> Prepared:
    """Read the target and make the spec. ``environment``: the caller's, else that of this process.

    Raises:
        Sm120kitError: the order cannot be met as it stands, with the reason; or the target cannot be examined.
    """
    caller = dict(os.environ if environment is None else environment)
    order = replace(order, arguments=(*order.arguments, *_api_key(order, caller)))
    read = _read_rehearsal(order) if order.rehearse else _read_target(order, caller)
    settled_arguments = settle_arguments(order, read.version, read.version_source)
    variables = {**caller, **read.environment}
    line = settled_arguments.line
    gpus = () if settled_arguments.on_cpu else choose_gpus(order.gpus, read.gpus)
    refuse_split(read.snapshot, gpus)
    groups = replica_groups(order, settled_arguments, gpus)
    with open_files() as files:
        place = place_model(settled_arguments.model, variables, line.text("revision"), files)
        folder = place.folder if place.kind != "file" else ""
        plans = forecasts(folder, line, groups, read.gpus, files) if gpus and folder else ()
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
    _refuse_faults_of_nobody(spec)
    hide_arguments(secrets_in(spec.arguments, spec.sglang).values())
    case = _case(order, read, settled_arguments, gpus, facts)
    return Prepared(order, spec, case, read.gpus, plans, place)


def _read_target(order: Order, caller: Mapping[str, str]) -> _Read:
    target = order.target
    file = read_environment(target.env_file, 0)[0] if target.env_file else {}
    base = {**caller, **file, **order.environment}
    options = TargetOptions(
        python=target.python,
        cuda_home=target.cuda_home,
        system_toolkits=not target.no_system_toolkits,
        variables=base,
        deep=target.deep,
    )
    healthy = read_healthy(options, Request(), target.data_dir)
    wanted = applied(healthy.environment, base)
    # What the servers will have is what is judged: a fault that the variables mend stops nothing.
    snapshot = healthy.case.snapshot if wanted == base else take_snapshot(replace(options, variables=wanted))
    interpreter = snapshot.interpreter
    if not isinstance(interpreter, Known):
        raise Sm120kitError(
            f"the target has no interpreter to run a server in: {interpreter.reason}",
            hint="Name it with --python",
            exit_code=TARGET_UNREADABLE,
        )
    sglang = healthy.case.distribution("sglang")
    if sglang is None:
        raise Sm120kitError(
            f"no SGLang is installed in {snapshot.target.path} ({snapshot.target.why})",
            hint="Name the environment that holds it with --python; without one: sm120kit launch --rehearse",
            exit_code=TARGET_UNREADABLE,
        )
    return _Read(
        snapshot=snapshot,
        python=interpreter.value.executable,
        version=sglang.version,
        version_source=sglang.path,
        gpus=gpus_of(snapshot),
        environment={name: value for name, value in wanted.items() if caller.get(name) != value},
        unset=tuple(sorted(caller.keys() - wanted.keys())),
    )


def _read_rehearsal(order: Order) -> _Read:
    from sm120kit.fleet.rehearsal.gpus import simulated_gpus

    if order.rehearsal.sglang and version_key(order.rehearsal.sglang) is None:
        raise Sm120kitError(f"--sglang {order.rehearsal.sglang} is no version", hint="Write it as 0.5.12")
    named = order.rehearsal.sglang.removeprefix("v")
    return _Read(
        snapshot=unread_snapshot(),
        python=sys.executable,
        version=named or versions()[-1],
        version_source=f"--sglang {named}" if named else "the newest version known here",
        gpus=simulated_gpus(order.rehearsal.gpu),
        environment=dict(order.environment),
    )


def _refuse_faults_of_nobody(spec: FleetSpec) -> None:
    if spec.rehearsal is None:
        return
    from sm120kit.fleet.rehearsal.faults import parse_fault

    for text in spec.rehearsal.faults:
        fault = parse_fault(text)
        if fault.replica is not None and fault.replica >= len(spec.replicas):
            raise Sm120kitError(
                f"--fault {text}: there is no server {fault.replica}",
                hint=f"They are counted from 0 to {len(spec.replicas) - 1}",
            )


def _api_key(order: Order, caller: Mapping[str, str]) -> tuple[str, ...]:
    """The key from where the order says that it is kept."""
    if order.api_key_variable:
        key = caller.get(order.api_key_variable, "")
        where = f"the variable {order.api_key_variable}"
    elif order.api_key_file:
        where = order.api_key_file
        try:
            key = Files().text(where, 1 << 16).strip()
        except OSError as error:
            raise Sm120kitError(
                f"the file of the API key cannot be read: {where}: {error.strerror}", exit_code=TARGET_UNREADABLE
            ) from error
    else:
        return ()
    if not key or len(key.split()) != 1:
        raise Sm120kitError(f"{where} holds no API key: one word is expected", hint="Write the key there and no more")
    return (f"--api-key={key}",)


def _staged(order: Order, place: ModelPlace, given: Settled) -> Settled:
    """The arguments as they are once the model lies on the RAM disk; clients go on using its old name."""
    if not order.stage:
        return given
    from sm120kit.fleet.staging import staged_path

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


def _case(order: Order, read: _Read, given: Settled, gpus: tuple[Gpu, ...], facts: Fact[ModelFacts] | None) -> Case:
    """The target with the launch line; of its GPUs those that servers are started on."""
    request = Request(
        gpus=_named(parse_gpus(order.rehearsal.gpu), gpus) if order.rehearse and gpus else (),
        launch=given.line,
        model=facts,
    )
    snapshot = read.snapshot
    known = snapshot.driver.gpus
    if not order.rehearse and not isinstance(known, Unknown):
        chosen = {gpu.uuid for gpu in gpus}
        kept = tuple(gpu for gpu in known.value if gpu.uuid in chosen)
        snapshot = replace(snapshot, driver=replace(snapshot.driver, gpus=Known(kept, known.source)))
    return Case(snapshot, request)


def _named(all_named: tuple[NamedGpu, ...], gpus: tuple[Gpu, ...]) -> tuple[NamedGpu, ...]:
    """Of the hardware of a rehearsal as much as is used."""
    used: list[NamedGpu] = []
    first = 0
    for named in all_named:
        number = sum(first <= gpu.index < first + named.count for gpu in gpus)
        first += named.count
        if number:
            used.append(replace(named, count=number))
    return tuple(used)
