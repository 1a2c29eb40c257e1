"""A package is not of the version that the installed SGLang pins

## What it finds
Installed packages whose version differs from the `==` pin in the metadata of the installed SGLang.

## Why it matters
SGLang is tested with exactly its pins. Another version of torch, flashinfer or the kernel package often loads and then
fails in a symbol, a kernel or a changed default. It mostly comes from a later `pip install` that moved one package
along. Often it is meant, so it is a warning.

## How it is found
Requires-Dist of SGLang's own METADATA, pins with `==` whose marker holds on this machine; extras are left out. A local
part such as `+cu130` does not count. What SGLang itself pins is healthy whatever it looks like: torchaudio 2.11.0
beside torch 2.14.1 in 0.5.23. Packages that are not installed are not mentioned, nor those that `sglang.start-assert`
calls an error.

## Remedy
The pinned versions, all in one command, so that pip does not move others.

## Sources
- METADATA of the sglang wheels 0.5.9 to 0.5.23
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    LogRemedy,
    Manual,
    Signature,
    Unknown,
    at,
    check,
    warning,
)
from sm120kit.diagnosis.pins import machine_and_python, minimums, pins, satisfies, skips_assertions
from sm120kit.diagnosis.versions import older

SIGNATURES = [
    Signature(
        pattern=r"sglang (?P<sglang>\S+) requires (?P<package>[\w.-]+)(?:\[[^\]]*\])?==(?P<pin>[^,\s]+),"
        r" but you have (?P<same>[\w.-]+) (?P<version>\S+) which is incompatible",
        rank="limit",
        example="sglang 0.5.12 requires torch==2.11.0, but you have torch 2.14.1 which is incompatible.",
        look_alike="vllm 0.22.1 requires torch==2.11.0, but you have torch 2.14.1 which is incompatible.",
        source="pip's resolver, after installing a newer torch beside sglang 0.5.12",
        versions="any pip",
        message="{package} {version} is not the {pin} that sglang {sglang} pins",
        remedies=(LogRemedy("Install the pinned version", ('pip install "{package}=={pin}"',)),),
    ),
]


@check("sglang.pins-violated", needs="sglang")
def pins_violated(case: Case) -> Iterator[Finding | CannotTell]:
    sglang = case.distribution("sglang")
    if sglang is None:
        return
    requirements = case.snapshot.sglang_requires
    if isinstance(requirements, Unknown):
        yield CannotTell(f"sglang {sglang.version}", requirements.reason)
        return
    asserted = () if skips_assertions(case) else minimums(sglang.version)
    for pin in pins(requirements.value, *machine_and_python(case)):
        installed = case.distribution(pin.name)
        if installed is None or satisfies(installed.version, pin.version):
            continue
        if any(row.package == pin.name and older(installed.version, row.minimum) for row in asserted):
            continue
        yield warning(
            pin.name,
            f"{pin.name} {installed.version} is installed, and sglang {sglang.version} pins {pin.version}",
            [at(installed.version, installed.path), at(pin.line, requirements.source.where)],
            [
                Manual(
                    "Install what this SGLang was made with (name all packages that differ in one command)",
                    (f"pip install sglang=={sglang.version} {pin.name}=={pin.version}",),
                )
            ],
        )
