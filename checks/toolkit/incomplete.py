"""A toolkit lacks parts of its compiler: cicc, ptxas, crt, headers or another of its components

## What it finds
A CUDA tree with an nvcc with which an installed package would compile (or which `--cuda-home` or CUDA_HOME names),
and which lacks one of the programs, headers or files that nvcc puts together. A lone link to an nvcc elsewhere is the
same fault: nvcc looks for `nvcc.profile` beside the name it was called by, does not follow the link, and finds
nothing else either.

## Why it matters
nvcc itself only drives others. CUDA 13's wheels split it: `nvidia-cuda-nvcc` brings nvcc, ptxas, fatbinary and
cudafe++, but cicc comes from `nvidia-nvvm`, `include/crt` from `nvidia-cuda-crt` and the headers from
`nvidia-cuda-runtime`. Without one of these the first kernel stops the build. Without nvlink or the static libraries
only nvcc as a linker stops, which FlashInfer does for few modules and torch for relocatable device code.

## How it is found
The parts are looked for where this toolkit's `nvcc.profile` points. Which absence stops what was measured: each part
was taken away from a whole 13.0 set. An error is a part without which `nvcc -c` stops; a warning one without which
nvcc does not link, or other tools (Numba, JAX, clang) do not find what they read from a toolkit. Where nothing that is
installed takes the tree and CUDA_HOME names it all the same, an absence that stops `nvcc -c` is a warning: whoever set
the variable means it to be used.

Single files are looked for where wheels list them: always the headers that every compile reads, such as cuda_fp16.h;
with `--deep` every file that a RECORD lists below the tree. What only some modules or tools read is a warning or a
note.

## Remedy
Install the packages that bring the parts, in exactly the compiler's release; for a lone link set CUDA_HOME to the tree
it points into.

## Sources
- nvcc 13.0.88 and 13.5.37, each part taken away, `nvcc -c` and `nvcc a.cu` run
- JustVugg/colibri#630; rapidsai/devcontainers#566
"""

import posixpath
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
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
    part_evidence,
)
from sm120kit.diagnosis.alternatives import other_toolkits, source_of, take
from sm120kit.diagnosis.parts import ToolkitPart, missing_parts
from sm120kit.diagnosis.releases import part_release
from sm120kit.diagnosis.remedies import compose_view, reinstall_parts, reinstall_wheels
from sm120kit.snapshot.types.toolkits import Toolkit

SIGNATURES = [
    Signature(
        pattern=r"\bsh: (?:line )?(?:\d+: )?(?:\S*/)?(?:cicc|ptxas|fatbinary|cudafe\+\+|nvlink): (?:command )?not",
        rank="cause",
        example="sh: 1: /venv/lib/python3.12/site-packages/nvidia/cu13/bin/../nvvm/bin/cicc: not found",
        look_alike="sh: 1: nvidia-smi: not found",
        source="nvcc 13.0.88 without nvidia-nvvm",
        versions="nvcc 13.x from wheels",
    ),
    Signature(
        pattern=r"fatal error: (?:crt/host_(?:config|defines)\.h|cuda_runtime(?:_api)?\.h): No such file",
        rank="cause",
        example="cuda_runtime.h:82:10: fatal error: crt/host_config.h: No such file or directory",
        look_alike="fatal error: hip/hip_runtime.h: No such file or directory",
        source="nvcc 13.0.88 without nvidia-cuda-crt; without nvidia-cuda-runtime; without nvcc.profile",
        versions="nvcc 12.x and 13.x",
    ),
]


_VARIABLES = ("CUDA_HOME", "CUDA_PATH")


@check("toolkit.incomplete")
def incomplete(case: Case) -> Iterator[Finding | CannotTell]:
    uses = [*case.toolkits, *_only_named_by_a_variable(case)]
    if not uses:
        raise NotApplicable("nothing installed uses a toolkit that has an nvcc, and none is named")
    for use in uses:
        missing = missing_parts(use.toolkit)
        if not missing:
            if use.toolkit.gone_files:
                yield _files_gone(case, use)
            continue
        profile = use.toolkit.part("nvcc.profile")
        if profile and isinstance(use.toolkit.profile, Unknown):
            parts = ", ".join(part.part for part in missing)
            reason = (
                f"{profile.path}, which tells where {parts} would lie, cannot be read: {use.toolkit.profile.reason}"
            )
            yield CannotTell(use.toolkit.home, reason)
        elif profile is None and (target := _linked_tree(case, use.toolkit)):
            yield _lone_link(case, use, target)
        else:
            yield _lacking(case, use, missing)


def _only_named_by_a_variable(case: Case) -> list[Use]:
    """Trees with an nvcc that the environment names, and that nothing installed takes."""
    return [use for use in case.uses if not use.judged and use.toolkit.has_nvcc and _variable(case, use)]


def _variable(case: Case, use: Use) -> str:
    """CUDA_HOME, else CUDA_PATH, where the environment names this tree by it; else empty."""
    names = (use.toolkit.home, use.toolkit.real_home, *use.toolkit.aliases)
    environment = case.snapshot.environment
    return next((each for each in _VARIABLES if environment.get(each, "").rstrip("/") in names), "")


