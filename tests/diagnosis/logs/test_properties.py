"""Noise, interleaved ranks and cut files: the verdict stays or becomes 'not known', never another cause."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.diagnosis.logs.reading import LOGS, expected, read

NOISE = st.sampled_from(
    [
        "[2026-11-29 15:15:04 TP{rank}] Decode batch, #running-req: 7, #token: 4711, token usage: 0.31, "
        "#queue-req: 0, ",
        '[2026-11-29 15:15:04] INFO:     127.0.0.1:38272 - "POST /generate HTTP/1.1" 200 OK',
        "Loading safetensors checkpoint shards:  10% Completed | 1/17 [00:01<00:20,  1.1it/s]\rLoading "
        "safetensors: 20%",
        "[2026-11-29 15:14:59] Ignore import error when loading sglang.srt.models.inkling: No module named 'cutlass'",
        "/opt/venv/lib/python3.11/site-packages/torch/cuda/__init__.py:61: FutureWarning: The pynvml package is "
        "deprecated.",
        "[2026-11-29 15:17:03] Receive: obj=GenerateReqInput(text='ld: cannot find -lcudart, CUDA error: out of "
        "memory')",
        '  File "/opt/venv/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py", line 568, in __init__',
        "",
        "\x00\x00\x00",
        "\x1b[32mINFO\x1b[0m ready",
    ]
)

WRAP = st.sampled_from(
    [
        "{}",
        "Nov 29 15:28:08 box sglang[4242]: {}",
        "2026-11-29T15:28:08.123456789Z stderr F {}",
        "server-1  | {}",
        "[pod/sglang-0/server] {}",
        "\x1b[33m{}\x1b[0m",
        "{}\r",
    ]
)

BROKEN = [path for path in LOGS if expected(path) not in ("healthy", "unknown")]


@st.composite
def disturbed(draw: st.DrawFn, path: Path) -> bytes:
    """A log with noise between its lines, of several ranks that each keep their order, in some wrapping, cut at "
    "its end."""
    lines = path.read_text().splitlines()
    ranks = draw(st.integers(1, 3))
    queues = [list(lines) for _ in range(ranks)]
    mixed: list[str] = []
    for choice in draw(st.lists(st.integers(0, 5), min_size=ranks * len(lines), max_size=ranks * len(lines) * 2)):
        if choice >= ranks or not queues[choice]:
            mixed.append(draw(NOISE).replace("{rank}", str(choice)))
        else:
            mixed.append(queues[choice].pop(0))
    for queue in queues:
        mixed += queue
    wrapping = draw(WRAP)
    data = "\n".join(wrapping.replace("{}", line) for line in mixed).encode() + b"\n"
    return data[: draw(st.one_of(st.just(len(data)), st.integers(0, len(data))))]


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_never_another_cause(path: Path, data: st.DataObject) -> None:
    whole = [cause.check for cause in read(path.read_bytes()).causes]
    got = read(data.draw(disturbed(path)))
    named = [cause.check for cause in got.causes]
    assert named[:1] in ([], whole[:1])
    assert set(named) <= set(whole)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NOISE, WRAP), max_size=60))
def test_noise_is_nothing(lines: list[tuple[str, str]]) -> None:
    got = read("\n".join(wrapping.replace("{}", noise) for noise, wrapping in lines))
    assert (got.verdict, got.causes) == ("nothing-wrong", ())


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=5000))
def test_garbage_names_nothing(data: bytes) -> None:
    assert read(data).causes == ()
