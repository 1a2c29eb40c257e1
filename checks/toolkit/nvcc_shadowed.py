"""An installed package compiles with another CUDA compiler than the one that was meant

## What it finds
- a script (as a shim in /usr/local/bin) stands for nvcc, so that a package compiles with one tree and looks for
  headers and libraries below the script's folder;
- FLASHINFER_NVCC, PYTORCH_NVCC or DG_JIT_NVCC_COMPILER name a compiler of another release than the CUDA home;
- the first nvcc on PATH is the distribution's, or one that cannot build for this GPU or this torch, while a fitting
  one stands later on PATH or is installed in the target itself;
- two packages use toolkits of two releases.

## Why it matters
FlashInfer, torch, tvm-ffi and SGLang go two folders up from the nvcc that PATH finds and do not resolve links: a
script /usr/local/bin/nvcc makes /usr/local their CUDA home, where neither lib64 nor headers lie. Where PATH was
appended (`PATH=$PATH:/usr/local/cuda-13.0/bin`), an old /usr/bin/nvcc comes first, and no message says so.

## How it is found
Each package's own rule is followed. It is an error only where the compiler taken cannot build for a GPU of this
machine or for torch's CUDA major; else a warning. A script on PATH is harmless while CUDA_HOME names the right tree,
and so are two toolkits of one release, and a distribution's own script before its own compiler.

## Remedy
Set CUDA_HOME to the toolkit that is meant: all of them ask it first.

## Sources
- ggml-org/llama.cpp#23224; abetlen/llama-cpp-python#509, #2013; flashinfer-ai/flashinfer#1793
- flashinfer 0.7.2.post1 jit/cpp_ext.py; torch 2.13 utils/cpp_extension.py
"""

import posixpath
from collections.abc import Iterator

import msgspec

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    Known,
    NotApplicable,
    Remedy,
    Severity,
    at,
    check,
    finding,
    part_evidence,
)
from sm120kit.diagnosis.alternatives import misfit, other_toolkits, take
from sm120kit.diagnosis.releases import part_release
from sm120kit.snapshot.types.toolkits import Consumer, Nvcc, Toolkit


class _Taken(msgspec.Struct, frozen=True):
    """A compiler that one or more consumers take in the same way."""

    nvcc: str
    home: str
    found_via: str
    toolkit: Toolkit
    consumers: tuple[Consumer, ...]

    @property
    def names(self) -> str:
        return ", ".join(consumer.name for consumer in self.consumers)


@check("toolkit.nvcc-shadowed")
def nvcc_shadowed(case: Case) -> Iterator[Finding | CannotTell]:
    taken = _taken(case)
    if not taken:
        raise NotApplicable("nothing installed uses a toolkit that has an nvcc")
    said: set[str] = set()
    for each in taken:
        found = _behind_another(case, each) or _before_the_right_one(case, each)
        if found:
            said.add(each.toolkit.home)
            yield found
    yield from _two_toolkits(case, [each for each in taken if each.toolkit.home not in said])


def _taken(case: Case) -> list[_Taken]:
    toolkits = {toolkit.home: toolkit for toolkit in case.snapshot.toolkits if toolkit.has_nvcc}
    groups: dict[tuple[str, str, str, str], list[Consumer]] = {}
    for consumer in case.snapshot.consumers:
        if consumer.name == "triton" or consumer.toolkit not in toolkits or not isinstance(consumer.nvcc, Known):
            continue
        home = consumer.cuda_home.value if isinstance(consumer.cuda_home, Known) else ""
        groups.setdefault((consumer.nvcc.value, home, consumer.found_via, consumer.toolkit), []).append(consumer)
    return [
        _Taken(nvcc, home, via, toolkits[key], tuple(consumers)) for (nvcc, home, via, key), consumers in groups.items()
    ]


def _severity(case: Case, each: _Taken, reason: str) -> Severity:
    """error where the compiler taken cannot build and somebody must compile with it; else warning. A note where a
    repair is in place that serves them all."""
    if all(map(case.cured_by_view, each.consumers)):
        return Severity.NOTE
    needed = any(case.must_compile(consumer) for consumer in each.consumers)
    return Severity.ERROR if reason and needed else Severity.WARNING


def _behind_another(case: Case, each: _Taken) -> Finding | None:
    """A compiler that lies in another tree than the CUDA home: behind a script, or named by a variable."""
    toolkit = each.toolkit
    own = toolkit.part("nvcc")
    if own is None or toolkit.layout == "distro" or _belongs(case, each, own.path):
        return None
    home = next((other for other in case.snapshot.toolkits if each.home in (other.home, *other.aliases)), None)
    if home and home is not toolkit and part_release(home, "runtime-headers") == part_release(toolkit, "nvcc"):
        return None
    reason = misfit(case, toolkit)
    return finding(
        _severity(case, each, reason),
        each.nvcc,
        f"{each.names} compiles with {toolkit.home} and looks for headers and libraries below {each.home}, as "
        f"{each.nvcc} is not that folder's own compiler" + (f"; and {reason}" if reason else ""),
        _evidence(case, each),
        other_toolkits(case, [toolkit.home]) if reason else [take(case, toolkit)],
    )


