"""Something installed has to compile CUDA code, and finds no nvcc

## What it finds
A package that compiles (FlashInfer, SGLang's JIT, tvm-ffi, torch extensions) whose own rule leads to no CUDA home, to
a folder without `bin/nvcc`, or to a link that leads nowhere; and a `--cuda-home` without nvcc.

## Why it matters
SGLang compiles kernels at every first start, FlashInfer whenever no prebuilt kernel fits. Without nvcc that ends,
after the model was loaded, in `nvcc: not found`, `ninja exited with status 127` or `Could not find nvcc`. torch's CUDA
wheels bring libraries and headers but no compiler, runtime container images neither, and no CUDA 12 wheel holds an
nvcc at all: `nvidia-cuda-nvcc-cu12` is only ptxas.

## How it is found
Each package's own rule is followed, as read in its source, and the compiler it would execute is looked for. It is an
error if one of them must compile to serve; a warning if a flashinfer-jit-cache of the same version and CUDA major
spares FlashInfer the compiler; a note if only those need it who build extensions themselves, or where a repair is in
place that this environment does not use (`repair.view-not-used`).

## Remedy
Set CUDA_HOME to a toolkit on disk, or install a whole one: for CUDA 13 with the extras `nvcc` and `cccl` of the
`cuda-toolkit` package, never a bare `nvidia-cuda-nvcc` (its companions are not pinned); for CUDA 12 from conda or
NVIDIA's repository.

## Sources
- smg-project/smg#513; sgl-project/sglang#5002; sgl-project/sglang#26545
- nvidia-cuda-nvcc-cu12 12.4, 12.8, 12.9 opened: no bin/nvcc
- flashinfer 0.7.2.post1 jit/cpp_ext.py; torch 2.13 utils/cpp_extension.py; apache-tvm-ffi 0.1.11 cpp/extension.py
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    Known,
    LogRemedy,
    Manual,
    NotApplicable,
    Release,
    Remedy,
    Severity,
    Signature,
    Unknown,
    at,
    check,
    finding,
)
from sm120kit.diagnosis.alternatives import other_toolkits, site_packages, torch_release
from sm120kit.diagnosis.releases import part_release
from sm120kit.diagnosis.remedies import compose_view, install_toolkit
from sm120kit.snapshot.types.toolkits import Consumer, Toolkit

_DEFAULT = "/usr/local/cuda"

_RESTORE = (
    "Bring back the environment from before its script was sourced, in this shell: the repair that CUDA_HOME names was "
    "taken back"
)

_FIND = (
    LogRemedy("Name one that is on disk", ("ls -d /usr/local/cuda*", "export CUDA_HOME=FOLDER")),
    LogRemedy(
        "Install a whole one of the CUDA release that torch was built with. CUDA 13 comes as wheels, below "
        "nvidia/cu13 of the "
        "environment",
        (
            """python3 -c "import torch; print(torch.version.cuda)\"""",
            "python3 -m pip install 'cuda-toolkit[nvcc,cccl]==13.0.*'",
        ),
    ),
    LogRemedy(
        "CUDA 12 comes from conda or NVIDIA's repository, as its wheels hold no nvcc",
        ("conda install -c nvidia cuda-toolkit=12.8", "apt-get install cuda-toolkit-12-8"),
    ),
    LogRemedy("See whom it would serve, and what else is lacking", ("sm120kit doctor --only 'toolkit.*'",)),
)
_MESSAGE = "No CUDA compiler (nvcc) is where the program looked for it"

