"""FLASHINFER_CUDA_ARCH_LIST leaves out a GPU that is here, lacks the letter that FP4 needs, or cannot be read

## What it finds
A FLASHINFER_CUDA_ARCH_LIST whose entries do not cover the compute capability of a GPU, or that FlashInfer cannot parse.

## Why it matters
The list replaces what FlashInfer would find out by itself. A GPU that is missing in it gets "No supported CUDA
architectures found for major versions [12]" from modules made for it, or "no kernel image is available" from the rest.
FlashInfer up to 0.6.6 compiles `12.0` as it stands, without the letter, and FP4 then stops with `Instruction 'cvt with
.e2m1x2' not supported on .target 'sm_120'`. Entries are separated by single spaces: `12.0a;12.1a` ends in an exception
at import.

## How it is found
The list is split as FlashInfer splits it. Code for `12.0f` runs on 12.1 too, code for `12.0a` does not. Without the
variable there is nothing to judge.

## Remedy
Unset the variable on the machine that serves; where modules are built elsewhere, name every GPU with its letter.

## Sources
- flashinfer-python 0.6.6, 0.6.7.post2, 0.7.2.post1: compilation_context.py
- flashinfer-ai/flashinfer#1966
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
    Signature,
    Unknown,
    at,
    check,
    error,
    finding,
)
from sm120kit.diagnosis.flashinfer import FlashinferRule, flashinfer_rule

SIGNATURES = [
    Signature(
        pattern=r"Instruction '\S+ with \.e2m1x2' not supported on \.target 'sm_1[02]\d'",
        rank="cause",
        example="error   : Instruction 'cvt with .e2m1x2' not supported on .target 'sm_120'",
        look_alike="error   : Instruction 'cvt with .e2m1x2' not supported on .target 'sm_90a'",
        source="flashinfer-ai/flashinfer#1966 (CUDA 12.8.1)",
    ),
]

_VARIABLE = "FLASHINFER_CUDA_ARCH_LIST"
_ENTRY = r"(\d+)\.(\d+)([af]?)"


@check("flashinfer.arch-list-incomplete")
def arch_list_incomplete(case: Case) -> Iterator[Finding | CannotTell]:
    installed, value = case.distribution("flashinfer-python"), case.snapshot.environment.get(_VARIABLE)
    if installed is None:
        raise NotApplicable("FlashInfer is not installed")
    if value is None:
        raise NotApplicable(f"{_VARIABLE} is not set")
    entries = [re.fullmatch(_ENTRY, word) for word in value.split(" ")]
    if not all(entries):
        words = [word for word, entry in zip(value.split(" "), entries, strict=True) if not entry]
        yield error(
            _VARIABLE,
            f"FlashInfer cannot read {_VARIABLE}={value}: {words[0]!r} is no architecture, and entries are separated "
            "by one space each; importing FlashInfer fails",
            [at(f"{_VARIABLE}={value}", _VARIABLE), at(f"flashinfer-python {installed.version}", installed.path)],
            [_unset(), Manual("Separate the entries by single spaces", (f"export {_VARIABLE}='{_mended(value)}'",))],
        )
        return
    capabilities, rule = case.compute_capabilities, flashinfer_rule(installed.version)
    if isinstance(capabilities, Unknown):
        yield CannotTell(_VARIABLE, f"the GPU is not known: {capabilities.reason}")
        return
    targets = [(entry[1], entry[2], entry[3]) for entry in entries if entry]
    missing = [each for each in capabilities.value if not any(_covers(target, each, rule) for target in targets)]
    bare = [each for each in capabilities.value if _is_bare(targets, each, rule)]
    if missing:
        yield _incomplete(case, value, missing, Severity.ERROR if case.snapshot.consumers else Severity.WARNING)
    elif bare:
        yield finding(
            Severity.WARNING,
            _VARIABLE,
            f"{_VARIABLE}={value} has no letter for compute capability {' and '.join(bare)}: FlashInfer "
            f"{installed.version} compiles it as it stands, and FP4 kernels will not assemble",
            [at(f"{_VARIABLE}={value}", _VARIABLE), at(f"flashinfer-python {installed.version}", installed.path)],
            [
                _unset(),
                Manual("Give the letter", (f"export {_VARIABLE}='{_lettered(bare)}'",)),
            ],
        )


def _covers(target: tuple[str, str, str], capability: str, rule: FlashinferRule | None) -> bool:
    major, minor = capability.split(".")
    if target[0] != major:
        return False
    letter = target[2] or ("f" if rule and rule.adds_suffix and target[:2] == ("12", "0") else "")
    if letter == "f" or (not letter and int(major) < 10):
        return int(target[1]) <= int(minor)
    return target[1] == minor or (not letter and not (rule and rule.adds_suffix) and int(target[1]) <= int(minor))


def _is_bare(targets: list[tuple[str, str, str]], capability: str, rule: FlashinferRule | None) -> bool:
    """Whether code for a Blackwell GPU comes only from entries that are compiled without a letter."""
    if rule is None or rule.adds_suffix or int(capability.partition(".")[0]) < 10:
        return False
    return not any(letter and _covers((major, minor, letter), capability, rule) for major, minor, letter in targets)


def _incomplete(case: Case, value: str, missing: list[str], severity: Severity) -> Finding:
    where = case.compute_capabilities.source.where if not isinstance(case.compute_capabilities, Unknown) else ""
    gpus = " and ".join(missing)
    return finding(
        severity,
        _VARIABLE,
        f"{_VARIABLE}={value} does not cover compute capability {gpus}: FlashInfer builds nothing that runs there",
        [at(f"{_VARIABLE}={value}", _VARIABLE), at(f"compute capability {gpus}", where)],
        [
            _unset(),
            Manual("Name it too", (f"export {_VARIABLE}='{value} {_lettered(missing)}'",)),
        ],
    )


def _unset() -> Manual:
    return Manual("Leave it to FlashInfer, which asks the GPUs", (f"unset {_VARIABLE}",))


def _lettered(capabilities: list[str]) -> str:
    return " ".join(f"{each}a" for each in capabilities)


def _mended(value: str) -> str:
    return " ".join(re.findall(r"\d+\.\d+[af]?", value))