def _belongs(case: Case, each: _Taken, own: str) -> bool:
    """Whether the tree that compiles is what the consumer's CUDA home is a name of."""
    script = _on_path(case, each.nvcc)
    if each.nvcc == own:
        return posixpath.dirname(posixpath.dirname(own)) == each.home or each.home in _names(each.toolkit)
    if script and script.kind == "script":
        return False
    return each.home in _names(each.toolkit) and own.startswith((f"{each.toolkit.home}/", f"{each.toolkit.real_home}/"))


def _names(toolkit: Toolkit) -> tuple[str, ...]:
    return (toolkit.home, toolkit.real_home, *toolkit.aliases)


def _on_path(case: Case, path: str) -> Nvcc | None:
    return next((nvcc for nvcc in case.snapshot.nvcc_on_path if nvcc.path == path), None)


def _before_the_right_one(case: Case, each: _Taken) -> Finding | None:
    """PATH (or the default folder) leads to one compiler, and a better one was meant."""
    if each.found_via in ("CUDA_HOME", "CUDA_PATH", "--cuda-home"):
        return None
    reason = misfit(case, each.toolkit)
    later = _later_on_path(case, each)
    inside = [
        toolkit
        for toolkit in case.snapshot.toolkits
        if toolkit.has_nvcc and {"site-packages", "conda environment"} & set(toolkit.found_via)
    ]
    fitting = [toolkit for toolkit in (*later, *inside) if toolkit is not each.toolkit and not misfit(case, toolkit)]
    if not reason:
        fitting = [other for other in fitting if other in later and each.toolkit.layout == "distro" != other.layout]
    if not fitting:
        return None
    what = reason or "it is the distribution's, and another one stands later on PATH"
    return finding(
        _severity(case, each, reason),
        each.nvcc,
        f"{each.names} takes {each.nvcc} before {fitting[0].home}, which fits: {what}",
        [*_evidence(case, each), *_compiler(fitting[0])],
        [take(case, fitting[0])],
    )


def _later_on_path(case: Case, each: _Taken) -> list[Toolkit]:
    """Toolkits whose compiler stands on PATH behind the one taken."""
    paths = [nvcc.path for nvcc in case.snapshot.nvcc_on_path]
    behind = case.snapshot.nvcc_on_path[paths.index(each.nvcc) + 1 :] if each.nvcc in paths else ()
    trees = {_tree(path) for nvcc in behind for path in (nvcc.path, nvcc.real_path, nvcc.executes) if path}
    return [toolkit for toolkit in case.snapshot.toolkits if toolkit.has_nvcc and trees & set(_names(toolkit))]


def _tree(nvcc: str) -> str:
    return posixpath.dirname(posixpath.dirname(nvcc))


def _two_toolkits(case: Case, taken: list[_Taken]) -> Iterator[Finding]:
    """Consumers that compile with another release than the one that serving needs."""
    if not taken:
        return
    first = next((each for each in taken if any(map(case.must_compile, each.consumers))), taken[0])
    release = part_release(first.toolkit, "nvcc")
    said = {first.toolkit.home}
    for each in taken:
        other = part_release(each.toolkit, "nvcc")
        if each.toolkit.home in said or release is None or other is None or release == other:
            continue
        said.add(each.toolkit.home)
        reason = misfit(case, each.toolkit)
        remedies: list[Remedy] = [take(case, first.toolkit)]
        yield finding(
            _severity(case, each, reason),
            each.toolkit.home,
            f"{each.names} takes {each.toolkit.home} (nvcc {other}) by {each.found_via}, while {first.names} takes "
            f"{first.toolkit.home} (nvcc {release}) by {first.found_via}" + (f"; and {reason}" if reason else ""),
            [*_evidence(case, each), *_evidence(case, first)],
            remedies,
        )


def _evidence(case: Case, each: _Taken) -> list[Evidence]:
    evidence = [at(f"{each.names} found its compiler by {each.found_via}", each.nvcc)]
    called = _on_path(case, each.nvcc)
    if called and called.kind == "script" and called.executes:
        evidence.append(at(f"a script that starts {called.executes}", called.path))
    return [*evidence, *_compiler(each.toolkit)]


def _compiler(toolkit: Toolkit) -> list[Evidence]:
    nvcc = toolkit.part("nvcc")
    return [part_evidence(nvcc)] if nvcc else []
