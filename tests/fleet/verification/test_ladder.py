"""The whole ladder against small servers: what is healthy passes, and every kind of fault is named."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.gpus import GpuMemory
from sm120kit.fleet.process.identity import identify
from sm120kit.fleet.spec import Expectation, Gpu, Limits
from sm120kit.fleet.types import ProcessId, Verdict
from sm120kit.fleet.verification import climb, ladder, load, stress
from sm120kit.fleet.verification.ladder import Outcome, Subject, verify
from tests.fleet.verification.stand_in import Handler, Server, answer, message, running

pytestmark = pytest.mark.rehearsal

FOUR = {"requested": 4, "expected": None}
PLANNED = Expectation(granted=37, tokens=200_000)


def verified(*servers: Server, subject: dict[str, Any] | None = None, **options: Any) -> Outcome:
    """What comes of verifying these; ``subject`` is changed of each."""

    async def run() -> Outcome:
        async with running(*servers):
            subjects = [Subject(i, each.url, requested=64, expected=PLANNED) for i, each in enumerate(servers)]
            subjects = [replace(each, **subject or {}) for each in subjects]
            return await verify(subjects, **{"level": "load", **options})

    return asyncio.run(run())


def verdict(outcome: Outcome, index: int, name: str) -> Verdict:
    """One verdict."""
    return next(each for each in outcome.replicas[index].verdicts if each.name == name)


def test_healthy_servers_are_verified_at_every_level() -> None:
    names = {
        "quick": ["model", "generation", "configuration", "concurrency", "memory"],
        "standard": ["model", "generation", "thinking", "configuration", "concurrency", "memory", "load"],
        "load": ["model", "generation", "thinking", "configuration", "concurrency", "memory", "load", "throughput"],
    }
    for level, expected in names.items():
        outcome = verified(*(Server() for _ in range(8)), level=level)
        assert outcome.verified
        assert [each.granted for each in outcome.replicas] == [37] * 8
        for each in outcome.replicas:
            assert [verdict.name for verdict in each.verdicts] == expected


def test_of_a_server_of_a_fleet_it_is_known_whether_it_has_ended() -> None:
    own = identify(os.getpid())
    assert own is not None
    for root, said in ((own, "starts or is just ending: nothing listens at"), (replace(own, started=1), "has ended")):
        outcome = asyncio.run(verify([Subject(0, "http://127.0.0.1:1", root=root, port=1)], level="quick"))
        model = verdict(outcome, 0, "model")
        assert model.passed is False
        assert said in model.evidence


def test_each_verdict_is_told_once_when_it_is_known() -> None:
    told: list[tuple[int, str]] = []
    on_verdict: Callable[[int, Verdict], None] = lambda index, verdict: told.append((index, verdict.name))  # noqa: E731
    outcome = verified(Server(), Server(), on_verdict=on_verdict)
    assert sorted(told) == sorted((each.index, one.name) for each in outcome.replicas for one in each.verdicts)


async def _silent(_request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(30)
    return web.Response()


async def _reset(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def test_a_hung_scheduler_ends_in_verdicts_and_holds_nobody_up() -> None:
    asks_the_scheduler = ("/server_info", "/v1/loads", "/v1/chat/completions", "/v1/completions", "/generate")
    hung = Server(handlers=dict.fromkeys(asks_the_scheduler, _silent))
    started = time.monotonic()
    outcome = verified(Server(), hung, Server(), limits=Limits(answer=3, verify=20))
    assert time.monotonic() - started < 15
    assert [each.verified for each in outcome.replicas] == [True, False, True]
    assert verdict(outcome, 1, "model").passed is True
    for name in ("generation", "configuration", "concurrency"):
        assert verdict(outcome, 1, name).passed is False
        assert "did not answer within 3 s" in verdict(outcome, 1, name).evidence
    assert verdict(outcome, 1, "load").passed is None


def test_the_whole_verification_has_a_limit() -> None:
    started = time.monotonic()
    slow = Server(handlers={"/v1/chat/completions": _silent, "/generate": _silent})
    outcome = verified(slow, limits=Limits(answer=60, verify=0.7))
    assert time.monotonic() - started < 9
    assert verdict(outcome, 0, "generation").passed is False


def test_what_is_left_of_the_time_is_all_that_a_step_gets() -> None:
    one = climb.Climb(Subject(0, "http://h"), climb.Wanted("quick", "auto", "", (), Limits(verify=0.05)), print)
    assert one.time_for(0.01) == 0.01
    assert 0.01 < one.time_for(60) <= 0.05
    time.sleep(0.06)
    assert one.time_for(60) == 0.001


HOSTILE: list[Handler] = [
    answer(None),
    answer([]),
    answer({}),
    answer("text"),
    answer({"choices": [], "loads": [], "data": {}, "internal_states": {}}),
    answer({"choices": [5], "loads": [5], "data": [5], "internal_states": [5], "version": 3, "meta_info": 3}),
    answer({"choices": [{"message": 1, "text": []}], "loads": [{"num_running_reqs": "x"}], "meta_info": {},
            "data": [{"id": None}], "version": "0.5.23", "max_total_num_tokens": "many",
            "internal_states": [{"model_path": [], "effective_max_running_requests_per_dp": "all"}]}),
    answer({"detail": "no"}, 500),
    _reset,
]  # fmt: skip


@pytest.mark.parametrize("handler", HOSTILE)
@pytest.mark.parametrize(
    ("path", "level"),
    [("/v1/models", "quick"), ("/model_info", "quick"), ("/server_info", "quick"), ("/v1/chat/completions", "quick"),
     ("/v1/loads", "load"), ("/generate", "load")],
)  # fmt: skip
def test_a_hostile_answer_costs_one_server_its_verdict_and_the_others_nothing(
    path: str, level: str, handler: Handler
) -> None:
    outcome = verified(Server(granted=4), Server(granted=4, handlers={path: handler}), level=level, subject=FOUR)
    assert outcome.replicas[0].verified
    assert not outcome.replicas[1].verified
    for each in outcome.replicas[1].verdicts:
        assert "Error:" not in each.evidence, each


def test_a_text_of_another_model() -> None:
    outcome = verified(Server(), Server(text="Bananas are rich in many things."), Server(), level="quick")
    assert [each.verified for each in outcome.replicas] == [True, False, True]
    assert "from the start" in verdict(outcome, 1, "generation").evidence


def test_another_answer_to_the_same_question() -> None:
    outcome = verified(Server(second_text="Bananas are rich in many things."), level="standard")
    assert "asked twice at temperature 0 it answers differently" in verdict(outcome, 0, "generation").evidence
    assert not outcome.verified


def test_a_model_without_a_chat_template() -> None:
    outcome = verified(Server(chat_template=False), level="standard")
    assert outcome.verified
    assert "the model has no chat template" in verdict(outcome, 0, "generation").evidence


def test_random_weights_are_asked_past_their_end() -> None:
    server = Server(settings={"load_format": "dummy"}, text="", tokens=1)

    async def rubbish(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        said = {"message": {"content": "\ufffd" * 90 if body.get("ignore_eos") else ""}, "finish_reason": "length"}
        return web.json_response({"choices": [said], "usage": {"completion_tokens": 96}})

    server.handlers["/v1/chat/completions"] = rubbish
    outcome = verified(server)
    assert outcome.verified
    assert "the weights are random" in verdict(outcome, 0, "generation").evidence


def test_thinking_as_configured() -> None:
    parser = {"reasoning_parser": "qwen3"}
    found = verdict(verified(Server(settings=parser)), 0, "thinking")
    assert found.passed is True
    assert 'reasoning_content, then the answer "51"' in found.evidence
    off = verified(Server(settings=parser, thinks=lambda _budget: message("51", None)), thinking="off")
    assert verdict(off, 0, "thinking").passed is True
    still = verified(Server(settings=parser), thinking="off")
    assert verdict(still, 0, "thinking").passed is False
    assert not still.verified
    without = verified(Server(), thinking="on")
    assert "Add --reasoning-parser" in verdict(without, 0, "thinking").evidence
    empty = verified(Server(settings=parser, thinks=lambda _budget: message("51", None)))
    assert "reasoning_content is empty" in verdict(empty, 0, "thinking").evidence
    assert not empty.verified


def test_thinking_gets_a_larger_budget_before_it_is_called_lost() -> None:
    budgets: list[int] = []

    def thinks(budget: int) -> dict[str, Any]:
        budgets.append(budget)
        return message("51", "hm") if budget > 2000 else message("", "hm", "length")

    server = Server(settings={"reasoning_parser": "qwen3", "max_req_input_len": 100_000}, thinks=thinks)
    assert verdict(verified(server, level="standard"), 0, "thinking").passed is True
    assert budgets == [1024, 4096]
    lost = Server(settings=server.settings, thinks=lambda _budget: message("", "hm", "length"))
    assert "lost to thinking" in verdict(verified(lost, level="standard"), 0, "thinking").evidence


def test_other_settings_than_the_sisters() -> None:
    outcome = verified(Server(), Server(state={"attention_backend": "flashinfer"}), Server(), level="quick")
    assert [each.verified for each in outcome.replicas] == [True, False, True]
    assert verdict(outcome, 1, "configuration").evidence == (
        'attention_backend is "flashinfer" here and "triton" at replicas 0, 2'
    )


def test_a_lower_grant() -> None:
    outcome = verified(Server(), Server(granted=18), level="quick")
    assert [each.verified for each in outcome.replicas] == [True, False]
    assert "requested 64 → predicted 37 → granted 18" in verdict(outcome, 1, "concurrency").evidence


def test_less_runs_together_than_is_granted() -> None:
    short = {"max_req_input_len": 200}
    healthy = Server(settings=short, token_s=0.01)
    outcome = verified(healthy, Server(settings=short, runs_at_most=20, token_s=0.0005))
    assert [each.verified for each in outcome.replicas] == [True, False]
    assert "20 were seen to run together" in verdict(outcome, 1, "load").evidence


def test_what_is_still_queued_while_as_many_run_as_are_granted() -> None:
    server = Server(token_s=0.0005, settings={"max_req_input_len": 200})

    async def loads(_request: web.Request) -> web.StreamResponse:
        busy = server.running > 0
        load = {"num_running_reqs": 37 if busy else 0, "num_waiting_reqs": 3 if busy else 0, "max_total_num_tokens": 1}
        return web.json_response({"loads": [load]})

    server.handlers["/v1/loads"] = loads
    outcome = verified(server)
    assert "37 were seen to run together, 3 still queued" in verdict(outcome, 0, "load").evidence
    assert not outcome.verified


def test_256_in_flight_at_a_server_that_grants_more() -> None:
    server = Server(granted=2048, token_s=0.005)
    outcome = verified(server, subject={"requested": 2048, "expected": None})
    assert outcome.verified
    assert server.most_seen == 256
    assert "256 requests of" in verdict(outcome, 0, "load").evidence
    assert "it grants 2048: the probe asks for at most 256" in verdict(outcome, 0, "load").evidence


def test_short_answers_are_made_longer_until_all_run_together() -> None:
    server = Server(token_s=0.0001)
    outcome = verified(server)
    assert outcome.verified
    lengths = {body["sampling_params"]["max_new_tokens"] for path, body in server.asked if path == "/generate"}
    assert len(lengths) > 1


def test_requests_of_others_do_not_fail_the_load() -> None:
    outcome = verified(Server(others=5))
    assert outcome.verified
    assert "5 requests of other clients" in verdict(outcome, 0, "load").evidence


@pytest.fixture(autouse=True)
def _measured_in_half_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stress, "MEASURED_S", 0.5)


def test_a_slow_one_is_measured_twice_and_longer_before_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stress, "MEASURED_S", 3600)
    monkeypatch.setattr(stress, "MOST_LONGER", 1.5)
    fast, sister, other = (Server(granted=4, token_s=0.004) for _ in range(3))
    outcome = verified(fast, sister, other, Server(granted=4, token_s=0.02), subject=FOUR)
    lengths = [body["sampling_params"]["max_new_tokens"] for path, body in fast.asked if path == "/generate"]
    assert sorted(set(lengths)) == [64, 96]
    assert [each.verified for each in outcome.replicas] == [True, True, True, False]
    assert verdict(outcome, 3, "throughput").evidence.startswith("slow, measured twice: ")


def test_one_that_was_slow_once_is_not_slow() -> None:
    once = Server(granted=4, token_s=0.03)

    async def then_fast(request: web.Request) -> web.StreamResponse:
        response = await once.generate(await request.json())
        once.token_s = 0.004
        return response

    once.handlers["/generate"] = then_fast
    outcome = verified(*(Server(granted=4, token_s=0.004) for _ in range(3)), once, subject=FOUR)
    assert outcome.verified
    assert sum(path == "/generate" for path, _ in once.asked) == 2 * 4


def test_an_answer_that_is_cut_short_under_load() -> None:
    server = Server()

    async def short(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if body["text"].startswith("003"):
            body["sampling_params"]["max_new_tokens"] -= 1
        return await server.generate(body)

    server.handlers["/generate"] = short
    found = verdict(verified(server), 0, "load")
    assert found.passed is False
    assert "1 of 37 requests of 64 tokens at once failed: 63 of 64 tokens were generated" in found.evidence


def test_a_fault_of_ours_in_one_verdict_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: object) -> Verdict:
        raise RuntimeError("of ours")

    monkeypatch.setattr(climb, "judge_model", broken)
    outcome = verified(Server(), Server())
    assert not outcome.verified
    for index in range(2):
        found = {each.name: each.passed for each in outcome.replicas[index].verdicts}
        assert found == {"model": None, "generation": True, "thinking": None, "configuration": True,
                         "concurrency": True, "memory": None, "load": True, "throughput": True}  # fmt: skip
        assert 'could not be judged: RuntimeError: "of ours"' in verdict(outcome, index, "model").evidence


def test_a_fault_of_ours_under_load_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "_fault", lambda *_: 1 / 0)
    outcome = verified(Server(), Server())
    assert verdict(outcome, 0, "load").passed is False
    assert "ZeroDivisionError" in verdict(outcome, 0, "load").evidence
    assert verdict(outcome, 0, "generation").passed is True


class Reader:
    """Reads made-up memory."""

    def __init__(self, read: Callable[[], dict[str, GpuMemory]]) -> None:
        self.read = read


def test_memory_is_read_or_it_is_said_why_not() -> None:
    gpu = Gpu("GPU-0", 0, "RTX PRO 6000", "12.0", 96 << 30, 1 << 30)
    subject = {"gpus": (gpu,), "expected": Expectation(37, 1000, 82 << 30)}
    used = {"GPU-0": GpuMemory(83 << 30, 96 << 30)}
    outcome = verified(Server(), subject=subject, gpu_reader=Reader(lambda: used), level="quick")
    assert outcome.verified
    assert outcome.replicas[0].memory_used == 83 << 30
    assert [each.footprints for each in outcome.reference.by_kind.values()] == [(82 << 30,)]

    def ill() -> dict[str, GpuMemory]:
        raise Sm120kitError("NVML does not answer")

    outcome = verified(Server(), subject=subject, gpu_reader=Reader(ill), level="quick")
    assert verdict(outcome, 0, "memory") == Verdict("memory", None, "NVML does not answer")
    assert outcome.verified


def test_unlike_gpus_are_judged_among_themselves() -> None:
    big, small = (Gpu(f"GPU-{name}", 0, name, "12.0", 96 << 30) for name in ("RTX PRO 6000", "RTX 5090"))

    async def run() -> Outcome:
        servers = [Server(), Server(), Server(text="Bananas are rich in many things.", granted=9, token_s=0.02)]
        async with running(*servers):
            subjects = [
                Subject(i, each.url, requested=each.granted, gpus=(small if i == 2 else big,))
                for i, each in enumerate(servers)
            ]
            return await verify(subjects, level="load")

    outcome = asyncio.run(run())
    assert outcome.verified, outcome
    assert len(outcome.reference.by_kind) == 2
    assert "are not the same" in verdict(outcome, 2, "generation").evidence


def _us() -> ProcessId:
    found = identify(os.getpid())
    assert found is not None
    return found


def test_the_port_must_be_ours_where_the_server_is() -> None:
    outcome = verified(Server(), Server(), subject={"root": _us()}, level="quick")
    assert outcome.verified
    assert verdict(outcome, 0, "port-owner").passed is True
    parent = identify(1)
    stolen = verified(Server(), subject={"root": replace(_us(), started=1)}, level="quick")
    assert parent is not None
    assert not stolen.verified
    assert verdict(stolen, 0, "port-owner").passed is False


def test_a_server_of_ours_whose_port_cannot_be_looked_at_is_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_ports: object) -> None:
        raise PermissionError("/proc/net/tcp")

    monkeypatch.setattr(ladder, "listening", refused)
    outcome = verified(Server(), subject={"root": _us()}, level="quick")
    assert verdict(outcome, 0, "port-owner").passed is None
    assert "could not be judged: PermissionError" in verdict(outcome, 0, "port-owner").evidence
    assert not outcome.verified
    assert verified(Server(), level="quick").verified


def test_one_is_verified_again_beside_what_its_sisters_gave() -> None:
    small: dict[str, Any] = {"granted": 4, "token_s": 0.004}
    reference = verified(*(Server(**small) for _ in range(3)), subject=FOUR).reference
    assert verified(Server(**small), reference=reference, subject=FOUR).verified
    other = verified(Server(**small, text="Bananas are rich in many things."), reference=reference, level="quick")
    assert "otherwise than what was verified before" in verdict(other, 0, "generation").evidence
    changed = verified(Server(**small, state={"page_size": 64}), reference=reference, level="quick")
    assert verdict(changed, 0, "configuration").evidence == 'page_size is "64" here and "1" at what was verified before'
    slow = verified(Server(granted=4, token_s=0.02), reference=reference, subject=FOUR)
    assert verdict(slow, 0, "throughput").passed is False


def test_servers_that_share_the_cores_of_a_cpu_say_nothing_about_one_another() -> None:
    on_cpu: dict[str, Any] = {"granted": 4, "state": {"device": "cpu"}}
    reference = verified(*(Server(**on_cpu, token_s=0.004) for _ in range(3)), subject=FOUR).reference
    slow = verified(Server(**on_cpu, token_s=0.02), reference=reference, subject=FOUR)
    assert verdict(slow, 0, "throughput").passed, slow


def test_a_server_with_a_key() -> None:
    assert verified(Server(api_key="k1"), api_key="k1").verified
    outcome = verified(Server(api_key="k1"), api_key="wrong-key", level="quick")
    assert not outcome.verified
    assert all("wrong-key" not in each.evidence for each in outcome.replicas[0].verdicts)


def test_no_address_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(Sm120kitError, match="no address"):
        asyncio.run(verify([Subject(0, "http://")], level="quick"))


def test_nothing_to_verify_is_not_verified() -> None:
    assert not asyncio.run(verify([], level="load")).verified


def test_eight_healthy_servers_cost_little_more_than_what_they_generate() -> None:
    started = time.process_time()
    outcome = verified(*(Server() for _ in range(8)))
    assert outcome.verified
    # The servers are in this process too, and take the larger part. The clock on the wall counts what others compute.
    assert time.process_time() - started < 2
