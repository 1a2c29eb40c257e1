"""How a launch line is read: as the argparse of that SGLang version reads it, and past where it stops."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sm120kit.diagnosis.launch import ArgumentProblem, LaunchLine
from sm120kit.diagnosis.tables import read_table
from sm120kit.engines.sglang import flag_table, nearest_version, read_launch_line, versions
from sm120kit.engines.sglang.flags import Flag, Rename, seen_in


def read(line: str, version: str = "0.5.23") -> LaunchLine:
    return read_launch_line(line.split(), version)


def only_problem(line: str, version: str = "0.5.23") -> ArgumentProblem:
    problems = read(line, version).problems
    assert len(problems) == 1, problems
    return problems[0]


@pytest.mark.parametrize(
    "line",
    [
        "--model-path /m --attention-backend fa3 --tp 2",
        "python -m sglang.launch_server --model-path /m --attention-backend fa3 --tp 2",
        "CUDA_VISIBLE_DEVICES=0 /opt/venv/bin/python3.12 -u -m sglang.launch_server --model-path=/m --tp=2"
        " --attention-backend=fa3",
        "sglang serve /m --attention-backend fa3 --tensor-parallel-size 2",
        "exec /opt/venv/bin/sglang serve --model /m --attention-back fa3 --tp-size 2",
    ],
)
@pytest.mark.parametrize("version", ["0.5.11", "0.5.12", "0.5.23"])
def test_one_line_written_in_many_ways(line: str, version: str) -> None:
    found = read(line, version)
    assert found.problems == ()
    assert (found.model_path, found.attention_backends, found.tp_size) == ("/m", ("fa3", "fa3"), 2)


def test_values_are_typed_and_defaults_known() -> None:
    found = read("--model-path /m --mem-fraction-static 0.85 --max-running-requests 128 --disable-radix-cache")
    assert found.share("mem_fraction_static") == 0.85
    assert found.number("max_running_requests") == 128
    assert found.switched_on("disable_radix_cache")
    assert found.kv_cache_dtype == "auto"
    assert found.number("port") == 30000
    assert found.value("context_length") is None
    assert found.words("mem_fraction_static") == "--mem-fraction-static 0.85"


@pytest.mark.parametrize(
    ("text", "count"), [("8192", 8192), ("-1", -1), ("8k", 8000), ("25.6k", 25600), ("8Ki", 8192), ("1M", 1000000)]
)
def test_counts_for_people(text: str, count: int) -> None:
    assert read(f"--max-total-tokens {text}").number("max_total_tokens") == count


@pytest.mark.parametrize("text", ["8K", "1.5Ki", "k", "many", "9" * 20, "9" * 5000, f"{'9' * 400}k", f"{'9' * 400}Ki"])
def test_what_is_no_count(text: str) -> None:
    assert only_problem(f"--max-total-tokens {text}").kind == "bad-value"


@pytest.mark.parametrize("text", ["9" * 20, f"-{'9' * 20}", "9" * 5000])
def test_a_number_that_no_machine_counts_with(text: str) -> None:
    assert only_problem(f"--chunked-prefill-size={text}").kind == "bad-value"


def test_prefill_and_decode_stand_before_the_common_backend() -> None:
    found = read("--attention-backend flashinfer --decode-attention-backend trtllm_mha", "0.5.12")
    assert found.attention_backends == ("flashinfer", "trtllm_mha")


def test_the_last_of_repeated_flags_counts() -> None:
    found = read("--attention-backend fa3 --attention-backend flashinfer")
    assert found.attention_backends == ("flashinfer", "flashinfer")
    assert found.repeated == ("--attention-backend",)


@pytest.mark.parametrize(
    ("version", "line", "kind", "instead"),
    [
        ("0.5.23", "--mamba-scheduler-strategy no_buffer", "renamed", ("--mamba-radix-cache-strategy",)),
        ("0.5.20", "--cuda-graph-max-bs 16", "renamed", ("--cuda-graph-max-bs-decode",)),
        ("0.5.23", "--nsa-prefill-backend fa3", "renamed", ("--dsa-prefill-backend",)),
        ("0.5.23", "--stream-output", "renamed", ("--incremental-streaming-output",)),
        ("0.5.23", "--torchao-config int4wo-128", "removed", ()),
        ("0.5.23", "--disable-piecewise-cuda-graph", "renamed", ("--cuda-graph-backend-prefill=disabled",)),
        ("0.5.14", "--hybrid-kvcache-ratio", "renamed", ("--swa-full-tokens-ratio",)),
        ("0.5.12", "--mamba-radix-cache-strategy no_buffer", "too-new", ()),
        ("0.5.12", "--attn-dp-size 2", "too-new", ()),
        ("0.5.23", "--max-runing-requests 8", "unknown", ("--max-running-requests", "--max-queued-requests")),
        ("0.5.23", "--gpu-memory-utilization 0.9", "unknown", ("--mem-fraction-static",)),
        ("0.5.9", "--max-num-seqs=64", "unknown", ("--max-running-requests",)),
        ("0.5.23", "--enable-auto-tool-choice", "unknown", ()),
        ("0.5.23", "--no-such-thing 1", "unknown", ()),
        ("0.5.23", "--cuda-graph-max-b 16", "ambiguous", ("--cuda-graph-max-bs-decode", "--cuda-graph-max-bs-prefill")),
        ("0.5.23", "--attention-backend cutlass_mla", "bad-choice", None),
        ("0.5.12", "--attention-backend cutedsl_mla", "bad-choice", None),
        ("0.5.23", "--kv-cache-dtype fp8", "bad-choice", ("fp8_e4m3", "mxfp8", "fp8_e5m2")),
        ("0.5.23", "--tp two", "bad-value", ()),
        ("0.5.23", "--mem-fraction-static", "missing-value", ()),
        ("0.5.23", "--disable-radix-cache=yes", "bad-value", ()),
        ("0.5.19", "--enable-expert-distribution-metrics", "removed", ("--expert-balancedness-report-mode",)),
    ],
)
def test_what_stops_a_version(version: str, line: str, kind: str, instead: tuple[str, ...] | None) -> None:
    problem = only_problem(f"--model-path /m {line}", version)
    assert problem.kind == kind
    assert problem.flag == line.split()[0].split("=")[0]
    assert problem.source
    if instead is not None:
        assert problem.instead == instead


def test_flags_of_vllm_are_known_by_name_and_lead_to_flags_that_are_there() -> None:
    newest = flag_table(versions()[-1]).flags
    for row in read_table("vllm_flags", Rename):
        assert row.flag not in newest
        assert set(row.instead) <= set(newest)
        assert row.instead or row.text
    assert "which is vLLM's; --mem-fraction-static is the share" in only_problem("--gpu-memory-utilization 0.9").text


def test_reading_goes_on_after_a_problem() -> None:
    found = read("--mamba-scheduler-strategy no_buffer stray --tp x --attention-backend fa3 -- more")
    assert [each.kind for each in found.problems] == ["renamed", "bad-value", "stray"]
    assert found.text("attention_backend") == "fa3"


def test_an_alias_still_works_and_is_named() -> None:
    found = read("--mamba-scheduler-strategy extra_buffer", "0.5.14")
    assert found.problems == ()
    assert found.mamba_strategy == "extra_buffer"
    assert [(each.flag, each.instead) for each in found.deprecations] == [
        ("--mamba-scheduler-strategy", "--mamba-radix-cache-strategy")
    ]


def test_old_and_new_spelling_are_one_setting() -> None:
    assert read("--mamba-scheduler-strategy no_buffer", "0.5.12").mamba_strategy == "no_buffer"
    assert read("--mamba-radix-cache-strategy no_buffer", "0.5.23").mamba_strategy == "no_buffer"


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [("0.5.12", "0.5.12"), ("0.5.23.post1", "0.5.23"), ("0.6.0", "0.5.23"), ("0.4.10", "0.5.9"), ("main", "0.5.23")],
)
def test_versions_that_the_table_does_not_know(asked: str, nearest: str) -> None:
    found = read("--tp 2", asked)
    assert found.read_as == nearest == nearest_version(asked)
    assert found.exact is (asked == nearest)


@pytest.mark.parametrize(("version", "count"), [("0.5.11", 387), ("0.5.12", 402), ("0.5.23", 559)])
def test_the_table_holds_all_flags_of_the_wheels(version: str, count: int) -> None:
    # counted in the parsers of the running servers, --no-... forms included and --help left out
    assert len(flag_table(version).flags) == count


def test_every_version_follows_the_one_before() -> None:
    assert versions()[0] == "0.5.9"
    assert versions()[-1] == "0.5.23"
    assert seen_in("--model-path") == versions()


class StoppedError(Exception):
    pass


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise StoppedError(message)


def argparse_of(version: str) -> Parser:
    """A real parser made from the table, as the wheel makes it from its own code."""
    types: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "loads": json.loads}
    parser = Parser(add_help=False)
    rows: dict[int, Flag] = {id(flag): flag for flag in flag_table(version).flags.values()}
    for flag in rows.values():
        if flag.kind == "value":
            parser.add_argument(
                *flag.flags,
                dest=flag.dest,
                nargs=flag.nargs,
                type=types.get(flag.type, str),
                choices=[types.get(flag.type, str)(each) for each in flag.choices] or None,
                default=argparse.SUPPRESS,
            )
        elif flag.kind == "yes-no":
            parser.add_argument(
                flag.flags[0], dest=flag.dest, action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS
            )
        else:
            parser.add_argument(*flag.flags, dest=flag.dest, action="store_true", default=argparse.SUPPRESS)
    return parser


PARSERS = {version: argparse_of(version) for version in ("0.5.12", "0.5.23")}
INTERESTING = [
    "--model-path", "--model", "--tp", "--tp-size", "--attention-backend", "--attention-b", "--kv-cache-dtype",
    "--mem-fraction-static", "--mem-fraction", "--max-running-requests", "--disable-radix-cache", "--max", "--disable",
    "--cuda-graph-bs-decode", "--cuda-graph-bs", "--lora-paths", "--speculative-algorithm", "--page-size", "--port",
    "--chunked-prefill-size", "--mamba-ssm-dtype", "--no-such-flag", "--enable-metrics", "--decode-attention-backend",
]  # fmt: skip
VALUES = ["2", "-1", "0.8", "-0.5", "fa3", "flashinfer", "auto", "fp8_e4m3", "/m", "x y", "", "-x", "EAGLE"]
WORDS = st.one_of(
    st.sampled_from(INTERESTING),
    st.sampled_from(VALUES),
    st.builds("{}={}".format, st.sampled_from(INTERESTING), st.sampled_from(VALUES)),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(WORDS, max_size=6), st.sampled_from(sorted(PARSERS)))
def test_we_stop_where_argparse_stops_and_read_what_it_reads(words: list[str], version: str) -> None:
    found = read_launch_line(["--port", "1", *words], version)
    try:
        expected, rest = PARSERS[version].parse_known_args(["--port", "1", *words])
    except StoppedError:
        assert found.problems
        return
    if rest:
        assert found.problems
        return
    assert found.problems == ()
    for name, value in vars(expected).items():
        mine = found.given[name]
        assert mine == (tuple(str(each) for each in value) if isinstance(value, list) else value)
