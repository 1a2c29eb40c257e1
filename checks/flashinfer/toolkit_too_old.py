"""FlashInfer refuses this GPU because of its compiler's release, and says that there is no supported architecture

## What it finds
An nvcc that knows compute capability 12.0 or 12.1, but is older than the installed FlashInfer accepts for it.

## Why it matters
FlashInfer meets the GPU with an exception, `SM 12.x requires CUDA >= 12.9`, and swallows it at import. What is seen
later is "FlashInfer requires GPUs with sm75 or higher" or "No supported CUDA architectures found for major versions
[12]". Versions 0.6.7 to 0.7.0 want CUDA 12.9 for every SM12x; from 0.7.1 on 12.8 is enough for 12.0.

## How it is found
FlashInfer asks the nvcc that it takes for its release, and torch where there is none; both are looked up in a table of
FlashInfer's own rules. An architecture with its letter in FLASHINFER_CUDA_ARCH_LIST (`12.0a`) is taken unseen, so then
nothing is refused. A compiler that does not know the GPU at all is the matter of `toolkit.arch-unsupported`.

## Remedy
Take a CUDA 12.9 or 13 toolkit, or FlashInfer 0.7.1 and later with the SGLang that pins it.

## Sources
- checks/tables/flashinfer_rules.toml: compilation_context.py of each version
- flashinfer-ai/flashinfer#3675, #3633; vllm-project/vllm#48965
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    Known,
    Manual,
    NotApplicable,
    Release,
    Remedy,
    Severity,
    Signature,
    Unknown,
    Use,
    at,
    check,
    finding,
    part_evidence,
)
from sm120kit.diagnosis.alternatives import other_toolkits, site_packages, torch_release
from sm120kit.diagnosis.architectures import release_supports
from sm120kit.diagnosis.flashinfer import flashinfer_rule
from sm120kit.diagnosis.releases import part_release
from sm120kit.diagnosis.remedies import install_toolkit
from sm120kit.diagnosis.serving import consumer

SIGNATURES = [
    Signature(
        pattern=r"SM 12(?:\.x|0|\.1\+) requires CUDA >= 12\.[89]",
        rank="cause",
        example="RuntimeError: SM 12.x requires CUDA >= 12.9",
        look_alike="RuntimeError: SM 9.x requires CUDA >= 12.3",
        source="flashinfer-python 0.6.7.post2, 0.6.12, 0.7.1 compilation_context.py; flashinfer#3675",
    ),
    Signature(
        pattern=r"No supported CUDA architectures found for major versions \[(?:\d+, )*12"
        r"|FlashInfer requires GPUs with sm75 or higher",
        rank="cause",
        example="RuntimeError: No supported CUDA architectures found for major versions [12].",
        look_alike="RuntimeError: No supported CUDA architectures found for major versions [9].",
        source="flashinfer-python 0.6.7.post2 and 0.7.2.post1, compilation_context.py, jit/core.py; flashinfer#3633",
    ),
]

_VARIABLE = "FLASHINFER_CUDA_ARCH_LIST"


@check("flashinfer.toolkit-too-old")
def toolkit_too_old(case: Case) -> Iterator[Finding | CannotTell]:
    installed, taker = case.distribution("flashinfer-python"), consumer(case, "flashinfer")
    if installed is None and taker is None:
        raise NotApplicable("FlashInfer is not installed")
    version = installed.version if installed else taker.distribution.partition(" ")[2] if taker else ""
    subject = f"flashinfer-python {version}"
    rule, capabilities = flashinfer_rule(version), case.compute_capabilities
    if rule is None:
        raise NotApplicable(f"what FlashInfer {version} asks of a compiler is not known")
    if isinstance(capabilities, Unknown):
        yield CannotTell(subject, f"the GPU is not known: {capabilities.reason}")
        return
    floors = {each: floor for each in capabilities.value if (floor := rule.floor(each))}
    if not floors or _named_with_letters(case):
        return
    use = next((each for each in case.toolkits if taker and taker in each.consumers), None)
    release = part_release(use.toolkit, "nvcc") if use else torch_release(case)
    if release is None:
        yield CannotTell(subject, "the release of the nvcc that it takes is not known")
        return
    refused = [each for each in floors if release < floors[each] and release_supports(release, each) is not False]
    if refused:
        needed = max(floors[each] for each in refused)
        yield _too_old(case, subject, use, release, needed, [*refused], rule.source)


def _named_with_letters(case: Case) -> bool:
    words = case.snapshot.environment.get(_VARIABLE, "").split()
    return bool(words) and all(word[-1:] in ("a", "f") for word in words)


def _too_old(
    case: Case, subject: str, use: Use | None, release: Release, needed: Release, refused: list[str], source: str
) -> Finding:
    nvcc = use.toolkit.part("nvcc") if use else None
    what = f"nvcc {release}" if nvcc else f"CUDA {release} of torch, since it finds no nvcc"
    gpus = case.compute_capabilities
    where = gpus.source.where if isinstance(gpus, Known) else ""
    evidence: list[Evidence] = [at(f"compute capability {' and '.join(refused)}", where)]
    evidence.append(part_evidence(nvcc) if nvcc else at(f"torch is built with CUDA {release}", "torch/version.py"))
    evidence.append(at(f"asks for CUDA {needed}", source))
    return finding(
        _severity(case, use),
        subject,
        f"FlashInfer wants CUDA {needed} or later for compute capability {' and '.join(refused)} and meets {what}: it "
        "will say that there is no supported architecture",
        evidence,
        _remedies(case, use, needed),
    )


def _severity(case: Case, use: Use | None) -> Severity:
    taker = consumer(case, "flashinfer")
    if use or taker is None:
        return use.limit(Severity.ERROR) if use else Severity.ERROR
    return Severity.NOTE if case.cured_by_view(taker) else Severity.ERROR


def _remedies(case: Case, use: Use | None, needed: Release) -> list[Remedy]:
    others = other_toolkits(case, [use.toolkit.home] if use else [])
    torch = torch_release(case)
    release = torch if torch and torch >= needed else needed
    newer = Manual("Install FlashInfer 0.7.1 or later, which takes CUDA 12.8 for 12.0, with the SGLang that pins it")
    return [*others, install_toolkit(release, site_packages=site_packages(case)), newer]