def _severity(use: Use, severity: Severity) -> Severity:
    """The most that may be said: of a tree that only a variable names, a warning where it cannot compile."""
    if use.judged or use.repaired or severity is not Severity.ERROR:
        return use.limit(severity)
    return Severity.WARNING


def _who(case: Case, use: Use) -> str:
    return use.who if use.judged else f"named by {_variable(case, use)}"


def _linked_tree(case: Case, toolkit: Toolkit) -> Toolkit | None:
    """The tree that this one's nvcc is only a link into."""
    nvcc = toolkit.part("nvcc")
    real = nvcc.links_to if nvcc else ""
    if not real:
        return None
    home = posixpath.dirname(posixpath.dirname(real))
    return next((each for each in case.snapshot.toolkits if each.real_home == home and each is not toolkit), None)


def _lone_link(case: Case, use: Use, target: Toolkit) -> Finding:
    nvcc = use.toolkit.part("nvcc")
    place = nvcc.path if nvcc else use.toolkit.home
    return finding(
        _severity(use, Severity.ERROR),
        use.toolkit.home,
        f"{place} is only a link into {target.home}: nvcc does not follow it, finds no nvcc.profile beside it, and so "
        f"neither headers nor cicc ({_who(case, use)})",
        [
            at(f"a symbolic link to {nvcc.links_to if nvcc else target.home}", place),
            at("no such file", f"{posixpath.dirname(place)}/nvcc.profile"),
        ],
        [take(case, target)],
    )


_MOST = 8
"""Files named one by one."""

_READ = ("include", "bin", "nvvm", "lib", "lib64")
"""Folders of a tree from which compilers and linkers read."""


def _files_gone(case: Case, use: Use) -> Finding:
    toolkit, gone = use.toolkit, use.toolkit.gone_files
    stops = [each for each in gone if each.for_every_compile]
    folders = tuple(f"{home}/{folder}/" for home in (toolkit.home, toolkit.real_home) for folder in _READ)
    severity = Severity.WARNING if any(each.path.startswith(folders) for each in gone) else Severity.NOTE
    named = [posixpath.basename(each.path) for each in stops or gone]
    which = ", ".join(named[:3]) + (f" and {len(named) - 3} more files" if len(named) > 3 else "")
    owners = " and ".join(dict.fromkeys(each.owner for each in stops or gone))
    consequence = "no kernel of a server compiles" if stops else "what reads them fails"
    evidence = [at(f"{each.owner} lists it in RECORD, and it is gone", each.path) for each in gone[:_MOST]]
    if more := gone[_MOST:]:
        evidence.append(at(f"{len(more)} more files that RECORDs list are gone, the first of them", more[0].path))
    remedies: list[Remedy] = [reinstall_wheels(gone)]
    if stops:
        remedies += [
            *(other_toolkits(case, [toolkit.home], [_compose(toolkit)]) if use.judged else [_compose(toolkit)]),
        ]
    return finding(
        _severity(use, Severity.ERROR if stops else severity),
        toolkit.home,
        f"the toolkit {toolkit.home} ({_who(case, use)}) has lost {which}, which {owners} brought: {consequence}",
        evidence,
        remedies,
    )


def _compose(toolkit: Toolkit) -> Remedy:
    return compose_view(toolkit, "Compose a whole toolkit of links beside it")


def _lacking(case: Case, use: Use, missing: tuple[ToolkitPart, ...]) -> Finding:
    toolkit = use.toolkit
    stops = [part for part in missing if part.needed_for == "compile"]
    nvcc = toolkit.part("nvcc")
    evidence: list[Evidence] = [at(f"{part.part} is missing: {part.failure}", toolkit.home) for part in missing]
    if nvcc:
        evidence.append(part_evidence(nvcc))
    titles = "; ".join(part.title for part in stops or missing)
    consequence = "no kernel compiles" if stops else "nvcc compiles, and what needs these parts besides does not work"
    remedies: list[Remedy] = [reinstall_parts(source_of(case, toolkit), part_release(toolkit, "nvcc"), missing)]
    if toolkit.gone_files:
        evidence += [
            at(f"{each.owner} lists it in RECORD, and it is gone", each.path) for each in toolkit.gone_files[:_MOST]
        ]
        remedies.append(reinstall_wheels(toolkit.gone_files))
    if stops and not use.judged:
        remedies.append(Manual(f"Where nothing is to be compiled with it, leave {_variable(case, use)} unset"))
    elif stops:
        remedies = [
            *other_toolkits(case, [toolkit.home], [_compose(toolkit)]),
            *remedies,
        ]
    if toolkit.part("nvcc.profile") is None:
        text = "If this nvcc is a copy or a link, set CUDA_HOME to the tree that it comes from"
        remedies.append(Manual(text))
    return finding(
        _severity(use, Severity.ERROR if stops else Severity.WARNING),
        toolkit.home,
        f"the toolkit {toolkit.home} ({_who(case, use)}) lacks {titles}: {consequence}",
        evidence,
        remedies,
    )
