"""Repairs inside an existing tree, for those who ask for it: only paths that are missing are added.

A path that stands is never replaced or removed. So a tree overlaid by hand cannot be mended here: its way out is
a toolkit view, or installing its packages again.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.types import Finding, Repair
from sm120kit.errors import FINDINGS, Sm120kitError
from sm120kit.repair.compose import CcclSource, whole_cccl_sources
from sm120kit.repair.paths import read_state
from sm120kit.repair.types import Absent, Action, MakeDirectory, MakeLink, Step, WriteFile
from sm120kit.repair.view import CCCL_NAMES, Names, searches_cccl
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.types.toolkits import Toolkit

_LAYOUTS = ("wheel-cu13", "system", "unknown")
"""Trees that hold CUDA and nothing else."""


@dataclass(frozen=True)
class Added:
    """Steps that add paths to one tree, the bytes they write by SHA-256, and what nothing on disk can add."""

    steps: list[Step]
    contents: dict[str, bytes]
    lacking: list[str]


def is_addable(finding: Finding) -> bool:
    """Whether adding paths to the tree mends this finding."""
    return any(isinstance(each, Repair) and each.intent == "add_missing_links" for each in finding.remedies)


def refuse_unsuited(tree: Toolkit) -> None:
    """Refuse a tree that is shared with others than CUDA, or in which two CCCL versions stand in one search path.

    Raises:
        Sm120kitError: it is one; the hint names the ways out.
    """
    if tree.layout not in _LAYOUTS:
        raise Sm120kitError(
            f"{tree.home} is a {tree.layout} tree, whose folders hold more than CUDA: nothing is added there",
            hint="Run sm120kit fix --apply without --in-place: it composes a toolkit of links beside it",
            exit_code=FINDINGS,
        )
    versions = {
        copy.version.value for copy in tree.cccl_copies if copy.has_cuda_std and isinstance(copy.version, Known)
    }
    overlaid = any(copy.unowned_files for copy in tree.cccl_copies) or len(versions) > 1
    if overlaid:
        raise Sm120kitError(
            f"{tree.home} holds two CCCL versions in one search path, and adding paths cannot mend that",
            hint="Run sm120kit fix --apply without --in-place (it composes a clean toolkit of links beside it), or "
            "install the packages of this tree again",
            exit_code=FINDINGS,
        )


def missing_paths(tree: Toolkit, case: Case, names: Names, stub: bytes) -> Added:
    """What consumers look for and the tree lacks, as steps that add it."""
    steps: list[Step] = []
    contents: dict[str, bytes] = {}
    lacking: list[str] = []
    home = tree.home

    def add(action: Action, reason: str) -> bool:
        if isinstance(read_state(action.path), Absent):
            steps.append(Step(action, Absent(), reason))
            return True
        return False

    has = set(names(home))
    lib = f"{home}/lib64" if "lib64" in has else f"{home}/lib"
    if "lib64" not in has and "lib" in has:
        add(MakeLink(f"{home}/lib64", "lib"), "programs are linked with -L lib64, and wheels have lib")
    for unversioned, name in _unversioned(names(lib)):
        add(MakeLink(f"{lib}/{unversioned}", name), f"-l{unversioned[3:-3]} looks for the unversioned name")
    if not any(name.endswith("stubs/libcuda.so") for name in tree.link_names):
        driver = case.snapshot.driver.libcuda_links
        add(MakeDirectory(f"{lib}/stubs"), "the folder in which linkers are told to look for libcuda.so")
        if driver:
            add(MakeLink(f"{lib}/stubs/libcuda.so", driver[0]), "-lcuda, answered by the driver's own library")
        else:
            digest = hashlib.sha256(stub).hexdigest()
            if add(WriteFile(f"{lib}/stubs/libcuda.so", digest, 0o755), "-lcuda, answered by a stub"):
                contents[digest] = stub
    if not any(copy.has_nv_target for copy in tree.cccl_copies):
        source = next(iter(whole_cccl_sources(case.snapshot.toolkits, case)), None)
        if source is None:
            lacking.append(
                f"{home} has no CCCL, and there is none on disk with nv, cuda, cub and thrust of one version"
            )
        else:
            for action in _cccl_links(tree, source):
                add(action, f"CCCL {source.version} of {source.origin}, whole")
    return Added(steps, contents, lacking)


def _unversioned(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    versioned: dict[str, str] = {}
    for name in names:
        match = re.fullmatch(r"(lib(?:cu|nv|np).+\.so)\.\d+(\.\d+)*", name)
        if match:
            versioned[match[1]] = min(versioned.get(match[1], name), name, key=len)
    yield from sorted(versioned.items())


def _cccl_links(tree: Toolkit, source: CcclSource) -> Iterator[Action]:
    headers = tree.part("runtime-headers")
    include = posixpath.dirname(headers.path) if headers else f"{tree.home}/include"
    if not searches_cccl(tree):
        for name in CCCL_NAMES:
            yield MakeLink(f"{include}/{name}", source.folders[name])
        return
    yield MakeDirectory(f"{include}/cccl")
    for name in CCCL_NAMES:
        yield MakeLink(f"{include}/cccl/{name}", source.folders[name])
    yield MakeLink(f"{include}/nv", "cccl/nv")
