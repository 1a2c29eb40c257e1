"""``sm120kit plan`` on the command line."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.builders import distribution, driver, gpu, known, no_driver, snapshot
from tests.cli.conftest import Command, Saved
from tests.engines.test_endpoints import INFO_0_5_12
from tests.engines.test_startup_log import OLD
from tests.models import QWEN3_32B
from tests.planning import DRAFTING, OLD_STRATEGY, QWEN36_27B, write_config, write_safetensors

B200 = ("--gpu", "b200x7", "--free-gib", "177.5", "--weights-gib", "51", "--sglang", "0.5.11")
STORY = (OLD_STRATEGY, "extra_buffer", "--mem-fraction-static", "0.84", *DRAFTING, "--max-running-requests", "128")


@pytest.fixture
def qwen(tmp_path: Path) -> str:
    """The configuration of Qwen3.6-27B, without weights."""
    return str(write_config(tmp_path / "qwen", QWEN36_27B))


def test_the_story_of_the_b200(sm120kit: Command, qwen: str) -> None:
    answer = sm120kit("plan", qwen, *B200, "--json", "--", *STORY)
    assert (answer.code, answer.err) == (0, "")
    plan = json.loads(answer.out)
    assert plan["schema"] == "sm120kit.plan/1"
    assert plan["requested"] == 128
    assert plan["predicted"]["granted"] == 16
    assert plan["predicted"]["state_slots"] == 81
    assert plan["best"]["max_running_requests"] == plan["best"]["granted"] == 47
    assert plan["best"]["arguments"] == ["--max-running-requests", "47"]
    assert plan["fleet"]["granted"] == 7 * 16
    assert plan["assumptions"]


def test_the_data_fits_its_schema(sm120kit: Command, qwen: str) -> None:
    schema = json.loads(sm120kit("schema", "plan").out)
    plan = json.loads(sm120kit("plan", qwen, *B200, "--json", "--", *STORY).out)
    Draft202012Validator(schema).validate(plan)
    names = {"requested", "predicted", "best", "alternatives", "budget", "assumptions", "fleet"}
    assert names <= set(plan)


def test_the_text(sm120kit: Command, qwen: str) -> None:
    out = sm120kit("plan", qwen, *B200, "--", *STORY).out
    assert "128 requested, 16 granted by each of 7 servers, 47 at best." in out
    assert "--max-running-requests 47" in out
    assert "Memory of one GPU: 177.50 GiB free before loading" in out
    assert "7 of them grant 112 of 896 requested, 329 at best" in out
    assert "upper bound" in out
    assert "Assumed:" in out


@pytest.mark.parametrize(
    ("words", "said", "way"),
    [
        (("--tp", "3"), "over 3 GPUs (--tp-size 3); --tp-size 1, 2 or 4 can", "--tp-size 4"),
        (
            ("--context-length", "131072"),
            "--context-length 131072 is more than the 40,960 tokens",
            "--context-length 40960",
        ),
    ],
)
def test_what_stops_it_whatever_its_memory_is_exit_code_1(
    sm120kit: Command, tmp_path: Path, words: tuple[str, ...], said: str, way: str
) -> None:
    model = str(write_config(tmp_path / "qwen", QWEN3_32B | {"max_position_embeddings": 40960}))
    arguments = ("--gpu", "rtx-pro-6000x8", "--weights-gib", "61", "--sglang", "0.5.23")
    answer = sm120kit("plan", model, *arguments, "--", *words)
    assert answer.code == 1
    head = " ".join(answer.out.partition("Memory of")[0].split())
    assert "It will not start: " in head
    assert said in head
    assert way in answer.out
    assert "granted" not in answer.out


def test_a_longer_context_is_taken_where_the_variable_is_set(
    sm120kit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN", "1")
    model = str(write_config(tmp_path / "qwen", QWEN3_32B | {"max_position_embeddings": 40960}))
    arguments = ("--gpu", "b200", "--weights-gib", "61", "--sglang", "0.5.23")
    answer = sm120kit("plan", model, *arguments, "--", "--context-length", "131072")
    assert answer.code == 0
    assert "is more than the 40,960 of the configuration" in " ".join(answer.out.split())


def test_weights_are_read_from_the_checkpoint(sm120kit: Command, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    write_config(folder, QWEN3_32B)
    write_safetensors(folder / "model.safetensors", [("model.layers.0.w.weight", "BF16", (1 << 15, 1 << 15))])
    arguments = ("--gpu", "rtx-pro-6000", "--sglang", "0.5.12", "--json")
    plan = json.loads(sm120kit("plan", str(folder), *arguments).out)
    assert plan["budget"]["weights"] == 2 << 30
    assert plan["requested"] is None
    # Over two GPUs each holds half of it; the launch line may name the model as well.
    plan = json.loads(
        sm120kit(
            "plan", "--gpu", "rtx-pro-6000x2", "--sglang", "0.5.12", "--json", "--",
            "--model-path", str(folder), "--tp", "2",
        ).out
    )  # fmt: skip
    assert plan["budget"]["weights"] == 1 << 30


def test_the_cards_and_the_version_of_a_snapshot(sm120kit: Command, saved: Saved, qwen: str) -> None:
    taken = snapshot(driver=driver(gpus=(gpu(0), gpu(1))), distributions=known((distribution("sglang", "0.5.12"),)))
    plan = json.loads(sm120kit("plan", qwen, "--snapshot", saved(taken), "--weights-gib", "51", "--json").out)
    assert (plan["sglang"], plan["hardware"], plan["fleet"]["servers"]) == ("0.5.12", "2x rtx-pro-6000", 2)


def test_a_server_that_will_not_start_is_exit_code_1(sm120kit: Command, qwen: str) -> None:
    answer = sm120kit("plan", qwen, "--gpu", "rtx-5090", "--weights-gib", "51", "--sglang", "0.5.12")
    assert answer.code == 1
    assert "It will not start: no memory is left" in answer.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no model was named"),
        (("/nowhere",), "/nowhere/config.json cannot be read: No such file or directory"),
        (("CONFIG",), "holds no safetensors files"),
        (("CONFIG", "--weights-gib", "-1"), "--weights-gib -1 is no size of memory"),
        (("CONFIG", "--free-gib", "nan"), "--free-gib nan is no size of memory"),
        (("CONFIG", "--weights-gib", "51", "--", "--mem-fraction-static", "85"), "no fraction of memory"),
        (
            ("CONFIG", "--weights-gib", "51", "--", "--attention-backend", "fa9"),
            "mean fa4 or fa3? It takes one of\n    triton",
        ),
        (("CONFIG", "--weights-gib", "51", "--", "--kv-cache-dtype", "zzz"), "  It takes one of\n    auto, fp8_e5m2, "),
        (("CONFIG", "--weights-gib", "51", "--", "--bogus", "--bogus2"), "and 1 more like it"),
        (("CONFIG", "--weights-gib", "51", "--", "--max-runing-requests", "3"), "has no flag --max-runing-requests"),
        (
            ("CONFIG", "--weights-gib", "51", "--", NEW := "--mamba-radix-cache-strategy", "auto"),
            f"has no flag {NEW} yet",
        ),
        (("CONFIG", "--weights-gib", "51", "--", "--tp-size", "16"), "--tp-size 16 needs 16 GPUs, and 8 are named"),
    ],
)
def test_bad_input_is_one_line(sm120kit: Command, qwen: str, arguments: tuple[str, ...], said: str) -> None:
    words = [qwen if word == "CONFIG" else word for word in arguments]
    answer = sm120kit("plan", "--gpu", "rtx-pro-6000x8", "--sglang", "0.5.12", *words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ("[]", "is JSON, but no model configuration"),
        ("{}", "names no architecture"),
        ('{"architectures": ["Nobody"]}', "what Nobody keeps in memory is not known here"),
        ('{"architectures": ["LlamaForCausalLM"]}', "gives no number above 0 for num_hidden_layers"),
    ],
)
def test_a_bad_configuration_is_one_line(sm120kit: Command, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    answer = sm120kit("plan", str(path), *B200)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_an_unknown_version_is_refused_and_can_be_assumed(sm120kit: Command, qwen: str) -> None:
    arguments = ("plan", qwen, "--gpu", "b200", "--weights-gib", "51", "--sglang", "0.5.15")
    answer = sm120kit(*arguments)
    assert answer.code == 2
    assert "\n    0.5.11, 0.5.12, 0.5.12.post1, 0.5.13, 0.5.13.post1, 0.5.23\n" in answer.err
    plan = json.loads(sm120kit(*arguments, "--assume-version", "--json").out)
    assert (plan["sglang"], plan["formulas"]) == ("0.5.15", "0.5.13.post1")
    assert "its own source was not read" in plan["assumptions"][0]


def test_no_gpu_and_none_named(sm120kit: Command, saved: Saved, qwen: str) -> None:
    taken = saved(snapshot(driver=no_driver(), distributions=known((distribution("sglang", "0.5.12"),))))
    answer = sm120kit("plan", qwen, "--snapshot", taken, "--weights-gib", "51")
    assert answer.code == 2
    assert "no GPU to plan for" in answer.err


def test_beside_a_log(sm120kit: Command, tmp_path: Path, qwen: str) -> None:
    log = tmp_path / "server.log"
    log.write_text(OLD)
    line = (OLD_STRATEGY, "extra_buffer", "--mamba-ssm-dtype", "bfloat16", "--mem-fraction-static", "0.85")
    arguments = ("--sglang", "0.5.12", "--weights-gib", "50.95", "--check", str(log))
    answer = sm120kit("plan", qwen, *arguments, "--json", "--", *line, "--max-running-requests", "64")
    assert answer.code == 0
    plan = json.loads(answer.out)
    assert plan["check"]["verdict"] == "granted 37, as predicted; tokens as predicted"
    assert plan["budget"]["free_before_loading"] == round(94.16 * 1024**3)
    # Without arguments the server's own record counts: it was asked for 64.
    assert json.loads(sm120kit("plan", qwen, *arguments, "--json").out)["requested"] == 64
    assert "Beside" in sm120kit("plan", qwen, *arguments).out


@pytest.mark.parametrize(
    ("head", "named", "version", "said"),
    [
        ("sglang version: 0.5.11", "", "0.5.11", ""),
        ("sglang==0.5.11", "0.5.12", "0.5.12", "compared with is 0.5.11: line 1 of LOG says so"),
        ("sglang==0.5.12", "v0.5.12", "0.5.12", ""),
        ("server_args=ServerArgs(tp_size=1)", "", "0.5.12", "line 1 of LOG has the form that this version gives it"),
        ("server_args=ServerArgs(tp_size=1)", "0.5.13", "0.5.13", ""),
        ("server_args={'tp_size': 1}", "0.5.12", "0.5.12", "seems to be 0.5.23: line 1 of LOG has the form"),
    ],
)
def test_the_log_tells_the_version(
    sm120kit: Command, tmp_path: Path, qwen: str, head: str, named: str, version: str, said: str
) -> None:
    log = tmp_path / "server.log"
    loaded = OLD.partition("Load weight begin")[2]
    log.write_text(f"{head}\n[2026-11-29 15:00:00] Load weight begin{loaded}")
    (empty := tmp_path / "empty").mkdir()
    python = ("--site-packages", str(empty))  # no SGLang is installed there
    sglang = ("--sglang", named) if named else ()
    answer = sm120kit("plan", qwen, *python, *sglang, "--weights-gib", "50.95", "--check", str(log), "--json")
    plan = json.loads(answer.out)
    assert plan["sglang"] == version
    words = " ".join((*plan["notes"], *plan["assumptions"])).replace(str(log), "LOG")
    assert (said in words) if said else ("LOG" not in words)


def test_a_log_without_a_word_of_memory(sm120kit: Command, tmp_path: Path, qwen: str) -> None:
    log = tmp_path / "other.log"
    log.write_text("hello\n")
    answer = sm120kit("plan", qwen, "--sglang", "0.5.12", "--check", str(log))
    assert answer.code == 2
    assert "holds no line of SGLang's start-up that speaks of memory" in answer.err
    answer = sm120kit("plan", qwen, "--sglang", "0.5.12", "--check", str(tmp_path / "missing.log"))
    assert answer.code == 4
    log.write_bytes(gzip.compress(OLD.encode())[:-20])
    answer = sm120kit("plan", qwen, "--sglang", "0.5.12", "--check", str(log))
    assert (answer.code, answer.out) == (4, "")
    assert "cut off or damaged" in answer.err


@pytest.fixture
def server() -> Iterator[str]:
    """A server on loopback that answers as SGLang 0.5.12 does."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(INFO_0_5_12 if self.path == "/server_info" else {}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: Any) -> None:
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()


