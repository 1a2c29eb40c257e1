"""Reads SGLang's start-up log: the phases that say where memory went, in the wordings of 0.5.11 to 0.5.23.

Every "GB" in these lines is a GiB (2^30 bytes), rounded to two decimals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sm120kit.diagnosis.launch import Value
from sm120kit.diagnosis.logs.told import Told
from sm120kit.engines.sglang.observed import Observed
from sm120kit.redaction import redacted

_GIB = 1 << 30
_LONGEST_LINE = 1 << 20
_MOST_NOT_UNDERSTOOD = 20
_NUMBER = r"(-?[\d.]+)"

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PREFIX = re.compile(r"^(?:.*?\s)?\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]*\]\s?")

_PATTERNS: dict[str, str] = {
    "load begin": rf"Load weight begin\. avail mem={_NUMBER} GB",
    "load end": rf"Load weight end\..*avail mem={_NUMBER} GB, mem usage={_NUMBER} GB",
    "baseline": rf"Memory baseline taken\. mem usage={_NUMBER} GB",
    "kv pool": r"(?:.*)?KV Cache is allocated\..*#tokens: (\d+), "
    rf"(?:K size: {_NUMBER} GB, V size: {_NUMBER} GB|KV size: {_NUMBER} GB)",
    "state pool": r"Mamba Cache is allocated\. max_mamba_cache_size: (\d+), "
    rf"conv_state size: {_NUMBER}GB, ssm_state size: {_NUMBER}GB",
    "sliding pool": r"Use sliding window memory pool.*swa_layer_tokens=(\d+)",
    "pool end": rf"Memory pool end\. avail mem={_NUMBER} GB",
    "graphs begin": r"Capture .*graph begin\.",
    "graphs end": rf"Capture .*graph end\..*mem usage={_NUMBER} GB[.,] avail mem={_NUMBER} GB",
    "graph sizes": r"Capture .*graph (?:bs|num tokens) \[",
    "granted": r"max_total_num_tokens=(\d+), chunked_prefill_size=(-?\d+), max_prefill_tokens=(\d+), "
    rf"max_running_requests=(\d+), context_len=(\d+), available_[a-z]pu_mem={_NUMBER} GB",
    "capped": r"max_running_requests (?:is capped|was reduced) .*",
    "user limit": r"max_total_tokens=\d+ is larger than the profiled value \d+.*",
    "no memory": r".*(?:Not enough memory\. Please try to increase|Loaded weights leave no GPU memory|"
    r"Not enough GPU memory for hybrid|state cache is too small to serve|max_running_request is zero).*",
    "graphs failed": r".*Capture cuda graph failed:.*",
}
"""Each known line by what it tells; tried in this order."""

_LOOKS_LIKE_A_PHASE = re.compile(
    r"(?:Load weight |.{0,24}KV Cache (?:is|VA)|Mamba Cache |Memory pool |Memory baseline |Capture .*graph |"
    r"max_total_num_tokens=|Use sliding window )"
)


def read_startup_log(lines: Iterable[str], source: str) -> Observed:
    """What the log of one server tells. With several ranks in it the last word of any of them counts."""
    return _Reading(source).read(lines)


def lines_of(chunks: Iterable[bytes]) -> Iterator[str]:
    """Lines of a log in pieces; one that never ends is cut."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (each.decode("utf-8", "replace") for each in whole)
        if len(rest) > _LONGEST_LINE:
            yield rest[:_LONGEST_LINE].decode("utf-8", "replace")
            rest = b""
    if rest:
        yield rest.decode("utf-8", "replace")


