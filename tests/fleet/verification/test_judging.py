"""The verdicts that are pure: model, concurrency, memory, configuration, thinking, load, throughput."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest
from msgspec.structs import replace

from sm120kit.engines.sglang import flag_table
from sm120kit.engines.sglang.answers import Said
from sm120kit.engines.sglang.effective import ADAPTED, MEASURED, OWN
from sm120kit.fleet.asking import Reply
from sm120kit.fleet.gpus import GpuMemory
from sm120kit.fleet.spec import Expectation, Gpu
from sm120kit.fleet.types import Verdict
from sm120kit.fleet.verification.concurrency import judge_concurrency
from sm120kit.fleet.verification.configuration import judge_configuration, read_settings
from sm120kit.fleet.verification.load import Round, Size, judge_load, longest, next_length, size_of
from sm120kit.fleet.verification.memory import held, judge_memory
from sm120kit.fleet.verification.model import judge_model
from sm120kit.fleet.verification.thinking import judge_off, judge_on
from sm120kit.fleet.verification.throughput import judge_throughput, slow_ones
from sm120kit.fleet.verification.types import NAMES, Subject, is_verified
from sm120kit.fleet.verification.wording import replicas

GIB = 1 << 30

SERVES = {"data": [{"id": "some"}]}
LOADED = {"model_path": "/models/some", "is_generation": True}


@pytest.mark.parametrize(
    ("wanted", "models", "info", "passed", "said"),
    [
        ({}, SERVES, LOADED, True, 'it serves "some", loaded from "/models/some"'),
        ({"served_model_name": "some", "model": "/models/./some/"}, SERVES, LOADED, True, "it serves"),
        ({"served_model_name": "other"}, SERVES, LOADED, False, 'it serves "some", not "other"'),
        ({"model": "/models/other"}, SERVES, LOADED, False, 'it has loaded "/models/some", not "/models/other"'),
        ({}, {"data": []}, LOADED, False, "names no model"),
        ({}, {"data": "some"}, LOADED, False, "names no model"),
        ({}, [1], LOADED, False, "names no model"),
        ({}, SERVES, {**LOADED, "is_generation": False}, False, "is no model that generates text"),
        ({}, SERVES, {"model_path": 3}, None, "answers as no SGLang does"),
        ({"model": "/m"}, SERVES, {"model_path": 3}, False, "answers as no SGLang does"),
    ],
)
def test_model(wanted: dict[str, str], models: object, info: object, passed: bool | None, said: str) -> None:
    verdict = judge_model(Subject(0, "http://h", **wanted), Reply(models), Reply(info))  # type: ignore[arg-type]
    assert verdict.passed is passed
    assert said in verdict.evidence


@pytest.mark.parametrize(
    ("requested", "predicted", "granted", "passed", "said"),
    [
        (64, 37, 37, True, "requested 64 → predicted 37 → granted 37: the memory holds no more, as planned"),
        (64, 37, 36, True, "granted 36"),
        (64, 37, 35, False, "granted 35: 2 fewer than the plan says"),
        (64, 200, 196, True, "granted 196"),
        (64, 200, 195, False, "5 fewer"),
        (64, 37, 64, True, "granted 64"),
        (64, None, 64, True, "requested 64 → predicted unknown → granted 64"),
        (128, None, 16, False, "112 fewer than asked for, and no plan says why"),
        (None, None, 2048, True, "requested nothing (SGLang chooses)"),
        (4, 4, 0, False, "can run no request"),
        (4, 4, None, False, "what it grants is not known: /server_info does not tell"),
    ],
)
def test_concurrency(
    requested: int | None, predicted: int | None, granted: int | None, passed: bool, said: str
) -> None:
    verdict = judge_concurrency(requested, predicted, granted)
    assert verdict.passed is passed
    assert said in verdict.evidence


def gpu(number: int) -> Gpu:
    """One of several like cards."""
    return Gpu(f"GPU-{number}", number, "RTX PRO 6000", "12.0", 96 * GIB, GIB)


def memory_of(used: list[float], footprint: float | None, before: list[float] | None = None) -> list[bool | None]:
    """What is said of cards that hold so many GiB, 1 GiB of which was there before."""
    expected = Expectation(37, 1000, None if footprint is None else int(footprint * GIB))
    subjects = {i: Subject(i, "http://h", gpus=(gpu(i),), expected=expected) for i in range(len(used))}
    read = {f"GPU-{i}": GpuMemory(int(each * GIB), 96 * GIB) for i, each in enumerate(used)}
    found = {i: held(each.gpus, read) for i, each in subjects.items()}
    earlier = {"kind": [int(each * GIB) for each in before or []]}
    verdicts = judge_memory(subjects, found, dict.fromkeys(subjects, "kind"), earlier)
    return [each.passed for each in verdicts.values()]


@pytest.mark.parametrize(
    ("used", "footprint", "passed"),
    [
        ([83, 83.3, 83.1], 82, [True, True, True]),
        ([83, 88, 83], 82, [True, False, True]),
        ([83, 60, 83], 82, [True, False, True]),
        ([90, 90, 90], 82, [False, False, False]),
        ([83, 88, 83], None, [True, False, True]),
        ([83, 88], None, [None, None]),
        ([83, 88], 82, [True, False]),
        ([83], None, [None]),
    ],
)
def test_memory(used: list[float], footprint: float | None, passed: list[bool | None]) -> None:
    assert memory_of(used, footprint) == passed


def test_memory_beside_what_was_verified_before() -> None:
    assert memory_of([83], None, [82, 82.1, 82]) == [True]
    assert memory_of([88], None, [82, 82.1, 82]) == [False]


def test_memory_says_the_whole_and_why_it_cannot_be_judged() -> None:
    subject = Subject(0, "http://h", gpus=(gpu(0), gpu(1)), expected=Expectation(1, 1, 82 * GIB))
    read = {f"GPU-{i}": GpuMemory(83 * GIB, 96 * GIB) for i in range(2)}
    verdict = judge_memory({0: subject}, {0: held(subject.gpus, read)}, {0: ""}, {})[0]
    assert verdict.passed is True
    assert verdict.evidence == (
        "holds 164.00 GiB; planned 164.00 GiB; 166.00 GiB of 192.00 GiB in use, 2.00 GiB of it before the start"
    )
    gone = judge_memory({0: subject}, {0: held(subject.gpus, {})}, {0: ""}, {})[0]
    assert (gone.passed, gone.evidence) == (None, "NVML does not show GPU GPU-0")
    none = judge_memory({0: Subject(0, "http://h")}, {0: held((), read)}, {0: ""}, {})[0]
    assert none.passed is None
    assert none.evidence.startswith("no GPU")


def info(**changes: object) -> dict[str, object]:
    """An answer of /server_info."""
    asked: dict[str, object] = {"model_path": "/m", "port": 1, "attention_backend": "triton", "page_size": 1,
                                "mem_fraction_static": 0.85, "api_key": None, "speculative_algorithm": None,
                                "max_mamba_cache_size": 188, "max_running_requests": 64,
                                "cuda_graph_config": {"decode": {"max_bs": 32}}}  # fmt: skip
    state = {**asked, "memory_usage": {"weight": 1.0}, **changes}
    return {**asked, "version": "0.5.23", "max_total_num_tokens": 250_771, "internal_states": [state]}


def configured(*answers: object, arguments: tuple[str, ...] = ()) -> list[tuple[bool | None, str]]:
    """What is said of servers that answer so."""
    found = {i: read_settings(each, arguments) for i, each in enumerate(answers)}
    return [(each.passed, each.evidence) for each in judge_configuration(found, dict.fromkeys(found, ""), {}).values()]


def test_configuration_alike_but_for_what_is_each_ones_own() -> None:
    others = info(port=2, memory_usage={"weight": 2.0}, random_seed=5, launch_command="--port 2", _secret=1)
    said = configured(info(), others, info(max_mamba_cache_size=187))
    assert [passed for passed, _ in said] == [True, True, True]
    assert said[0][1] == "SGLang 0.5.23: 10 settings, the same as replicas 1-2"


def test_configuration_names_the_odd_one_with_both_values() -> None:
    said = configured(info(), info(cuda_graph_config={"decode": {"max_bs": 16}}, page_size=64), info())
    assert [passed for passed, _ in said] == [True, False, True]
    assert said[1][1] == (
        'cuda_graph_config.decode.max_bs is "16" here and "32" at replicas 0, 2; '
        'page_size is "64" here and "1" at replicas 0, 2'
    )


def test_of_two_configurations_neither_is_right_unless_one_was_verified_before() -> None:
    found = {0: read_settings(info(), ()), 1: read_settings(info(attention_backend="fa3"), ())}
    assert [each.passed for each in judge_configuration(found, {0: "", 1: ""}, {}).values()] == [False, False]
    known = judge_configuration(found, {0: "", 1: ""}, {"": found[0].common})
    assert [each.passed for each in known.values()] == [True, False]
    assert 'attention_backend is "fa3" here and "triton" at replica 0' in known[1].evidence


def test_what_follows_from_memory_is_compared_among_like_gpus() -> None:
    found = {i: read_settings(info(max_mamba_cache_size=size), ()) for i, size in enumerate((188, 188, 40, 40))}
    kinds = {0: "big", 1: "big", 2: "small", 3: "small"}
    assert all(each.passed for each in judge_configuration(found, kinds, {}).values())
    alike = judge_configuration(found, dict.fromkeys(found, "big"), {})
    assert [each.passed for each in alike.values()] == [True, True, False, False]
    assert 'max_mamba_cache_size is "40" here and "188" at replicas 0-1' in alike[2].evidence


@pytest.mark.parametrize(
    ("changes", "arguments", "passed", "said"),
    [
        ({}, ("--mem-fraction-static", "0.85", "--attention-backend", "triton"), True, "10 settings"),
        ({"mem_fraction_static": 0.7}, ("--mem-fraction-static", "0.85"), False,
         'mem_fraction_static is "0.7" where "0.85" was asked for'),
        ({}, ("--speculative-algorithm", "EAGLE"), False, 'speculative_algorithm is "None" where "EAGLE"'),
        ({"speculative_algorithm": "EAGLE"}, ("--speculative-algorithm", "NEXTN"), True, "10 settings"),
        ({"page_size": 64}, ("--page-size", "1"), True, 'SGLang adapted: page_size is "64" where "1" was asked for'),
        ({}, ("--max-running-requests", "9"), True, "10 settings"),
    ],
)  # fmt: skip
def test_configuration_beside_what_was_asked_for(
    changes: dict[str, object], arguments: tuple[str, ...], passed: bool, said: str
) -> None:
    ((seen, evidence),) = configured(info(**changes), arguments=arguments)
    assert seen is passed
    assert said in evidence


@pytest.mark.parametrize(
    "answer", [None, [], "text", {}, {"version": "0.5.23"}, {**info(), "internal_states": []}, {**info(), "version": 5}]
)
def test_configuration_of_what_is_no_sglang(answer: object) -> None:
    ((passed, evidence),) = configured(answer)
    assert passed is False
    assert evidence.startswith("/server_info ")


def test_no_secret_among_the_differences() -> None:
    said = configured(info(hf_token="hf_abcdefgh12345678"), info(), info())
    assert "hf_abc" not in said[0][1]
    assert said[0][0] is False


def test_thinking_on() -> None:
    good = Said("51", "17 times 3 is 51", 30, "stop")
    assert judge_on(good, "qwen3", 1024).passed is True
    for changed, said in (
        (replace(good, reasoning=""), "reasoning_content is empty though thinking is on"),
        (replace(good, text="", finish_reason="length"), "lost to thinking, which used up its budget of 1024 tokens"),
        (replace(good, text=""), "did not come to an answer"),
        (replace(good, finish_reason="length"), "was not finished within 1024 tokens"),
        (replace(good, text="<think>well</think> 51"), "The reasoning parser qwen3 does not fit this model"),
    ):
        verdict = judge_on(changed, "qwen3", 1024)
        assert verdict.passed is False
        assert said in verdict.evidence


def test_thinking_off() -> None:
    good = Said("51", "", 30, "stop")
    assert judge_off(good).passed is True
    for changed in (replace(good, reasoning="hm"), replace(good, text="</think>51"), replace(good, text=" ")):
        assert judge_off(changed).passed is False


@pytest.mark.parametrize(
    ("granted", "tokens", "page", "requests", "limited"),
    [
        (37, 250_000, 1, 37, ""),
        (2048, 250_000, 1, 256, "at most 256"),
        (37, 1000, 1, 10, "KV pool of 1000 tokens holds 10"),
        (37, 1000, 64, 7, "holds 7"),
        (37, 10, 1, 1, "holds 1"),
        (37, None, 1, 37, ""),
    ],
)
def test_size_of_the_load(granted: int, tokens: int | None, page: int, requests: int, limited: str) -> None:
    size = size_of(granted, tokens, page)
    assert size.requests == requests
    assert limited in size.limited_by


def test_length_of_the_answers() -> None:
    assert longest(Size(37), 250_000, 1, None) == 4096
    assert longest(Size(37), 10_000, 1, None) == 219
    assert longest(Size(37), 10_000, 64, None) == 168
    assert longest(Size(37), 250_000, 1, 2048) == 2016
    assert longest(Size(1), 10, 1, 4) == 1
    seen = Round(4, 64, answered=4, seconds=1, most_running=3, looks=5)
    assert next_length(replace(seen, looks=0), 4096, 120) is None
    assert next_length(seen, 4096, 120) == 128
    assert next_length(seen, 100, 120) == 100
    assert next_length(seen, 64, 120) is None
    assert next_length(seen, 4096, 1.5) is None
    assert next_length(replace(seen, least_waiting=0), 4096, 120) is None
    assert next_length(replace(seen, answered=3), 4096, 120) is None


@pytest.mark.parametrize(
    ("changes", "size", "passed", "said"),
    [
        ({}, Size(37), True, "37 requests of 64 tokens at once ran together with none queued, all answered in full"),
        ({}, Size(37, "the probe asks for at most 37"), True, "it grants 64: the probe asks for at most 37"),
        ({"answered": 36, "faults": ("/generate answers with HTTP 500",)}, Size(37), False, "1 of 37 requests"),
        ({"least_waiting": None, "most_running": 18}, Size(37), False, "18 were seen to run together"),
        ({"least_waiting": 3}, Size(37), False, "3 still queued"),
        ({"least_waiting": 3, "others": 5}, Size(37), True, "5 requests of other clients ran or waited besides"),
        ({"least_waiting": None, "looks": 0, "look_problem": "/v1/loads answers with HTTP 404"}, Size(37), False,
         "is not known: /v1/loads answers with HTTP 404"),
    ],
)  # fmt: skip
def test_load(changes: dict[str, object], size: Size, passed: bool, said: str) -> None:
    done = Round(37, 64, answered=37, seconds=2, tokens=37 * 64, most_running=37, least_waiting=0, looks=9)
    verdict = judge_load(64, size, [replace(done, **changes)])
    assert verdict.passed is passed
    assert said in verdict.evidence


def test_throughput_and_its_slow_one() -> None:
    rates = {0: 1000.0, 1: 1010.0, 2: 700.0}
    assert slow_ones(rates) == (2,)
    assert slow_ones({0: 1000.0, 1: 500.0}) == ()
    assert slow_ones({5: 500.0}, [1000.0, 1010.0, 990.0]) == (5,)
    verdicts = judge_throughput(rates, {0: 2000.0, 1: None, 2: 2000.0}, [2], [], 2710.0)
    assert [each.passed for each in verdicts.values()] == [True, True, False]
    assert verdicts[0].evidence == ("1000 tokens/s, 50% of the roofline of 2000, the median is 1000, 2710 in sum")
    assert verdicts[2].evidence.startswith("slow, measured twice: 70% of the median")


def test_more_than_the_roofline_cannot_be() -> None:
    verdict = judge_throughput({0: 1180.0}, {0: 1050.0}, [], [], 1180.0)[0]
    assert verdict.passed is None
    assert "112% of the roofline of 1050, which cannot be: the plan does not fit" in verdict.evidence


@pytest.mark.parametrize("lost", ["port-owner", "model", "generation", "configuration", "concurrency", "load"])
def test_what_a_verified_server_must_have_passed(lost: str) -> None:
    names = [name for name in NAMES if name != lost]
    unjudged = (*(Verdict(name, True, "") for name in names), Verdict(lost, None, ""))
    assert is_verified(unjudged, "load", ours=True) is False
    assert is_verified(unjudged, "load", ours=False) is (lost == "port-owner")
    assert is_verified(unjudged, "standard", ours=True) is (lost == "load")


@pytest.mark.parametrize("name", NAMES)
def test_no_verdict_may_be_against_it(name: str) -> None:
    for passed in (True, False):
        verdicts = tuple(Verdict(each, passed if each == name else True, "") for each in NAMES)
        assert is_verified(verdicts, "quick", ours=False) is passed


@pytest.mark.parametrize("name", ["thinking", "memory", "throughput"])
def test_what_need_not_be_judged(name: str) -> None:
    verdicts = tuple(Verdict(each, None if each == name else True, "") for each in NAMES)
    assert is_verified(verdicts, "load", ours=True) is True


RECORDED = json.loads(files("sm120kit.fleet.rehearsal").joinpath("recorded.json").read_text("utf-8"))


@pytest.mark.parametrize("version", RECORDED)
def test_every_port_and_address_of_a_genuine_server_is_its_own(version: str) -> None:
    text = json.dumps(RECORDED[version])
    named = set(re.findall(r'"(\w*(?:_|\b)ports?|\w+_ipc_name|\w+_init_addr)": ', text))
    assert "nccl_port" in named
    assert named <= OWN


def test_settings_are_called_as_genuine_servers_call_them() -> None:
    known = {name for version in ("0.5.12", "0.5.23") for name in flag_table(version).defaults}
    known |= {name for recorded in RECORDED.values() for name in re.findall(r'"(\w+)": ', json.dumps(recorded))}
    assert known >= ADAPTED
    assert known >= MEASURED


def test_replicas_by_their_numbers() -> None:
    assert replicas([3]) == "replica 3"
    assert replicas([0, 1, 2, 5, 7, 6]) == "replicas 0-2, 5-7"
