"""SGLang asserts a newer flashinfer or kernel package at start than the one that is installed

## What it finds
A flashinfer-python or sglang-kernel that is missing or older than the least version that the installed SGLang asserts.

## Why it matters
The server ends at start with "is installed with version 0.6.3, which is less than the minimum required version 0.6.4".
It is a minimum only: newer versions are let through. The package is called sglang-kernel since 0.5.10; the older
sgl-kernel does not count, though both are imported as sgl_kernel.

## How it is found
The versions asserted by each SGLang's entrypoints/engine.py stand in a table and are compared with what is installed.
flashinfer is asked for only where the attention backend is flashinfer: the launch line's, else this version's default
for the GPU and the model. The kernel package is asked for only by a torch with CUDA.

## Remedy
The version that SGLang pins. SGLANG_SKIP_SGL_KERNEL_VERSION_CHECK=1 hides the risk and does not take it away.

## Sources
- checks/tables/sglang_minimums.toml: srt/entrypoints/engine.py of the sglang wheels
- sgl-project/sglang#6160, #10891
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    LogRemedy,
    Manual,
    NotApplicable,
    Signature,
    Unknown,
    at,
    check,
    error,
)
from sm120kit.diagnosis.asked import Server, backends_of, is_known, known_range
from sm120kit.diagnosis.pins import SKIP_VARIABLE, Minimum, minimums, skips_assertions
from sm120kit.diagnosis.versions import older
from sm120kit.snapshot.types.packages import Distribution

SIGNATURES = [
    Signature(
        pattern=r"(?P<package>flashinfer[_-]python|sglang-kernel|sgl-kernel) is installed with version "
        r"(?P<version>\S+), which is less than the minimum required version (?P<minimum>\S+?)\.?(?:\s|$)",
        rank="cause",
        example="Exception: flashinfer_python is installed with version 0.6.3, which is less than the minimum required "
        "version 0.6.4. Please uninstall the old version and reinstall the latest version",
        look_alike="transformers is installed with version 5.6.0, newer than tested",
        source="sglang 0.5.12 wheel: srt/utils/common.py:1087-1099; sgl-project/sglang#6160",
        versions="sglang 0.5.9 to 0.5.23",
        message="{package} {version} is older than the {minimum} that this SGLang asks for",
        remedies=(LogRemedy("Install the version that it asks for", ('pip install "{package}=={minimum}"',)),),
    ),
    Signature(
        pattern=r"(?P<package>flashinfer[_-]python|sglang-kernel|sgl-kernel) with minimum required version "
        r"(?P<minimum>\S+) is not installed",
        rank="cause",
        example="Exception: flashinfer_python with minimum required version 0.2.5 is not installed. Please uninstall "
        "the old version and reinstall the latest version",
        look_alike="flashinfer_python is not installed; using triton",
        source="sglang 0.5.12 wheel: srt/utils/common.py:1087-1099; sgl-project/sglang#6160",
        versions="sglang 0.5.9 to 0.5.23",
        message="{package} is not installed, and this SGLang asks for {minimum} at least",
        remedies=(LogRemedy("Install the version that it asks for", ('pip install "{package}=={minimum}"',)),),
    ),
]


@check("sglang.start-assert", needs="sglang")
def start_assert(case: Case) -> Iterator[Finding | CannotTell]:
    sglang, torch = case.distribution("sglang"), case.snapshot.torch
    if sglang is None:
        return
    if not isinstance(torch, Unknown) and not torch.value.cuda:
        raise NotApplicable("torch is a build without CUDA, and SGLang asserts nothing then")
    if skips_assertions(case):
        raise NotApplicable(f"{SKIP_VARIABLE} switches the assertions off")
    if not is_known(sglang.version):
        yield CannotTell(
            f"sglang {sglang.version}", f"what it asserts is not known; the table covers SGLang {known_range()}"
        )
        return
    for minimum in minimums(sglang.version):
        installed = case.distribution(minimum.package)
        if installed is not None and older(installed.version, minimum.minimum) is False:
            continue
        asked = _asked_for(case, minimum, sglang.version)
        if asked is None:
            yield CannotTell(
                minimum.package, "it is asserted only with that attention backend, which is not known here"
            )
        elif asked:
            yield _finding(sglang, installed, minimum)


def _asked_for(case: Case, minimum: Minimum, version: str) -> bool | None:
    """Whether the assertion is reached; ``None`` where the attention backend is not known."""
    if not minimum.only_with:
        return True
    capabilities = case.compute_capabilities
    if isinstance(capabilities, Unknown):
        return None
    answers = []
    for capability in capabilities.value:
        server = Server(version, "", capability, capabilities.source.where, case.request.launch, case.model)
        backends = backends_of(server, case)
        answers.append(None if backends is None else minimum.only_with in backends.names)
    return True if True in answers else None if None in answers else False


def _finding(sglang: Distribution, installed: Distribution | None, minimum: Minimum) -> Finding:
    what = f"{minimum.package} {installed.version} is installed" if installed else f"{minimum.package} is not installed"
    evidence = [
        at(installed.version if installed else "not installed", installed.path if installed else minimum.package),
        at(f"sglang {sglang.version} asserts {minimum.minimum} or newer", minimum.source),
        at(f"sglang {sglang.version}", sglang.path),
    ]
    return error(
        minimum.package,
        f"{what}, and sglang {sglang.version} ends at start below {minimum.minimum}",
        evidence,
        [
            Manual(
                "Install the version that this SGLang asks for", (f"pip install {minimum.package}=={minimum.minimum}",)
            )
        ],
    )
