"""Logs of any size and state."""

from __future__ import annotations

import gzip
import io
import itertools
import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from sm120kit.diagnosis.logs.opening import open_log
from sm120kit.diagnosis.logs.verdict import why
from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from tests.diagnosis.logs.reading import catalogue, named, read

CAUSE = b"/usr/bin/ld: cannot find -lcudart: No such file or directory\n"
CHECK = "toolkit.cudart-unlinkable"
QUIET = b"[2026-11-29 15:00:00 TP0] Decode batch, #running-req: 7, #token: 4711, token usage: 0.31, #queue-req: 0, \n"


class Repeated(io.RawIOBase):
    """A stream that gives blocks without holding them all."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        while len(self._rest) < size:
            block = next(self._blocks, b"")
            if not block:
                break
            self._rest += block
        given, self._rest = self._rest[:size], self._rest[size:]
        return given


def _many(block: bytes, times: int, last: bytes) -> Iterator[bytes]:
    for _ in range(times):
        yield block
    yield last


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(QUIET * 10_000, id="lines"),
        pytest.param(b"x" * (1 << 20), id="one endless line"),
        pytest.param(b"\x00" * (1 << 20), id="NULs"),
        pytest.param(b"\rLoading:  10%" * 50_000, id="one endless progress bar"),
        pytest.param(b"word\xff\xfe\n" * 100_000, id="no UTF-8"),
    ],
)
def test_memory_is_bounded(block: bytes) -> None:
    catalogue()
    tracemalloc.start()
    try:
        got = why(Repeated(_many(block, 24, b"\n" + CAUSE)), "big", catalogue())  # type: ignore[arg-type] # reads alone
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [cause.check for cause in got.causes] == [CHECK]
    assert got.bytes == 24 * len(block) + 1 + len(CAUSE)
    assert peak < 15 << 20 < 24 * len(block)


def test_the_number_of_a_line_is_right_after_many_blocks() -> None:
    got = read(QUIET * 50_000 + CAUSE + QUIET * 10)
    assert (got.causes[0].line, got.lines) == (50_001, 50_011)


@pytest.mark.parametrize("size", [100, 70_000, 1_500_000, 3_000_000])
def test_a_cause_inside_a_long_line_is_found(size: int) -> None:
    assert named(b"a b " * (size // 4) + CAUSE.strip() + b" c d" * (size // 4)) == [CHECK]


@pytest.mark.parametrize("size", [100, 70_000, 3_000_000])
def test_what_a_user_typed_is_no_cause(size: int) -> None:
    request = (
        b"[2026-11-29 15:00:00] Receive: obj=GenerateReqInput(text='" + b"a b " * (size // 4) + CAUSE.strip() + b"')"
    )
    assert named(request) == []
    assert named(request + b"\n" + CAUSE) == [CHECK]


def test_digits_do_not_hide_a_line_behind_another_of_its_shape() -> None:
    ended = "FAILED: [code={}] fused_moe_120.cuda.o\n"
    assert named(ended.format(1)) == []
    assert named(ended.format(1) * 3 + ended.format(137)) == ["jit.memory-exhaustion"]


@pytest.mark.parametrize("cut", [b"", b"\x00" * 5000, QUIET[:40]])
def test_a_log_that_ends_in_the_middle_says_so(cut: bytes) -> None:
    got = read(CAUSE + cut)
    assert [cause.check for cause in got.causes] == [CHECK]
    assert got.incomplete == ("it ends in the middle of a line" if cut else "")


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "server.log.gz"
    whole = gzip.compress(QUIET * 1000 + CAUSE)
    path.write_bytes(whole)
    with open_log(str(path)) as stream:
        assert [cause.check for cause in why(stream, "", catalogue()).causes] == [CHECK]
    path.write_bytes(whole[:-6])
    with open_log(str(path)) as stream:
        assert why(stream, "", catalogue()).incomplete == "the compressed file is cut off"
    noise = "".join(f"{random.Random(number).random()}\n" for number in range(5000)).encode()
    whole = gzip.compress(CAUSE + noise)
    for rest, said in ((b"", "cut off"), (b"\xff" * 40, "damaged")):  # what stands before that place counts
        path.write_bytes(whole[: len(whole) // 2] + rest)
        with open_log(str(path)) as stream:
            got = why(stream, "", catalogue())
        assert got.incomplete == f"the compressed file is {said}"
        assert [cause.check for cause in got.causes] == [CHECK]
    path.write_bytes(whole[:12] + b"\xff" * 40)
    with pytest.raises(Sm120kitError, match="cut off or damaged"), open_log(str(path)):
        pass


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (bytes(range(256)) * 50, "is no text"),
        (b"\x7fELF\x02\x01\x01" + bytes(range(32)) * 100, "is no text"),
        (b"\x28\xb5\x2f\xfd" + b"x" * 10, "is compressed with zstd"),
        (b"BZh91AY", "is compressed with bzip2"),
    ],
)
def test_what_is_no_log(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "thing"
    path.write_bytes(content)
    with pytest.raises(Sm120kitError) as caught, open_log(str(path)):
        pass
    assert said in caught.value.message
    assert str(path) in caught.value.message
    assert caught.value.exit_code == TARGET_UNREADABLE


def test_a_folder_or_nothing_is_no_log(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(Sm120kitError) as caught, open_log(str(path)) as stream:
            stream.read(1)
        assert caught.value.exit_code == TARGET_UNREADABLE
        assert str(path) in caught.value.message


def _errors(start: int, end: int) -> bytes:
    """Errors of one kind, no two alike."""
    head = "[2026-11-29 15:00:00 TP3] ERROR: request "
    return "".join(f"{head}{n * 0x9E3779B97F4A7C15 % 2**64:016x} failed: bad\n" for n in range(start, end)).encode()


@pytest.mark.parametrize("what", ["known", "not known"])
def test_a_cause_behind_a_million_other_errors_is_found(what: str) -> None:
    last = CAUSE if what == "known" else b"[2026-11-29 15:00:00 TP1] ERROR: the widget is upside down\n"
    blocks = (_errors(start, start + 10_000) for start in range(0, 1_000_000, 10_000))
    got = why(Repeated(itertools.chain(blocks, [last, _errors(0, 100)])), "", catalogue())  # type: ignore[arg-type]
    if what == "known":
        assert [(cause.check, cause.line, cause.times) for cause in got.causes] == [(CHECK, 1_000_001, 1)]
    else:
        assert [(line.line, line.text[:20]) for line in got.suspects] == [
            (1, "ERROR: request 00000"),
            (1_000_001, "ERROR: the widget is"),
        ]
    assert got.lines == 1_000_101


def test_a_new_word_for_trouble_is_seen_after_any_number_of_errors_of_no_kind() -> None:
    letters = "ghijklmnopqrstuvwxyz"
    chance = random.Random(1)
    lines = ["ERROR: " + "".join(chance.choices(letters, k=20)) + "\n" for _ in range(30_000)]
    got = read("".join(lines) + "WidgetError: upside down\n" + "".join(lines[:10]))
    assert (30_001, "WidgetError: upside down") in [(line.line, line.text) for line in got.suspects]


@pytest.mark.parametrize("cause", [CAUSE, CAUSE.replace(b"cannot", b"\x1b[1mcannot\x1b[0m")])
def test_a_line_is_not_hidden_behind_others_without_its_letters(cause: bytes) -> None:
    """Without digits and the letters a to f, these lines are the same as that of the cause."""
    others = cause.translate(None, b"abcdef")
    lines = [f"{number:x}".encode() + others for number in range(0xA000, 0xA400)]
    got = read(b"".join(lines) + cause + b"".join(lines))
    assert [(found.check, found.line) for found in got.causes] == [(CHECK, 0x401)]


def test_every_line_that_shows_a_known_cause_is_counted() -> None:
    lines = [f"request {n * 0x9E3779B97F4A7C15 % 2**64:x}: ".encode() + CAUSE for n in range(3000)]
    (cause,) = read(b"".join(lines)).causes
    assert (cause.times, cause.line) == (3000, 1)