SIGNATURES = [
    Signature(
        pattern=r"(?:^|[\s:/])nvcc: (?:command )?not found|No such file or directory: '(?:\S*/)?nvcc'",
        rank="cause",
        example="/bin/sh: 1: /usr/local/cuda/bin/nvcc: not found",
        look_alike="sh: 1: nvcc-wrapper: not found",
        source="smg-project/smg#513",
        versions="SGLang 0.5.9 and later, FlashInfer",
        message=_MESSAGE,
        remedies=_FIND,
    ),
    Signature(
        pattern=r"Could not find nvcc and default cuda_home=|Could not find CUDA installation\. Please set CUDA_HOME",
        rank="cause",
        example="RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist",
        look_alike="RuntimeError: Could not find ninja",
        source="flashinfer 0.7.2.post1 jit/cpp_ext.py; apache-tvm-ffi 0.1.11 cpp/extension.py",
        versions="FlashInfer 0.4 and later, tvm-ffi",
        message=_MESSAGE,
        remedies=_FIND,
    ),
    Signature(
        pattern=r"CUDA_HOME environment variable is not set\. Please set it to your CUDA install root",
        rank="cause",
        example="OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
        look_alike="OSError: ROCM_HOME environment variable is not set.",
        source="torch 2.13 utils/cpp_extension.py",
        versions="torch extensions",
        message=_MESSAGE,
        remedies=_FIND,
    ),
]


class _Place(msgspec.Struct, frozen=True):
    """Where a compiler was looked for in vain, and by whom. ``home`` is empty where a rule led nowhere."""

    home: str
    consumers: tuple[Consumer, ...]
    toolkit: Toolkit | None
    named: bool = False


@check("toolkit.nvcc-missing")
def nvcc_missing(case: Case) -> Iterator[Finding | CannotTell]:
    consumers = [each for each in case.snapshot.consumers if each.name != "triton" and not _never_compiles(case, each)]
    unread = isinstance(case.snapshot.distributions, Unknown)
    if not consumers and not case.snapshot.target.cuda_home and not unread:
        raise NotApplicable("nothing installed compiles with nvcc, and no --cuda-home is given")
    if isinstance(case.snapshot.distributions, Unknown):
        why = case.snapshot.distributions.reason
        yield CannotTell(case.snapshot.target.path, f"it is unknown what is installed and would compile: {why}")
    toolkits = {toolkit.home: toolkit for toolkit in case.snapshot.toolkits}
    without: list[Consumer] = []
    for consumer in consumers:
        toolkit = toolkits.get(consumer.toolkit)
        if toolkit and toolkit.has_nvcc:
            continue
        if script := _unreadable_script(case, consumer):
            yield CannotTell(script, f"{script} is a script, and which nvcc it starts cannot be read from it")
        else:
            without.append(consumer)
    for place in _places(case, without, toolkits):
        yield _missing(case, place)


def _never_compiles(case: Case, consumer: Consumer) -> bool:
    """A torch without CUDA builds no CUDA extension: ``torch.cpu-only`` is about that."""
    torch = case.snapshot.torch
    return consumer.name == "torch.utils.cpp_extension" and isinstance(torch, Known) and not torch.value.cuda


def _unreadable_script(case: Case, consumer: Consumer) -> str:
    """The nvcc of a consumer, where it is a script that hides what it starts."""
    called = consumer.nvcc.value if isinstance(consumer.nvcc, Known) else ""
    scripts = [each.path for each in case.snapshot.nvcc_on_path if each.kind == "script" and not each.executes]
    return called if called in scripts else ""


def _places(case: Case, without: Sequence[Consumer], toolkits: dict[str, Toolkit]) -> Iterator[_Place]:
    """Consumers grouped by the folder that should have held the compiler: one cause, one finding."""
    named = case.snapshot.target.cuda_home
    groups: dict[str, list[Consumer]] = {}
    if named and not any(use.named and use.toolkit.has_nvcc for use in case.uses):
        groups[named] = []
    for consumer in without:
        nowhere = isinstance(consumer.cuda_home, Unknown) or (not consumer.toolkit and consumer.found_via == _DEFAULT)
        home = consumer.cuda_home.value if isinstance(consumer.cuda_home, Known) and not nowhere else ""
        groups.setdefault(home, []).append(consumer)
    aliases = {alias: toolkit for toolkit in toolkits.values() for alias in (*toolkit.aliases, toolkit.home)}
    for home, consumers in groups.items():
        yield _Place(home, tuple(consumers), aliases.get(home), named=bool(home) and home == named)


