"""A package that an installed one requires is not installed at all

## What it finds
FlashInfer, SGLang, its kernels, vLLM, torch or Triton beside none of the packages that they require: torch itself,
numpy, ninja. It is so after `pip install --no-deps`, an interrupted installation, or a copy of some folders.

## Why it matters
An import of what is not there fails, at the start or at the first request that needs it. SGLang and vLLM import torch
first of all: without it they do not start, which is an error. Of the other packages some are needed by few features
only, so they are a warning.

## How it is found
By the Requires-Dist lines in the METADATA of the installed packages that hold for this machine and Python; those of
extras are left out. A requirement counts as met by any record of it, dist-info or egg-info, by a folder or module of
its name, also below PYTHONPATH, and by the package that took its place. Versions are no matter here: see
`sglang.pins-violated`. Nothing is said where `--site-packages` names one folder, as what is not in it may lie in
another.

## Remedy
Install what is missing.

## Sources
- https://packaging.python.org/en/latest/specifications/core-metadata/#requires-dist-multiple-use
- flashinfer-python 0.6.7.post2 METADATA: thirteen Requires-Dist lines without an extra
"""

import re
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Manual,
    NotApplicable,
    Severity,
    Unknown,
    at,
    check,
    finding,
    read_table,
)
from sm120kit.diagnosis.pins import requirements_here
from sm120kit.diagnosis.wheels import RenamedPackage

_IMPORT_TORCH_FIRST = ("sglang", "vllm")
_MOST_NAMED = 8


@check("wheels.requirement-missing")
def requirement_missing(case: Case) -> Iterator[Finding | CannotTell]:
    if isinstance(case.snapshot.distributions, Unknown):
        yield CannotTell("packages", case.snapshot.distributions.reason)
        return
    if isinstance(case.snapshot.lacking, Unknown):
        raise NotApplicable(case.snapshot.lacking.reason)
    for each in case.snapshot.lacking.value:
        missing = {
            name: line for name, line in requirements_here(each.lines, case).items() if not _has_other_name(case, name)
        }
        if not missing:
            continue
        package = each.distribution.partition(" ")[0]
        stops = "torch" in missing and package in _IMPORT_TORCH_FIRST
        names = sorted(missing, key=lambda name: (name != "torch", name))
        named = ", ".join(names[:_MOST_NAMED])
        if more := len(names) - _MOST_NAMED:
            named += f" and {more} more" if more > 0 else ""
        verb = "is" if len(names) == 1 else "are"
        yield finding(
            Severity.ERROR if stops else Severity.WARNING,
            package,
            f"{each.distribution} requires {named}, which {verb} not installed"
            + (": it imports torch first of all, and will not start" if stops else ""),
            [at(missing[name], each.path) for name in names],
            [Manual("Install what is missing", (f"pip install {' '.join(_quoted(missing[name]) for name in names)}",))],
        )


def _has_other_name(case: Case, name: str) -> bool:
    """Whether a package that took the place of this one, or that it took the place of, is installed."""
    pairs = [(row.old, row.new) for row in read_table("renamed_packages", RenamedPackage)]
    return any(case.distribution(new if name == old else old) is not None for old, new in pairs if name in (old, new))


def _quoted(line: str) -> str:
    requirement = re.sub(r"\s+", "", line.partition(";")[0])
    return requirement if re.fullmatch(r"[\w.-]+", requirement) else f'"{requirement}"'