def test_beside_a_running_server(sm120kit: Command, server: str, qwen: str) -> None:
    line = (OLD_STRATEGY, "extra_buffer", "--mamba-ssm-dtype", "bfloat16", "--mem-fraction-static", "0.85")
    answer = sm120kit(
        "plan", qwen, "--gpu", "rtx-pro-6000", "--free-gib", "94.16", "--weights-gib", "50.95", "--check", server,
        "--json", "--", *line, "--max-running-requests", "64",
    )  # fmt: skip
    plan = json.loads(answer.out)
    assert (plan["sglang"], plan["check"]["verdict"]) == ("0.5.12", "granted 37, as predicted; tokens as predicted")


def test_nobody_answers(sm120kit: Command, qwen: str) -> None:
    answer = sm120kit("plan", qwen, "--gpu", "b200", "--check", "http://127.0.0.1:1")
    assert answer.code == 4
    assert "does not answer: nothing listens at 127.0.0.1:1 (connection refused)" in answer.err


def test_doctor_judges_a_launch_line(sm120kit: Command, saved: Saved, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    write_config(folder, QWEN36_27B)
    write_safetensors(folder / "model.safetensors", [("model.layers.0.w.weight", "BF16", (1 << 10, 51 << 19))])
    taken = saved(snapshot(distributions=known((distribution("sglang", "0.5.11"),))))
    arguments = (
        "doctor",
        "--snapshot",
        taken,
        "--only",
        "capacity.*",
        "--json",
        "--gpu",
        "b200x7",
        "--model",
        str(folder),
    )
    report = json.loads(sm120kit(*arguments, "--", *STORY).out)
    assert [(each["check"], each["severity"]) for each in report["findings"]] == [
        ("capacity.requested-not-granted", "warning")
    ]
    assert "128 requests at a time are asked for" in report["findings"][0]["message"]
    nothing_asked = json.loads(sm120kit(*arguments).out)
    assert {each["outcome"] for each in nothing_asked["checks"]} == {"not_applicable"}


def test_without_sglang_its_version_is_asked_for(sm120kit: Command, saved: Saved, qwen: str) -> None:
    taken = saved(snapshot(distributions=known(())))
    answer = sm120kit("plan", qwen, "--snapshot", taken, "--weights-gib", "15")
    assert (answer.code, answer.out) == (2, "")
    assert "no SGLang is installed here" in answer.err
    assert "--sglang 0.5.23" in answer.err
    # A model that is not there comes first, and so does none at all.
    assert "/nope/config.json cannot be read" in sm120kit("plan", "/nope", "--snapshot", taken).err
    typed = ("--", "--tp-size", "1", "--model-path", "/nope")
    assert "/nope/config.json cannot be read" in sm120kit("plan", "--snapshot", taken, *typed).err
    assert "no model was named" in sm120kit("plan", "--snapshot", taken).err


def test_a_request_larger_than_the_pool(sm120kit: Command, qwen: str) -> None:
    arguments = ("plan", qwen, *B200, "--need-tokens-per-request", "9000000")
    answer = sm120kit(*arguments)
    assert answer.code == 1
    assert "Not one request of 9,000,000 tokens fits: the pool holds" in answer.out.split("\n\n")[1]
    assert "upper bound" not in answer.out
    assert json.loads(sm120kit(*arguments, "--json").out)["roofline"] is None


def test_what_would_let_it_start(sm120kit: Command, qwen: str) -> None:
    arguments = ("plan", qwen, "--gpu", "rtx-5090", "--weights-gib", "51", "--sglang", "0.5.12")
    plan = json.loads(sm120kit(*arguments, "--json").out)
    ways = {each["name"]: each for each in plan["alternatives"]}
    split = next(each for name, each in ways.items() if "GPUs like this one" in name)
    assert split["arguments"][0] == "--tp-size"
    assert any("larger card" in name for name in ways)
    assert any("a checkpoint in 4 bits" in name for name in ways)
    # What is promised holds: so many GPUs, or so much more memory, and it starts.
    gpus = split["arguments"][1]
    more = ("--gpu", f"rtx-5090x{gpus}", "--weights-gib", str(51 / int(gpus)), "--sglang", "0.5.12")
    assert sm120kit("plan", qwen, *more, "--", "--tp-size", gpus).code == 0
    budget = plan["budget"]
    gib = (budget["free_before_loading"] + budget["short_by"]) / (1 << 30)
    assert sm120kit(*arguments, "--free-gib", str(gib)).code == 0
    assert sm120kit(*arguments, "--free-gib", str(gib - 0.01)).code == 1
    text = sm120kit(*arguments).out
    assert "GiB more must be free" in text
    assert "! more than there is" in text
    assert f"--tp-size {gpus}" in text


def test_a_configuration_under_any_name(sm120kit: Command, tmp_path: Path, qwen: str) -> None:
    path = tmp_path / "qwen.json"
    path.write_bytes(Path(qwen).read_bytes())
    assert sm120kit("plan", str(path), *B200).code == 0
    path.write_bytes(b"\x80not json")
    answer = sm120kit("plan", str(path), *B200)
    assert (answer.code, answer.out) == (2, "")
    assert f"{path} is no JSON" in answer.err


@pytest.mark.parametrize(("gib", "warned"), [("61", True), ("7.63", False)])
def test_a_whole_checkpoint_named_as_one_gpu_s_is_noticed(
    sm120kit: Command, tmp_path: Path, gib: str, warned: bool
) -> None:
    config = QWEN3_32B | {"vocab_size": 151936, "intermediate_size": 25600}
    model = str(write_config(tmp_path / "qwen", config))
    arguments = ("--gpu", "rtx-pro-6000x8", "--sglang", "0.5.23", "--weights-gib", gib)
    plan = json.loads(sm120kit("plan", model, *arguments, "--json", "--", "--tp", "8").out)
    assert any("the whole checkpoint takes about 61" in note for note in plan["notes"]) is warned
    assert any("give --weights-gib 7.62" in note for note in plan["notes"]) is warned
    assert not any("split evenly" in each for each in plan["assumptions"])
    alone = json.loads(sm120kit("plan", model, *arguments, "--json").out)
    assert not any("whole checkpoint" in note for note in alone["notes"])


def test_which_cards_of_a_mixed_machine_hold_a_server(sm120kit: Command, tmp_path: Path) -> None:
    model = str(write_config(tmp_path / "qwen", QWEN3_32B))
    arguments = ("--gpu", "rtx-pro-6000x4,rtx-5090x4", "--sglang", "0.5.23", "--weights-gib")
    line = ("--", "--max-running-requests", "30")
    answer = sm120kit("plan", model, *arguments, "61", *line)
    assert answer.code == 1
    assert "On rtx-5090 it will not start: no memory is left for keys and values" in answer.out
    assert "Memory of one rtx-5090: " in answer.out
    assert "on rtx-5090      none of 4 servers starts: no memory is left for keys and values\n" in answer.out
    assert "on rtx-pro-6000  each of 4 servers grants 30\n" in answer.out
    assert "4 of 8 start and grant 120 of 120 requested" in answer.out
    assert "a larger card, as rtx-pro-6000" in answer.out
    fits = sm120kit("plan", model, *arguments, "18", *line)
    assert fits.code == 0
    assert "On rtx-5090: 30 requested, 30 granted by each of 4 servers, " in fits.out
    assert "8 of them grant 240 of 240 requested" in fits.out
    fleet = json.loads(sm120kit("plan", model, *arguments, "61", "--json", *line).out)["fleet"]
    assert (fleet["servers"], fleet["starting"], fleet["requested"]) == (8, 4, 120)
    assert [(each["card"], bool(each["failure"])) for each in fleet["parts"]] == [
        ("rtx-5090", True),
        ("rtx-pro-6000", False),
    ]


def test_all_that_is_missing_is_asked_for_at_once(sm120kit: Command, saved: Saved, qwen: str) -> None:
    taken = saved(snapshot(distributions=known(()), driver=no_driver()))
    answer = sm120kit("plan", qwen, "--snapshot", taken)
    assert (answer.code, answer.out) == (2, "")
    assert "which SGLang, which GPUs and how large the weights are is told neither here nor by an option" in answer.err
    assert "--sglang 0.5.23 --gpu rtx-pro-6000x8 --weights-gib X" in answer.err
    answer = sm120kit("plan", qwen, "--snapshot", taken, "--sglang", "0.5.12")
    assert "which GPUs and how large" in answer.err
    assert "--sglang" not in answer.err
    # One thing alone is said in its own words.
    answer = sm120kit("plan", qwen, "--snapshot", taken, "--sglang", "0.5.12", "--weights-gib", "51")
    assert "no GPU to plan for" in answer.err


def test_a_model_that_is_named_twice(sm120kit: Command, qwen: str) -> None:
    answer = sm120kit("plan", qwen, *B200, "--", "--model-path", "/x")
    assert (answer.code, answer.out) == (2, "")
    assert f"the model is named twice: {qwen} and /x" in answer.err
    assert sm120kit("plan", qwen, *B200, "--", "--model-path", qwen).code == 0


def test_attention_data_parallelism_is_told_by_its_own_name(sm120kit: Command, qwen: str) -> None:
    answer = sm120kit("plan", qwen, *B200, "--", "--tp", "4", "--dp", "4", "--enable-dp-attention")
    assert answer.code == 2
    assert "--enable-dp-attention: attention data parallelism is not modelled" in answer.err
    assert "a launch goes on without a plan" in " ".join(answer.err.split())


def test_two_plans_are_no_snapshots(sm120kit: Command, tmp_path: Path, qwen: str) -> None:
    (tmp_path / "a.json").write_text(sm120kit("plan", qwen, *B200, "--json").out)
    answer = sm120kit("diff", str(tmp_path / "a.json"), str(tmp_path / "a.json"))
    assert answer.code == 4
    assert "sm120kit plan MODEL --check URL|LOG" in " ".join(answer.err.split())
