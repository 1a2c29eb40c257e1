"""The CUDA compiler is too old, or too new, for the GPU: it does not know its compute capability

## What it finds
A toolkit that an installed package uses (or that is named) whose nvcc or ptxas does not know a GPU that is installed
or named, or a target that FLASHINFER_CUDA_ARCH_LIST, TORCH_CUDA_ARCH_LIST or TVM_FFI_CUDA_ARCH_LIST asks for.

## Why it matters
The first kernel stops with `Unsupported gpu architecture 'compute_120a'` or with `Value 'sm_120a' is not defined`.
Compute capability 12.0 needs CUDA 12.8 (its `f` form 12.9), 12.1 and 10.3 need 12.9, 11.0 needs 13.0; CUDA 13 in turn
has dropped all before 7.5.

## How it is found
By nvcc's own list where it had to be asked, else by its release and a table made from the ptxas of each release.
A package whose variable names targets is judged by those, else by the GPUs. FlashInfer's own floors, which lie
above the compiler's, are another check's.

## Remedy
Take a newer toolkit: another one on disk by CUDA_HOME, or install one, preferably of torch's CUDA release.

## Sources
- ptxas --help of 12.6.85, 12.8.93, 12.9.86, 13.0.88, 13.1.115, 13.2.78, 13.3.73, 13.4.92, 13.5.37
- ggml-org/llama.cpp#23224; dusty-nv/jetson-containers#1186; flashinfer-ai/flashinfer#1658
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    Known,
    LogRemedy,
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
    read_table,
)
from sm120kit.diagnosis.alternatives import other_toolkits, site_packages, torch_release
from sm120kit.diagnosis.architectures import (
    Architecture,
    Support,
    first_release,
    release_supports,
    targets_in,
    toolkit_supports,
)
from sm120kit.diagnosis.remedies import install_toolkit

_ARCH_LISTS = {
    "flashinfer": "FLASHINFER_CUDA_ARCH_LIST",
    "torch.utils.cpp_extension": "TORCH_CUDA_ARCH_LIST",
    "tvm-ffi": "TVM_FFI_CUDA_ARCH_LIST",
}

_BLACKWELL = 10
"""Major compute capability from which on a log is told which release knows the GPU first."""


def _by_release() -> Iterator[Signature]:
    """What a compiler says that is too old for a GPU, and one that is too new: with the release that is wanted."""
    first: dict[str, list[str]] = {}
    last: dict[str, list[str]] = {}
    for row in read_table("architectures", Architecture):
        major, number = int(row.compute_capability.partition(".")[0]), row.compute_capability.replace(".", "")
        if row.last and major < _BLACKWELL:
            last.setdefault(row.last, []).append(number)
        elif not row.last and major >= _BLACKWELL:
            for letter, release in (("", row.first), ("a", row.specific), ("f", row.family)):
                first.setdefault(release, []).append(number + letter)
    for release, targets in first.items():
        yield _refusal(
            targets,
            f"{{tool}} is too old for this GPU: it does not know {{target}}, and CUDA {release} is the first that does",
            f"Take a toolkit of CUDA {release} or later: name it by CUDA_HOME, and put its bin before any other nvcc "
            "on PATH. Of Triton's own ptxas, take a newer Triton",
        )
    for release, targets in last.items():
        yield _refusal(
            targets,
            f"{{tool}} is too new for {{target}}: CUDA {release} was the last that knew it",
            "Leave that GPU out of TORCH_CUDA_ARCH_LIST, FLASHINFER_CUDA_ARCH_LIST and CMAKE_CUDA_ARCHITECTURES. For "
            f"such a GPU itself take CUDA {release}",
        )


def _refusal(targets: list[str], message: str, remedy: str) -> Signature:
    return Signature(
        pattern=r"(?P<tool>nvcc|ptxas) fatal\s*: (?:Unsupported gpu architecture|Value) "
        rf"'(?P<target>(?:compute|sm)_(?:{'|'.join(targets)}))'",
        rank="cause",
        example=f"nvcc fatal   : Unsupported gpu architecture 'compute_{targets[-1]}'",
        look_alike="nvcc fatal   : Unsupported gpu architecture 'compute_999'",
        source="checks/tables/architectures.toml",
        message=message,
        remedies=(LogRemedy(remedy),),
    )


SIGNATURES = [
    *_by_release(),
    Signature(
        pattern=r"nvcc fatal\s*: Unsupported gpu architecture '(?:compute|sm)_\d+[af]?'",
        rank="cause",
        example="nvcc fatal   : Unsupported gpu architecture 'compute_120a'",
        look_alike="nvcc fatal   : Unknown option '-arch-list'",
        source="ggml-org/llama.cpp#23224; nvcc 13.0.88 with -arch=sm_150",
        versions="12.0 with nvcc before 12.8, 12.1 before 12.9; 7.0 with nvcc 13",
    ),
    Signature(
        pattern=r"ptxas fatal\s*: Value 'sm_\d+[af]?' is not defined for option 'gpu-name'",
        rank="cause",
        example="ptxas fatal   : Value 'sm_120a' is not defined for option 'gpu-name'",
        look_alike="ptxas fatal   : Unsupported .version 9.5; current version is '9.0'",
        source="ptxas 12.4.131 with sm_120a; ptxas 12.8.93 with sm_120f",
        versions="also Triton's own ptxas",
    ),
]


@check("toolkit.arch-unsupported")
def arch_unsupported(case: Case) -> Iterator[Finding | CannotTell]:
    if not case.toolkits:
        raise NotApplicable("nothing installed uses a toolkit that has an nvcc, and none is named")
    for use in case.toolkits:
        refused: dict[str, tuple[str, Support]] = {}
        for target, asker in _wanted(case, use).items():
            support = toolkit_supports(use.toolkit, target)
            if support.answer is False:
                refused[target] = (asker, support)
            elif support.answer is None:
                yield CannotTell(use.toolkit.home, _why_unknown(use, target))
        if refused:
            yield _unsupported(case, use, refused)
        capabilities = case.compute_capabilities
        if isinstance(capabilities, Unknown) and _needs_gpus(case, use):
            yield CannotTell(use.toolkit.home, f"the GPU is unknown: {capabilities.reason}")


def _wanted(case: Case, use: Use) -> dict[str, str]:
    """Targets that compiles through this toolkit ask for, each with the variable that names it, else the GPU's."""
    wanted: dict[str, str] = {}
    for consumer in use.consumers:
        variable = _ARCH_LISTS.get(consumer.name, "")
        for target in targets_in(case.snapshot.environment.get(variable, "")):
            wanted.setdefault(target, variable)
    capabilities = case.compute_capabilities
    if isinstance(capabilities, Known) and _needs_gpus(case, use):
        wanted.update(dict.fromkeys(capabilities.value, ""))
    return wanted


