"""A package is installed in a version that is known to fail or to give wrong results

## What it finds
Single versions of packages whose faults are documented, alone or beside a certain version of another package, and for
the GPUs that they concern.

## Why it matters
Such a version installs, imports and satisfies every requirement; SGLang 0.5.12 even pins one. What it does shows as
garbage in the answers, as a kernel that ptxas refuses, or as memory that is gone.

## How it is found
Installed versions are compared with a table. A row that concerns certain GPUs applies where one of them is there or
named, and is left open where no GPU is known. How severe a row is stands in the table: nothing there keeps a server
from starting on every path, so most are warnings.

## Remedy
Install the version that the finding names.

## Sources
- checks/tables/known_bad.toml: each row names its own
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Known,
    Manual,
    Severity,
    Signature,
    Unknown,
    at,
    check,
    finding,
)
from sm120kit.diagnosis.wheels import KnownBad, known_bad

SIGNATURES = [
    Signature(
        pattern=r"CRITICAL WARNING: PyTorch 2\.9\.1 & CuDNN Compatibility Issue Detected",
        rank="cause",
        example="CRITICAL WARNING: PyTorch 2.9.1 & CuDNN Compatibility Issue Detected",
        look_alike="WARNING: PyTorch 2.9.1 is newer than the version this was tested with",
        source="sgl-project/sglang#14119; ai-dynamo/dynamo#5482",
        versions="SGLang up to 0.5.10 with a multimodal model, torch 2.9.1, cuDNN older than 9.15",
    ),
]


@check("wheels.known-bad")
def known_bad_versions(case: Case) -> Iterator[Finding | CannotTell]:
    if isinstance(case.snapshot.distributions, Unknown):
        yield CannotTell("packages", case.snapshot.distributions.reason)
        return
    capabilities = case.compute_capabilities
    for row in known_bad(case):
        subject = _subject(case, row)
        if row.majors and isinstance(capabilities, Unknown):
            yield CannotTell(subject, f"it is bad on certain GPUs, and the GPU is not known: {capabilities.reason}")
        elif not isinstance(capabilities, Known) or _meets(capabilities.value, row):
            yield _found(case, row, subject)


def _meets(capabilities: tuple[str, ...], row: KnownBad) -> bool:
    return not row.majors or any(int(each.partition(".")[0]) in row.majors for each in capabilities)


def _subject(case: Case, row: KnownBad) -> str:
    installed = case.distribution(row.package)
    return f"{row.package} {installed.version}" if installed else row.package


def _found(case: Case, row: KnownBad, subject: str) -> Finding:
    installed, beside = case.distribution(row.package), case.distribution(row.beside)
    evidence = [at(f"{each.name} {each.version}", each.path) for each in (installed, beside) if each]
    return finding(
        Severity(row.severity),
        subject,
        f"{subject} {row.effect}",
        [*evidence, at("known from", row.source)],
        [Manual(row.remedy, row.commands)],
    )
