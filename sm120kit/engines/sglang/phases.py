"""What a server is at while it starts, by one line of its log, in the wordings of 0.5.11 to 0.5.23. Pure.

Every "GB" in these lines is a GiB (2^30 bytes), and is called that here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sm120kit.patterns import pattern

_READY = "The server is fired up and ready to roll!"

_LONGEST_LINE = 4096
"""No line that tells a phase is longer, but for that of the settings, whose beginning does."""

_NOISE = pattern(r"\x1b\[[0-9;]*[A-Za-z]")
_PREFIX = pattern(r"^(?:.{0,80}?\s)?\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]{0,80}\]\s?")
_BATCH = pattern(r"(?:\[[^\]]{1,80}\]\s?)?(?:Prefill|Decode) batch[ ,]")

_COUNT = r"(?P<done>\d{1,9})/(?P<all>\d{1,9}) \["
_SIZE = r"(?P<size>\d{1,9}\.\d{1,9}) GB"

_PHASES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (pattern(r"server_args="), lambda _: "starting"),
    (pattern(r"Init (?:torch distributed|parallel) begin"), lambda _: "joining its ranks"),
    (
        pattern(rf"Load weight begin\. avail mem={_SIZE}"),
        lambda found: f"loading weights, {found['size']} GiB free",
    ),
    (
        pattern(rf"(?:Multi-thread )?[Ll]oading (?:\w+ )?(?:checkpoint )?shards: .{{0,40}}?{_COUNT}"),
        lambda found: f"loading weights, {found['done']} of {found['all']} shards",
    ),
    (
        pattern(rf"Load weight end\..*mem usage={_SIZE}"),
        lambda found: f"weights loaded, they take {found['size']} GiB",
    ),
    (
        pattern(r"Mamba Cache is allocated\. max_mamba_cache_size: (?P<slots>\d{1,12})"),
        lambda found: f"allocating the state cache, {found['slots']} slots",
    ),
    (
        pattern(r"(?:[\w -]{1,40} )?KV Cache (?:is allocated|VA upper bound)\..*#tokens: (?P<tokens>\d{1,15})"),
        lambda found: f"allocating the KV cache, {found['tokens']} tokens",
    ),
    (pattern(rf"Memory pool end\. avail mem={_SIZE}"), lambda found: f"pools allocated, {found['size']} GiB free"),
    (pattern(r"Running FlashInfer autotune"), lambda _: "autotuning kernels"),
    (
        pattern(r"Capture (?:(?P<what>[\w -]{1,40}?) )?(?:CUDA|cuda|cpu|CPU|xpu|XPU|npu|NPU) graph begin\."),
        lambda found: _captured(found["what"]),
    ),
    (
        pattern(rf"Compiling num tokens \(num_tokens=\d{{1,9}}\).{{0,120}}?{_COUNT}"),
        lambda found: f"compiling graphs, {found['done']} of {found['all']}",
    ),
    (
        pattern(rf"(?:\[BCG\] )?Capturing (?:batches |num tokens |prefill shape )?\(.{{0,120}}?{_COUNT}"),
        lambda found: f"capturing graphs, {found['done']} of {found['all']}",
    ),
    (
        pattern(rf"Capture .{{0,60}}graph end\..*mem usage={_SIZE}"),
        lambda found: f"graphs captured, they take {found['size']} GiB",
    ),
    (
        pattern(r"max_total_num_tokens=(?P<tokens>\d{1,15}), .*max_running_requests=(?P<granted>\d{1,12}),"),
        lambda found: f"loaded, {found['granted']} requests and {found['tokens']} tokens granted",
    ),
    (pattern(r"INFO:\s+Started server process"), lambda _: "opening its port"),
    (pattern(r"INFO:\s+Uvicorn running on "), lambda _: "warming up"),
    (pattern(re.escape(_READY)), lambda _: "ready"),
)
"""What each known line tells, in the order of a start."""


def phase_of(line: str) -> str:
    """What the server is at, in a few words with the numbers of the line; empty for a line that tells nothing.

    A progress bar writes over itself with carriage returns: its last state counts.
    """
    text = _message(line)
    for known, words in _PHASES:
        found = known.match(text)
        if found:
            return words(found)
    return ""


def is_ready(line: str) -> bool:
    """Whether SGLang says that it is up: it does so too when the port that answered belongs to somebody else."""
    return _message(line).startswith(_READY)


def is_progress(line: str) -> bool:
    """Whether the scheduler has run a batch."""
    return _BATCH.match(_message(line)) is not None


def _captured(what: str | None) -> str:
    """``target decode`` and such in 0.5.23, ``piecewise`` before."""
    return f"capturing graphs ({what})" if what else "capturing graphs"


def _message(line: str) -> str:
    """The line without time and rank before it, and without colours; of a bar its last state."""
    last = line.rstrip("\r\n").rpartition("\r")[2][:_LONGEST_LINE]
    return _PREFIX.sub("", _NOISE.sub("", last), count=1)
