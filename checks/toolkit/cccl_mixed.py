"""Two versions of CCCL meet in one compiler's search path: cub of one with cuda/std of the other

## What it finds
A toolkit in whose include folders the compiler finds `cuda/std` in one CCCL and `cub` or `thrust` in another version;
headers copied into a CCCL that a wheel installed; a copy of `cuda/std` alone, without cub and thrust.

## Why it matters
Such a mixture is what `cp -rn .../libcudacxx/include/. $CUDA_HOME/include/` leaves, a common cure for
`nv/target: No such file or directory`. Where the toolkit has a CCCL already, the new `cuda/` in `include` is found
before the old `cub` in `include/cccl`, and every `cub` include dies with `missing binary operator before token "("`.
Small tests pass: `nv/target`, `cuda_fp16.h` and `cuda/std` come from one copy each. CPATH and `-I` or `-isystem` in
NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS do the same; CPLUS_INCLUDE_PATH, which is searched last, does not.

## How it is found
For `cuda/std`, `cub` and `thrust` the first include folder that has it is taken, in the compiler's own order, and the
versions of these are compared. It is no mixture where one version brings all three (also if a wheel puts a second
`nv/` into `include`), and FlashInfer's own copy, which it searches first and whole, mixes with nothing. A toolkit that
only such packages use gets a warning at most. Files in a wheel's CCCL which no wheel lists are a warning: seen to
work, and by luck.

## Remedy
Take the copied headers out again and install the toolkit's CCCL wheel anew, or compose a toolkit of links with
one whole CCCL.

## Sources
- nvcc 13.0.88: FlashInfer's CCCL 3.6.0 copied over CCCL 3.0.1, named by CPATH, NVCC_PREPEND_FLAGS, NVCC_APPEND_FLAGS
- nvcc 13.5.37: CCCL 3.3.2 copied over CCCL 3.5.0; the same into include/cccl; NVIDIA/cccl#1571
"""

from collections.abc import Iterator, Sequence

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    Known,
    Manual,
    NotApplicable,
    Remedy,
    Severity,
    Signature,
    Unknown,
    Use,
    at,
    check,
    finding,
)
from sm120kit.diagnosis.cccl import version_key
from sm120kit.diagnosis.releases import part_release
from sm120kit.diagnosis.remedies import cccl_package, compose_view
from sm120kit.snapshot.types.toolkits import CcclCopy