class _Reading:
    """A log while it is read."""

    def __init__(self, source: str) -> None:
        self.told: dict[str, Any] = {"source": source}
        self.settings: dict[str, Value] = {}
        self.complaints: list[str] = []
        self.not_understood: list[str] = []
        self.graphs = 0
        self.beside = Told()
        self.patterns = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}
        self.steps: dict[str, Callable[[re.Match[str]], None]] = {
            "load begin": lambda found: self._size("free_before", found[1]),
            "load end": self._loaded,
            "kv pool": self._kv_pool,
            "state pool": self._state_pool,
            "graphs end": self._graphs,
            "granted": self._granted,
            "capped": lambda found: self.complaints.append(found[0]),
            "user limit": lambda found: self.complaints.append(found[0]),
            "no memory": self._failed,
            "graphs failed": self._failed,
        }

    def read(self, lines: Iterable[str]) -> Observed:
        for number, line in enumerate(lines, start=1):
            if "sglang" in line or "server_args=" in line:
                self.beside.read(number, line[:_LONGEST_LINE])
            self._line(_PREFIX.sub("", _ANSI.sub("", line.rstrip("\r\n")[:_LONGEST_LINE]), count=1))
        version = self.beside.version_of("sglang")
        if version:
            self.told |= {
                "version": version.version,
                "version_exact": version.exact,
                "version_line": version.line,
            }
        return Observed(
            **self.told,
            settings=self.settings,
            complaints=tuple(dict.fromkeys(self.complaints)),
            not_understood=tuple(redacted(line) for line in dict.fromkeys(self.not_understood))[:_MOST_NOT_UNDERSTOOD],
        )

    def _line(self, text: str) -> None:
        if text.startswith("server_args="):
            self.settings = read_settings(text.removeprefix("server_args=")) or self.settings
            return
        for name, pattern in self.patterns.items():
            found = pattern.match(text)
            if found:
                step = self.steps.get(name)
                try:
                    if step:
                        step(found)
                except (ValueError, OverflowError):  # a number without end, from a line that another was written into
                    self.not_understood.append(text)
                return
        if _LOOKS_LIKE_A_PHASE.match(text):
            self.not_understood.append(text)

    def _size(self, name: str, gib: str) -> None:
        try:
            self.told[name] = round(float(gib) * _GIB)
        except ValueError:  # two dots, from a line that another one was written into
            self.not_understood.append(f"{name}: {gib}")

    def _loaded(self, found: re.Match[str]) -> None:
        # A draft model is loaded after the one that serves, and has such a line too.
        if "weights" not in self.told:
            self._size("free_after", found[1])
            self._size("weights", found[2])
            if "free_before" not in self.told and {"free_after", "weights"} <= self.told.keys():
                self.told["free_before"] = self.told["free_after"] + self.told["weights"]

    def _kv_pool(self, found: re.Match[str]) -> None:
        if "kv_pool" in self.told:
            return
        self.told["tokens"] = int(found[1])
        sizes = [float(size) for size in found.groups()[1:] if size]
        self.told["kv_pool"] = round(sum(sizes) * _GIB)

    def _state_pool(self, found: re.Match[str]) -> None:
        if "state_pool" in self.told:
            return
        self.told["state_slots"] = int(found[1])
        self.told["state_pool"] = round((float(found[2]) + float(found[3])) * _GIB)

    def _graphs(self, found: re.Match[str]) -> None:
        self.graphs += round(float(found[1]) * _GIB)
        self.told["graphs"] = self.graphs

    def _granted(self, found: re.Match[str]) -> None:
        self.told |= {"tokens": int(found[1]), "granted": int(found[4]), "context": int(found[5])}

    def _failed(self, found: re.Match[str]) -> None:
        self.told.setdefault("failure", found[0].strip())


def read_settings(text: str) -> dict[str, Value]:
    """The settings in ``ServerArgs(name=value, …)`` (older versions) or in a dict; values that are no plain data are
    left out, and a record that cannot be read gives none."""
    import ast

    try:
        tree = ast.parse(text.strip()[:_LONGEST_LINE], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    if isinstance(tree, ast.Call):
        pairs = [(word.arg, word.value) for word in tree.keywords]
    elif isinstance(tree, ast.Dict):
        pairs = [
            (key.value, value)
            for key, value in zip(tree.keys, tree.values, strict=True)
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        ]
    else:
        return {}
    return {name: value for name, node in pairs if name for value in [_plain(node)] if value is not None}


def _plain(node: Any) -> Value:
    import ast

    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        return None
    if isinstance(value, list | tuple):
        return tuple(str(each) for each in value)
    return value if isinstance(value, bool | int | float | str) else None
