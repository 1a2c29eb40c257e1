"""What is put around lines, and how it is taken off."""

from __future__ import annotations

import pytest

from sm120kit.diagnosis.logs.cleaning import clean

TEXT = "RuntimeError: it broke"

PREFIXED = {
    "SGLang": (f"[2026-11-29 15:28:08] {TEXT}", ""),
    "SGLang, a rank": (f"[2026-11-29 15:28:08 TP7] {TEXT}", "TP7"),
    "SGLang, several ranks": (f"[2026-11-29 15:28:08 DP1 TP3 EP3] {TEXT}", "DP1 TP3 EP3"),
    "journald": (f"Nov 29 15:28:08 box sglang[4242]: [2026-11-29 15:28:08 TP1] {TEXT}", "TP1"),
    "journald, ISO": (f"2026-11-29T15:28:08+0000 box python3[4242]: {TEXT}", ""),
    "container runtime": (f"2026-11-29T15:28:08.123456789Z stderr F [2026-11-29 15:28:08 TP1] {TEXT}", "TP1"),
    "docker json-file": (
        f'{{"log":"[2026-11-29 15:28:08 TP1] {TEXT}\\n","stream":"stderr","time":"2026-11-29T15:28:08Z"}}',
        "TP1",
    ),
    "docker compose": (f"server-1  | {TEXT}", ""),
    "kubectl": (f"[pod/sglang-0/server] {TEXT}", ""),
    "timestamp": (f"2026-11-29 15:28:08,123 {TEXT}", ""),
    "torchrun": (f"[rank3]: {TEXT}", "rank3"),
    "torch": (f"[rank3]:[E1129 15:28:08.123456789 ProcessGroupNCCL.cpp:629] {TEXT}", "rank3"),
    "vLLM": (f"(EngineCore_0 pid=4242) ERROR 11-29 15:28:08 [core.py:708] {TEXT}", "EngineCore_0 pid=4242"),
    "kernel": (f"[12345.678901] {TEXT}", ""),
    "colours": ("\x1b[31m[2026-11-29 15:28:08 TP1]\x1b[0m Runtime\x1b[01;31m\x1b[KError\x1b[m\x1b[K: it broke", "TP1"),
    "NULs": (f"\x00\x00\x00{TEXT}", ""),
    "Windows": (f"{TEXT}\r", ""),
}


@pytest.mark.parametrize(("line", "process"), PREFIXED.values(), ids=PREFIXED.keys())
def test_prefixes_come_off(line: str, process: str) -> None:
    (got,) = clean(line.encode())
    assert (got.text, got.process) == (TEXT, process)


def test_a_line_written_over_is_several_texts() -> None:
    assert [each.text for each in clean(b"Loading:  10%\rLoading:  20%\rRuntimeError: it broke")] == [
        "Loading:  10%",
        "Loading:  20%",
        TEXT,
    ]


@pytest.mark.parametrize("line", [b"\xff\xfe\xff", b"\x1b[", b"{", b'{"log":1}', b'{"log":"\xff"}', b"[" * 5000, b""])
def test_anything_is_a_line(line: bytes) -> None:
    assert len(clean(line)) <= 1


@pytest.mark.parametrize(
    "line", ["ERROR:    broken", "[ERROR] broken", "CRITICAL - broken", "ERROR 11-29 15:28:08 [a.py:1] broken"]
)
def test_what_calls_itself_an_error(line: str) -> None:
    assert clean(line.encode())[0].is_error
    assert not clean(line.replace("ERROR", "INFO").replace("CRITICAL", "INFO").encode())[0].is_error