_VARIABLES = ("CPATH", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")

SIGNATURES = [
    Signature(
        pattern=r'/cub/[\w/]+\.cuh:\d+:\d+: error: missing binary operator before token "\("',
        rank="cause",
        example='include/cccl/cub/detail/nvtx.cuh:50:22: error: missing binary operator before token "("',
        look_alike='src/config.h:12:9: error: missing binary operator before token "("',
        source="nvcc 13.0.88 with CCCL 3.6.0's cuda/ before CCCL 3.0.1's cub; flashinfer 0.6.7 sampling",
        versions="cub 3.0 behind a newer cuda/std",
    ),
    Signature(
        pattern=r"fatal error: (?:cub|thrust)/[\w/]+\.(?:cuh|h): No such file or directory",
        rank="cause",
        example="sampling.cuh:20:10: fatal error: cub/cub.cuh: No such file or directory",
        look_alike="main.cu:1:10: fatal error: cuboid/mesh.h: No such file or directory",
        source="nvcc 13.0.88 with libcudacxx of FlashInfer 0.7.2 copied into include and no CCCL wheel",
        versions="cuda/std without cub and thrust",
    ),
]


@check("toolkit.cccl-mixed")
def cccl_mixed(case: Case) -> Iterator[Finding | CannotTell]:
    uses = [use for use in case.toolkits if use.toolkit.cccl_copies]
    if not uses:
        raise NotApplicable("no toolkit that is taken or named holds a CCCL")
    for use in uses:
        copies = use.toolkit.cccl_copies
        std, cub, thrust = _std(copies), _cub(copies), _thrust(copies)
        rest = [copy for copy in dict.fromkeys((cub, thrust)) if copy and copy != std]
        if std is None:
            continue
        unversioned = [copy for copy in (std, *rest) if isinstance(copy.version, Unknown)]
        if rest and unversioned:
            where = " and ".join(dict.fromkeys(copy.include_dir for copy in unversioned))
            yield CannotTell(use.toolkit.home, f"the version of the CCCL in {where} is unknown")
        elif others := [copy for copy in rest if _version(copy) != _version(std)]:
            yield _mixed(case, use, std, others)
        elif any(copy.unowned_files for copy in copies):
            yield _overlaid(use)
        elif cub is None and _reads_own_cccl(use):
            yield _without_cub(use, std)


def _std(copies: Sequence[CcclCopy]) -> CcclCopy | None:
    return next((copy for copy in copies if copy.has_cuda_std), None)


def _cub(copies: Sequence[CcclCopy]) -> CcclCopy | None:
    return next((copy for copy in copies if copy.has_cub), None)


def _thrust(copies: Sequence[CcclCopy]) -> CcclCopy | None:
    return next((copy for copy in copies if copy.has_thrust), None)


def _version(copy: CcclCopy) -> str:
    return copy.version.value if isinstance(copy.version, Known) else ""


def _reads_own_cccl(use: Use) -> bool:
    """Whether somebody who takes this toolkit reads its CCCL, and not one that they bring."""
    return use.named or any(consumer.bundled_cccl is None for consumer in use.consumers)


def _mixed(case: Case, use: Use, std: CcclCopy, others: list[CcclCopy]) -> Finding:
    other = others[0]
    only_patch = all(version_key(_version(copy))[:2] == version_key(_version(std))[:2] for copy in others)
    severity = Severity.ERROR if _reads_own_cccl(use) and not only_patch else Severity.WARNING
    parts = [name for name, has in (("cub", other.has_cub), ("thrust", other.has_thrust)) if has]
    consequence = "every include of cub stops" if severity is Severity.ERROR else "they were not made for each other"
    evidence = [_copy_evidence(copy) for copy in dict.fromkeys([std, *others])]
    evidence += [
        at(f"{name}={case.snapshot.environment[name]}", name)
        for name in _VARIABLES
        if std.include_dir in case.snapshot.environment.get(name, "")
        and not std.include_dir.startswith(use.toolkit.home)
    ]
    return finding(
        use.limit(severity),
        use.toolkit.home,
        f"compiles in {use.toolkit.home} ({use.who}) find cuda/std of CCCL {_version(std)} in "
        f"{std.include_dir} and {' and '.join(parts)} of CCCL {_version(other)} in {other.include_dir}: {consequence}",
        evidence,
        _remedies(use, std),
    )


def _overlaid(use: Use) -> Finding:
    copies = [copy for copy in use.toolkit.cccl_copies if copy.unowned_files]
    return finding(
        use.limit(Severity.WARNING),
        use.toolkit.home,
        f"files were copied into the CCCL that a wheel installed in {copies[0].include_dir}: headers of two versions "
        "lie side by side there, and compile by luck",
        [_copy_evidence(copy) for copy in copies],
        _remedies(use, copies[0]),
    )


def _without_cub(use: Use, std: CcclCopy) -> Finding:
    return finding(
        use.limit(Severity.WARNING),
        use.toolkit.home,
        f"{std.include_dir} holds cuda/std without cub and thrust: kernels that sort, scan or sample will not compile",
        [_copy_evidence(std)],
        [
            compose_view(use.toolkit, "Compose a toolkit of links beside it, with one whole CCCL"),
            Manual("Take the copied headers out again, and install a whole CCCL in their place"),
            cccl_package(use.toolkit, part_release(use.toolkit, "nvcc")),
        ],
    )


def _copy_evidence(copy: CcclCopy) -> Evidence:
    version = f"CCCL {_version(copy)}" if _version(copy) else "CCCL of unknown version"
    held = [
        name
        for name, has in (
            ("nv", copy.has_nv_target),
            ("cuda/std", copy.has_cuda_std),
            ("cub", copy.has_cub),
            ("thrust", copy.has_thrust),
        )
        if has
    ]
    added = f", with at least {copy.unowned_files} files that no wheel lists" if copy.unowned_files else ""
    where = copy.version.source.where if isinstance(copy.version, Known) else copy.include_dir
    return at(f"{version} ({', '.join(held)}) in {copy.include_dir}{added}", where, copy.owner)


def _remedies(use: Use, overlay: CcclCopy) -> list[Remedy]:
    toolkit = use.toolkit
    remedies: list[Remedy] = [compose_view(toolkit, "Compose a toolkit of links beside it, with one whole CCCL")]
    if overlay.include_dir.startswith(toolkit.home):
        text = f"Take the headers copied into {overlay.include_dir} out again, then install the toolkit's own anew"
        package = cccl_package(toolkit, part_release(toolkit, "nvcc"))
        commands = tuple(
            command.replace("pip install", "pip install --force-reinstall --no-deps") for command in package.commands
        )
        remedies.append(Manual(text, commands))
    else:
        remedies.append(Manual(f"Take {overlay.include_dir} out of the search path: out of {', '.join(_VARIABLES)}"))
    return remedies