def _missing(case: Case, place: _Place) -> Finding:
    needing = [consumer for consumer in place.consumers if case.must_compile(consumer)]
    spared = [consumer for consumer in place.consumers if case.prebuilt_by(consumer)]
    cured = bool(case.unused_view) and all(map(case.cured_by_view, place.consumers))
    if cured:
        severity = Severity.NOTE
    elif place.named or needing:
        severity = Severity.ERROR
    else:
        severity = Severity.WARNING if spared else Severity.NOTE
    names = ", ".join(consumer.name for consumer in needing or place.consumers)
    where = f"{place.home} has no usable bin/nvcc" if place.home else "no CUDA toolkit is found"
    if place.toolkit and place.toolkit.layout in ("wheel-cu12", "wheel-cu13"):
        where += "; its wheels brought libraries, and no compiler"
    if needing:
        consequence = f"{names} must compile to serve, and will fail at the first kernel"
    elif spared:
        consequence = f"{names} can serve from prebuilt kernels alone, and fails where one is missing"
    elif names:
        consequence = f"{names} cannot build extensions, which serving does not need"
    else:
        consequence = "nothing can be compiled with it"
    if cured:
        consequence += ", unless it uses the repair that is in place"
    return finding(
        severity, place.home or "CUDA_HOME", f"{where}: {consequence}", _evidence(case, place), _remedies(case, place)
    )


def _evidence(case: Case, place: _Place) -> list[Evidence]:
    evidence: list[Evidence] = []
    if place.home:
        evidence.append(at("no such compiler", f"{place.home}/bin/nvcc"))
    on_path = {each.path: each for each in case.snapshot.nvcc_on_path}
    for consumer in place.consumers:
        looked = consumer.cuda_home.reason if isinstance(consumer.cuda_home, Unknown) else f"by {consumer.found_via}"
        evidence.append(at(f"{consumer.name} looks for {consumer.rule}: {looked}", "", consumer.distribution))
        called = on_path.get(consumer.nvcc.value) if isinstance(consumer.nvcc, Known) else None
        if called and called.kind == "script":
            evidence.append(at(f"a script that starts {called.executes}, which is not there", called.path))
        elif called and called.kind == "dangling":
            evidence.append(at(f"a link to {called.real_path}, which is not there", called.path))
        elif called and called.kind == "not-executable":
            evidence.append(at("a file that may not be executed", called.path))
        if cache := case.prebuilt_by(consumer):
            evidence.append(at(f"{cache.name} {cache.version} holds prebuilt kernels", cache.path))
    if not evidence:
        evidence.append(at("no nvcc", place.home))
    return evidence


def _remedies(case: Case, place: _Place) -> list[Remedy]:
    release: Release | None = torch_release(case)
    layout = place.toolkit.layout if place.toolkit else "unknown"
    if release is None and place.toolkit:
        release = part_release(place.toolkit, "runtime-headers")
    # The variable is what a repair's script left behind, and the repair was taken back.
    taken_back = isinstance(case.snapshot.live_view, Unknown) and bool(
        re.search(r"/targets/[^/]+-[0-9a-f]{12}/current$", place.home)
    )
    first: list[Remedy] = [Manual(_RESTORE, ("sm120kit_restore",))] if taken_back else []
    on_disk = next((each for each in case.snapshot.toolkits if each.has_nvcc), None)
    text = "Compose a whole toolkit of links from what is on disk, and use that"
    ours = [compose_view(on_disk, text)] if on_disk else []
    remedies = [*first, *ours, *other_toolkits(case), install_toolkit(release, layout, site_packages(case))]
    needing = {consumer.name for consumer in place.consumers if case.must_compile(consumer)}
    if needing == {"flashinfer"}:
        remedies.append(
            Manual(
                "Install flashinfer-jit-cache, of FlashInfer's version and torch's CUDA release, from FlashInfer's "
                "own index: it holds most kernels prebuilt"
            )
        )
    return remedies
