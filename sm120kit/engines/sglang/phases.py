"""What a server is at while it starts, by the lines of its log, in the wordings of 0.5.11 to 0.5.23.

Every "GB" in these lines is a GiB (2^30 bytes).
"""

from __future__ import annotations

import re

_READY = "The server is fired up and ready to roll!"

_PHASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"server_args=", "reading its arguments"),
        (r"Init (?:torch distributed|parallel) begin", "joining its process group"),
        (r"Load weight begin\. avail mem=(?P<a>[\d.]+) GB", "loading weights, {a} GiB free"),
        (
            r"Load weight end\..*avail mem=(?P<a>[\d.]+) GB, mem usage=(?P<b>[\d.]+) GB",
            "weights loaded, {b} GiB, {a} GiB free",
        ),
        (r"Mamba Cache is allocated\. max_mamba_cache_size: (?P<a>\d+)", "allocated {a} state slots"),
        (r"KV Cache (?:is allocated|VA upper bound)\b.*#tokens: (?P<a>\d+)", "allocated a pool of {a} tokens"),
        (r"Memory pool end\. avail mem=(?P<a>[\d.]+) GB", "pools allocated, {a} GiB free"),
        (r"Running FlashInfer autotune", "tuning FlashInfer's kernels"),
        (r"Capture (?P<a>.*?) ?graph begin\b", "capturing {a} graphs"),
        (r"Capture (?P<a>.*?) ?graph end\b", "captured {a} graphs"),
        (r"max_total_num_tokens=\d+,.*max_running_requests=(?P<a>\d+)", "grants {a} requests"),
        (r"(?:INFO:\s+)?Started server process", "opening its port"),
        (r"(?:INFO:\s+)?Uvicorn running on", "warming up"),
        (_READY, "ready"),
    )
)

_WORTH_A_LOOK = re.compile(r"[Ii]nit |Load|KV|Mamba|pool|utotune|Capture|max_total|server|vicorn")
_PREFIX = re.compile(r"^(?:\S+ )?\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]*\]\s?")


def phase_of(line: str) -> str:
    """What it is at, in a few words with the figures of the line; empty where the line does not tell."""
    if not _WORTH_A_LOOK.search(line):
        return ""
    text = _PREFIX.sub("", line, count=1)
    for pattern, words in _PHASES:
        found = pattern.match(text)
        if found:
            return words.format(**found.groupdict())
    return ""


def is_ready(line: str) -> bool:
    """Whether it says that it is up. Its own warm-up has had an answer then, which may have come from a stranger on the
    same port."""
    return line.rstrip().endswith(_READY)


def is_progress(line: str) -> bool:
    """Whether the line is written by a scheduler that has just run a batch."""
    return "Decode batch" in line or "Prefill batch" in line