def _needs_gpus(case: Case, use: Use) -> bool:
    """Whether a taker asks for what the GPUs are, instead of a list of its own."""
    lists = [targets_in(case.snapshot.environment.get(_ARCH_LISTS.get(each.name, ""), "")) for each in use.consumers]
    return use.named or not all(lists)


def _why_unknown(use: Use, target: str) -> str:
    nvcc = use.toolkit.part("nvcc")
    if nvcc and isinstance(nvcc.release, Unknown):
        return f"the release of {nvcc.path} is unknown: {nvcc.release.reason}"
    return f"whether this nvcc knows compute capability {target} is in no table of ours, and nvcc was not asked"


def _unsupported(case: Case, use: Use, refused: dict[str, tuple[str, Support]]) -> Finding:
    toolkit = use.toolkit
    evidence: list[Evidence] = []
    clauses: list[str] = []
    for target, (variable, support) in refused.items():
        evidence += _askers(case, target, variable)
        if support.tool:
            evidence.append(part_evidence(support.tool))
            clauses.append(f"{_tool(support)} does not know compute capability {target}{_since(target)}")
    if isinstance(toolkit.architectures, Known):
        listed = ", ".join(toolkit.architectures.value)
        evidence.append(at(f"nvcc lists {listed}", toolkit.architectures.source.where))
    return finding(
        use.limit(Severity.ERROR),
        toolkit.home,
        f"in {toolkit.home} ({use.who}), {'; '.join(clauses)}",
        list(dict.fromkeys(evidence)),
        _remedies(case, use, list(refused)),
    )


def _tool(support: Support) -> str:
    if support.tool is None:
        return "nvcc"
    release = Release.of(support.tool.release)
    return f"{support.tool.name} {release}" if release else support.tool.name


def _since(target: str) -> str:
    first = first_release(target)
    return f" (known since CUDA {first})" if first else ""


def _askers(case: Case, target: str, variable: str) -> list[Evidence]:
    """The cards, or the option or variable, that ask for ``target``: every card by name."""
    if variable:
        return [at(f"{variable}={case.snapshot.environment[variable]}", variable)]
    if case.request.gpus:
        named = [gpu for gpu in case.request.gpus if gpu.compute_capability == target]
        return [at(f"{gpu.name}, compute capability {gpu.compute_capability}", "--gpu") for gpu in named]
    gpus = case.snapshot.driver.gpus
    if isinstance(gpus, Unknown):
        return [at(f"compute capability {target}")]
    return [
        at(f"GPU {gpu.index} {gpu.name}, compute capability {gpu.compute_capability}", gpus.source.where)
        for gpu in gpus.value
        if gpu.compute_capability == target
    ]


def _remedies(case: Case, use: Use, targets: list[str]) -> list[Remedy]:
    """Another toolkit on disk, else torch's release if that knows all targets, else the first that does."""
    firsts = [first for target in targets if (first := first_release(target))]
    of_torch = torch_release(case)
    fits = of_torch and all(release_supports(of_torch, target) for target in targets)
    wanted = of_torch if fits else max(firsts, default=None)
    return [*other_toolkits(case, [use.toolkit.home]), install_toolkit(wanted, use.toolkit.layout, site_packages(case))]
