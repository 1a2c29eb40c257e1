"""flashinfer-cubin or flashinfer-jit-cache is of another version than FlashInfer itself

## What it finds
Packages of prebuilt FlashInfer kernels that do not belong to the installed flashinfer-python.

## Why it matters
Up to 0.7.1 importing FlashInfer fails: "flashinfer-cubin version (0.6.13) does not match flashinfer version (0.6.14)".
From 0.7.2 on the package is passed over with a warning, and what it holds is compiled or downloaded instead, which
takes minutes and needs a compiler. SGLang pinned flashinfer_cubin up to 0.5.14 and no longer does, so an upgrade leaves
the old one behind.

## How it is found
Installed versions are compared as FlashInfer compares them. The local part of a jit-cache (`+cu130`) names the CUDA
release that it was built for and is no mismatch. Where FLASHINFER_DISABLE_VERSION_CHECK is set, nothing stops, and
kernels of another version are taken: a warning.

## Remedy
Install the companion of FlashInfer's own version, or remove it.

## Sources
- flashinfer-python 0.6.7.post2, 0.6.18.post1, 0.7.1, 0.7.2, 0.7.2.post1, 0.7.4: jit/env.py
- vllm-project/vllm#49804; sgl-project/sglang#37377, #23100; flashinfer-ai/flashinfer#4337
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    LogRemedy,
    Manual,
    NotApplicable,
    Severity,
    Signature,
    Unknown,
    at,
    check,
    finding,
)
from sm120kit.diagnosis.flashinfer import flashinfer_rule
from sm120kit.snapshot.types.packages import Distribution

SIGNATURES = [
    Signature(
        pattern=r"flashinfer-(?P<which>cubin|jit-cache) version \((?P<companion>[^)]+)\) does not match\s+"
        r"flashinfer version \((?P<flashinfer>[^)]+)\)",
        rank="cause",
        example="RuntimeError: flashinfer-cubin version (0.6.13) does not match flashinfer version (0.6.14). Please "
        "install the same version of both packages.",
        look_alike="flashinfer-jit-cache 0.6.16+cu130 MISMATCH vs 0.6.16",
        source="vllm-project/vllm#49804; flashinfer-python 0.6.12 jit/env.py; the look-alike is flashinfer#4337",
        versions="an exception up to 0.7.1, a warning from 0.7.2 on",
        message="flashinfer-{which} is of version {companion}, FlashInfer itself of {flashinfer}",
        remedies=(
            LogRemedy(
                "Install the one of FlashInfer's version; flashinfer-jit-cache comes from FlashInfer's own "
                "index, by torch's "
                "CUDA release (cu128, cu130)",
                (
                    "python3 -m pip install flashinfer-{which}=={flashinfer} --extra-index-url "
                    "https://flashinfer.ai/whl/cu130",
                ),
            ),
            LogRemedy("Do without prebuilt kernels", ("python3 -m pip uninstall -y flashinfer-{which}",)),
        ),
    ),
]

_COMPANIONS = ("flashinfer-cubin", "flashinfer-jit-cache")
_SWITCH = "FLASHINFER_DISABLE_VERSION_CHECK"
_INDEX = "https://flashinfer.ai/whl"


@check("flashinfer.companion-mismatch")
def companion_mismatch(case: Case) -> Iterator[Finding | CannotTell]:
    if isinstance(case.snapshot.distributions, Unknown):
        yield CannotTell("packages", case.snapshot.distributions.reason)
        return
    own = case.distribution("flashinfer-python")
    companions = [each for name in _COMPANIONS if (each := case.distribution(name))]
    if own is None or not companions:
        raise NotApplicable("FlashInfer is not installed together with prebuilt kernels")
    for companion in companions:
        if _base(companion.version) != _base(own.version) and not _passes(own, companion):
            yield _mismatch(case, own, companion)


def _base(version: str) -> str:
    return version.partition("+")[0]


def _passes(own: Distribution, companion: Distribution) -> bool:
    """Up to 0.6 a jit-cache passes whose version merely begins with FlashInfer's: 0.6.7.post2 beside 0.6.7."""
    return (
        companion.name == "flashinfer-jit-cache"
        and own.version.startswith("0.6.")
        and companion.version.startswith(own.version)
    )


def _mismatch(case: Case, own: Distribution, companion: Distribution) -> Finding:
    rule, unchecked = flashinfer_rule(own.version), case.snapshot.environment.get(_SWITCH)
    if unchecked:
        severity, effect = Severity.WARNING, f"{_SWITCH} is set, so its kernels are taken all the same"
    elif rule and rule.companions == "ignored":
        severity, effect = Severity.WARNING, "it is passed over, and its kernels are compiled or downloaded instead"
    else:
        severity, effect = Severity.ERROR, "importing FlashInfer fails"
    local = companion.version.partition("+")[2]
    wanted = _base(own.version) + (f"+{local}" if local else "")
    index = f" --extra-index-url {_INDEX}" + (f"/{local}" if local else "")
    return finding(
        severity,
        f"{companion.name} {companion.version}",
        f"{companion.name} {companion.version} does not belong to flashinfer-python {own.version}: {effect}",
        [at(f"{each.name} {each.version}", each.path) for each in (own, companion)],
        [
            Manual("Install the one of FlashInfer's version", (f"pip install {companion.name}=={wanted}{index}",)),
            Manual("Do without prebuilt kernels", (f"pip uninstall -y {companion.name}",)),
        ],
    )
