"""What the installed serving packages require and is not installed at all, from their own METADATA."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress

from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.records import Distributions, normalised, requires
from sm120kit.snapshot.types.packages import Lacking

SERVING = ("flashinfer-python", "sgl-kernel", "sglang", "sglang-kernel", "torch", "triton", "vllm")
"""The distributions whose requirements are looked at."""

_RECORDS = (".dist-info", ".egg-info", ".egg-link", ".egg")


def read_lacking(context: Context, distributions: Distributions) -> Fact[tuple[Lacking, ...]]:
    """Requires-Dist lines that belong to no extra, and for whose name there is neither a distribution of any kind nor a
    folder or module. Whether their markers hold for this machine is not judged."""
    if distributions.problem or not distributions.folders:
        return Unknown(distributions.problem or "the target has no folder of installed packages")
    if context.target.kind == "site-packages":
        return Unknown("one folder of packages was named: what is not in it may lie in another")
    installed = {each.name for each in distributions.found}
    others: set[str] = set()

    def is_there(name: str) -> bool:
        if name in installed:
            return True
        if not others:
            others.update(_others(context, distributions))
        return name in others

    found = tuple(_lacking(context, distributions, is_there))
    return Known(found, Source("file", ":".join(distributions.folders)))


def _lacking(context: Context, distributions: Distributions, is_there: Callable[[str], bool]) -> Iterator[Lacking]:
    for each in filter(None, map(distributions.first, SERVING)):
        try:
            lines = requires(context.files, each)
        except OSError:
            continue
        always = (line for line in lines if "extra" not in line.partition(";")[2])
        wanted = [(line, re.match(r"[A-Za-z0-9][\w.-]*", line)) for line in always]
        missing = tuple(line for line, name in wanted if name and not is_there(normalised(name[0])))
        if missing:
            yield Lacking(f"{each.name} {each.version}", f"{each.path}/METADATA", missing)


def _others(context: Context, distributions: Distributions) -> Iterator[str]:
    """Names of what is there without a dist-info folder in these folders: older records, packages that were only
    copied, and what lies in the folders that PYTHONPATH adds."""
    added = [folder for folder in context.environment.get("PYTHONPATH", "").split(":") if folder.startswith("/")]
    for folder in (*distributions.folders, *added):
        with suppress(OSError):
            for entry in context.files.names(folder):
                if entry.endswith(_RECORDS):
                    yield normalised(entry.rpartition(".")[0].partition("-")[0])
                else:
                    yield normalised(entry.removesuffix(".py"))
