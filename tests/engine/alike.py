"""A stand-in of the rehearsal beside a genuine server that runs: the same fields and types, the same log lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sm120kit.fleet.rehearsal.settings import recorded
from sm120kit.fleet.rehearsal.shapes import differences, merged
from sm120kit.fleet.spec import Expectation, FleetSpec, Rehearsal, ReplicaSpec
from tests.engine.servers import Running
from tests.fleet.rehearsal.stand_ins import free_port, started
from tools.record_sglang_answers import QUESTIONS, answer_of, log_forms, parts_of

_OWN = "rehearsal: not in the genuine answer"
_NOT_ALIKE = (
    "meta_info.cached_tokens_details: null instead of an object",  # a stand-in caches nothing
    "nccl_port: int instead of null",  # a fleet gives one, and the genuine server here has none
    "choices.matched_stop: int instead of null",  # weights that are made up pick the end's token now and then
    "choices.matched_stop: int|null instead of null",
)


def check_stand_in(running: Running, version: str, model: Path, arguments: Sequence[str], folder: Path) -> None:
    """Ask both everything that was recorded.

    The genuine answer must fit the record, or the record is of another SGLang; the stand-in's must fit both. 0.5.12
    never ends after a request that is too long, so it is not asked for one here.
    """
    known = recorded()[version]
    questions = [each for each in QUESTIONS if version != "0.5.12" or not each.name.endswith("too_long")]
    genuine = {each.name: answer_of(parts_of(running.address), each) for each in questions}
    replica = ReplicaSpec(0, free_port(), free_port(), (), Expectation(4, 8192))
    spec = FleetSpec(
        name="alike",
        model=str(model),
        replicas=(replica,),
        sglang=version,
        python="",
        arguments=(*arguments, "--device", "cpu", "--skip-server-warmup"),
        rehearsal=Rehearsal(0.1),
    )
    with started(spec, folder) as stand_in:
        stand_in.ready()
        imitated = {each.name: answer_of(("127.0.0.1", stand_in.port), each) for each in questions}
        imitated_log = stand_in.log
    wrong = []
    for name, (status, shape) in genuine.items():
        record = known["answers"][name]
        wrong += [f"{name}: {each} (in the genuine answer, beside the record)" for each in _new(record["shape"], shape)]
        both = merged(record["shape"], shape)
        wrong += [f"{name}: {each} (in the stand-in)" for each in _new(both, imitated[name][1])]
        statuses = {record["status"], status, imitated[name][0]}
        wrong += [f"{name}: statuses {sorted(statuses)}"] if len(statuses) > 1 else []
    genuine_forms = [*known["log"], *log_forms(running.log.read_text("utf-8", "replace").splitlines())]
    said = dict.fromkeys(log_forms(imitated_log.splitlines()))
    wrong += [f"log: {form}" for form in said if form not in genuine_forms and '- "' not in form]
    assert not wrong, "\n".join(wrong)


def _new(wanted: object, seen: object) -> list[str]:
    found = [each.removeprefix("internal_states.") for each in differences(wanted, seen)]
    return [each for each in found if not each.endswith(_OWN) and each not in _NOT_ALIKE]
