"""fleet.toml: what it may say, and how each thing that it may not say is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.fleet_file import parse_fleet_file, read_fleet_file
from sm120kit.fleet.order.make_order import make_order
from sm120kit.fleet.order.options import OPTIONS
from sm120kit.fleet.order.order import Order
from sm120kit.fleet.order.placed import placed
from sm120kit.fleet.order.print_config import print_config
from sm120kit.fleet.preparation.prepare import prepare
from sm120kit.fleet.preparation.settle_arguments import refuse_without_model
from sm120kit.fleet.spec import Limits, RestartPolicy
from sm120kit.text import visible


def order_in(text: str, *typed: str, **given: object) -> Order:
    return make_order(given, typed, parse_fleet_file(text, "/srv/fleets/fleet.toml"))


def test_the_printed_file_asks_for_the_defaults() -> None:
    assert order_in(print_config()) == Order()


def test_every_option_stands_in_the_printed_file_with_its_help() -> None:
    text = print_config()
    assert not [option.key for option in OPTIONS if option.help not in text]


def test_every_field_of_an_order_has_one_option() -> None:
    import msgspec

    def leaves(kind: type[msgspec.Struct], before: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
        found = set()
        for field in msgspec.structs.fields(kind):
            place = (*before, field.name)
            inner = isinstance(field.type, type) and issubclass(field.type, msgspec.Struct)
            found |= leaves(field.type, place) if inner else {place}
        return found

    assert leaves(Order) - {("arguments",)} == {option.field for option in OPTIONS}
    assert len({option.flag for option in OPTIONS}) == len(OPTIONS)


def test_an_order_that_is_printed_reads_back_as_it_was() -> None:
    asked = Order(
        model="/models/qwen",
        gpus="0,2",
        base_port=31000,
        limits=Limits(start=60.5),
        restart=RestartPolicy(most=0),
        force=("launch.gpu-busy",),
        environment={"NCCL_DEBUG": 'a "quoted" \\ value'},
        arguments=("--max-running-requests", "46", "--chat-template", "über\x7f\n"),
        rehearse=True,
    )
    assert order_in(print_config(asked)) == asked


def test_what_a_terminal_would_obey_is_printed_as_text() -> None:
    asked = Order(model="\u202e\x1b[31m\x9b", gpus="\x7f\u2028")
    assert visible(print_config(asked).replace("\n", "")) == print_config(asked).replace("\n", "")
    assert order_in(print_config(asked)) == asked


def test_secrets_are_not_printed() -> None:
    asked = Order(
        arguments=("--api-key", "sesame-123", "--tp-size", "2", "--admin-api-key=other-456"),
        environment={"HF_TOKEN": "hf_abcdefgh12345678", "NCCL_DEBUG": "INFO"},
    )
    text = print_config(asked)
    assert "sesame" not in text
    assert "other-456" not in text
    assert "hf_abc" not in text
    read = order_in(text)
    assert read.arguments == ("--tp-size", "2")
    assert read.environment == {"NCCL_DEBUG": "INFO"}


def test_what_was_typed_counts_more() -> None:
    text = 'model = "/models/a"\nbase-port = 31000\ndetach = true\nsglang = ["--tp-size", "2", "--dtype", "auto"]'
    order = order_in(text, "--tp-size=4", base_port=32000, detach=False, model=None)
    assert (order.model, order.base_port, order.detach) == ("/models/a", 32000, False)
    assert order.arguments == ("--dtype", "auto", "--tp-size=4")


def test_variables_of_both_are_merged() -> None:
    order = order_in('[environment]\nA = "file"\nB = "file"\n', environment=None, variable=["A=typed"])
    assert order.environment == {"A": "typed", "B": "file"}


def test_arguments_as_a_table() -> None:
    order = order_in(
        "[sglang]\n"
        "max-running-requests = 46\n"
        "mem-fraction-static = 0.85\n"
        "trust-remote-code = true\n"
        "enable-metrics = false\n"
        "cuda-graph-bs = [1, 2, 4]\n"
        "json-model-override-args = { a = 1 }\n"
        "chunked-prefill-size = -1\n"
    )
    assert order.arguments == (
        "--max-running-requests", "46", "--mem-fraction-static", "0.85", "--trust-remote-code",
        "--cuda-graph-bs", "1", "2", "4", "--json-model-override-args", '{"a": 1}', "--chunked-prefill-size=-1",
    )  # fmt: skip


def test_paths_are_meant_from_the_folder_of_the_file() -> None:
    order = order_in('model = "./qwen"\nstage = "../ram"\n[target]\npython = "python3.12"\nenv-file = "prod.env"')
    assert order.model == "/srv/fleets/qwen"
    assert order.stage == "/srv/fleets/../ram"
    assert order.target.python == "python3.12"
    assert order.target.env_file == "/srv/fleets/prod.env"
    assert order_in('model = "Qwen/Qwen3-32B"').model == "Qwen/Qwen3-32B"


REFUSED = {
    "no TOML": ("model = \n", "line 1"),
    "key twice": ("model = 'a'\nmodel = 'b'\n", "line 2"),
    "table twice": ("[limits]\nstart = 1\n[limits]\n", "line 3"),
    "unknown key": ("model = 'a'\nbase_port = 1\n", "line 2: no launch knows the key base_port|Did you mean base-port"),
    "unknown key in a table": ("[limits]\nstrat = 5\n", "line 2: no launch knows the key limits.strat|limits.start"),
    "key in no table": ("start = 5\n", "line 1: no launch knows the key start|limits.start"),
    "unknown table": ("[limit]\nstart = 5\n", "line 1: no launch knows the key limit|limits"),
    "no table": ("limits = 5\n", "line 1: limits is a table"),
    "text for a number": ("base-port = '30000'\n", "line 1: base-port is a whole number"),
    "number for a text": ("name = 5\n", "line 1: name is a text"),
    "switch": ("\n\ndetach = 1\n", "line 3: detach is true or false"),
    "true is no number": ("base-port = true\n", "base-port is a whole number"),
    "fraction of a port": ("base-port = 30000.5\n", "base-port is a whole number"),
    "no port": ("base-port = 70000\n", "cannot be 70000: it is 1 to 65535"),
    "no port at all": ("base-port = 0\n", "cannot be 0"),
    "infinite": ("[limits]\nstart = inf\n", "line 2: limits.start cannot be inf"),
    "not a number": ("[limits]\nstart = nan\n", "limits.start cannot be nan"),
    "negative": ("[limits]\ndrain = -1\n", "limits.drain cannot be -1"),
    "choice": ("level = 'laod'\n", "level cannot be 'laod'|load"),
    "dotted": ("limits.hang = 'x'\n", "line 1: limits.hang is a number"),
    "list": ("force = 'launch.gpu-busy'\n", "force is a list of texts"),
    "list of numbers": ("force = [1]\n", "force is a list of texts"),
    "variables": ("[environment]\nA = 1\n", "line 1: environment is a table of texts"),
    "toolkit by a variable": ("[environment]\nCUDA_HOME = '/x'\n", "CUDA_HOME|--cuda-home"),
    "GPU by a variable": ("[environment]\nCUDA_VISIBLE_DEVICES = '1'\n", "CUDA_VISIBLE_DEVICES|--gpus"),
    "name of a variable": ("[environment]\n'A B' = '1'\n", "'A B' is no name"),
    "arguments": ("sglang = 'a'\n", "line 1: sglang is a list of words"),
    "arguments of numbers": ("sglang = ['--tp', 2]\n", "sglang is a list of words"),
    "flag with dashes": ("[sglang]\n--tp = 2\n", "line 2: sglang.--tp is no flag"),
    "flag of a date": ("[sglang]\ntp = 2020-01-01\n", "line 2: sglang.tp is a text"),
    "NUL": ('model = "a\\u0000b"\n', "line 1: model holds a NUL"),
    "name of a fleet": ("name = '../other'\n", "is no name for a fleet"),
    "empty GPUs": ("gpus = ''\n", "--gpus names no GPU"),
    "two keys": ("api-key-file = 'k'\napi-key-variable = 'K'\n", "contradict each other"),
    "host": ("host = 'a b'\n", "is no address"),
    "fault without rehearsal": ("[rehearsal]\nfaults = ['hang']\n", "--rehearse"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_launch_takes_is_refused_in_one_line(case: str) -> None:
    text, said = REFUSED[case]
    with pytest.raises(Sm120kitError) as refused:
        order_in(text)
    whole = f"{refused.value.message}\n{refused.value.hint}"
    assert not [part for part in said.split("|") if part not in whole], whole
    assert "\n" not in refused.value.message
    assert refused.value.exit_code == 2


def test_control_characters_of_a_key_are_shown_as_text() -> None:
    with pytest.raises(Sm120kitError) as refused:
        order_in('"\\u001b[31m" = 1\n')
    assert "\x1b" not in refused.value.message


@pytest.mark.parametrize("content", [b"model = '\xff'\n", b"x" * (1 << 20) + b"y"], ids=["not UTF-8", "huge"])
def test_no_file_of_text(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fleet.toml"
    path.write_bytes(content)
    with pytest.raises(Sm120kitError, match=r"not UTF-8|larger than"):
        read_fleet_file(str(path))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Sm120kitError) as refused:
        read_fleet_file(str(tmp_path / "none.toml"))
    assert refused.value.exit_code == 2
    assert "--print-config" in refused.value.hint


def test_deep_nesting_is_no_crash() -> None:
    with pytest.raises(Sm120kitError):
        order_in("a = " + "[" * 5000 + "]" * 5000)


def test_a_number_without_end_is_no_crash() -> None:
    with pytest.raises(Sm120kitError):
        order_in("replicas = " + "9" * 5000)


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ('[sglang]\ntrust-remote-code = "yes"\n', "line 2: sglang.trust-remote-code is a switch", "= true"),
        ('sglang = ["--tp 2"]\n', "line 1: sglang takes '--tp 2' for one word", '"--tp", "2"'),
        ("[limit]\nhang = 3\n", "line 1: no launch knows the key limit", "Did you mean [limits]?"),
    ],
)
def test_what_is_written_otherwise_than_toml_wants_it(text: str, said: str, hint: str) -> None:
    with pytest.raises(Sm120kitError) as refused:
        order_in(text)
    assert said in refused.value.message
    assert hint in refused.value.hint


def test_what_is_refused_later_is_said_with_its_place_in_the_file() -> None:
    file = parse_fleet_file('[sglang]\ntp = 2\nno-such = 3\n[rehearsal]\ngpu = "x"\n', "/srv/fleet.toml")
    flag = Sm120kitError("SGLang 0.5.23 has no flag --no-such", hint="h", exit_code=4)
    found = placed(flag, file, ())
    assert found.message == "/srv/fleet.toml, line 3: SGLang 0.5.23 has no flag --no-such"
    assert (found.hint, found.exit_code) == ("h", 4)
    assert placed(Sm120kitError("--gpu 'x': no GPU"), file, ()).message.startswith("/srv/fleet.toml, line 5: --gpu")
    assert placed(flag, file, ("--no-such",)) is flag
    assert placed(Sm120kitError("nothing of the kind"), file, ()).message == "nothing of the kind"


def test_without_a_model_nothing_is_looked_for() -> None:
    with pytest.raises(Sm120kitError, match="no model was named"):
        prepare(Order(), {})
    refuse_without_model(Order(arguments=("--model-path", "/m")))
