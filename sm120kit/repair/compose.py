"""Chooses which parts on disk make one coherent toolkit, and says why.

One nvcc run needs a compiler driver with its ptxas, a cicc, crt headers, runtime headers and one whole CCCL that
fit each other. Each part may come from another wheel, a system toolkit or FlashInfer's own copy.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sm120kit.diagnosis.architectures import release_supports
from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.releases import Release
from sm120kit.diagnosis.remedies import toolkit_release
from sm120kit.repair.types import Choice
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.nvcc_profile import evaluate
from sm120kit.snapshot.types.toolkits import Part, Toolkit

_NO_SOURCES = ("view", "distro")
"""A view is made of other trees, and a distribution keeps CUDA's headers and libraries among all others."""

_LAYOUTS_OF_ONE_INSTALLER = ("system", "conda")
"""Layouts whose parts without a readable release are taken to be of the release of their own nvcc."""


@dataclass(frozen=True)
class CcclSource:
    """One whole CCCL: the four folders ``nv``, ``cuda``, ``cub`` and ``thrust``."""

    origin: str
    version: str
    nv: str
    cuda: str
    cub: str
    thrust: str

    @property
    def folders(self) -> dict[str, str]:
        """The folders by the name under which headers are included."""
        return {"nv": self.nv, "cuda": self.cuda, "cub": self.cub, "thrust": self.thrust}


@dataclass(frozen=True)
class Located:
    """A part with the tree it was found in and its release."""

    part: Part
    tree: Toolkit
    release: Release

    @property
    def origin(self) -> str:
        """The wheel that brought it, else its path."""
        return self.part.owner or self.part.path


@dataclass(frozen=True)
class Composition:
    """A coherent set. ``stub`` is what lib64/stubs/libcuda.so will lead to; empty: one is built from ``cuda.h``."""

    nvcc: Located
    cicc: Located
    crt: Located
    headers: Located
    libcudart: Located
    cccl: CcclSource
    stub: str
    cuda_h: str
    choices: tuple[Choice, ...]

    @property
    def release(self) -> Release:
        """The release of its compiler."""
        return self.nvcc.release

    @property
    def trees(self) -> tuple[Toolkit, ...]:
        """The trees that parts come from, that of the runtime headers first, then the compiler's."""
        located = (self.headers, self.libcudart, self.nvcc, self.cicc, self.crt)
        return tuple({each.tree.home: each.tree for each in located}.values())


@dataclass(frozen=True)
class Incomplete:
    """No coherent set is on disk. ``reasons`` says for each compiler what keeps it from being one."""

    reasons: tuple[str, ...]


def compose(case: Case) -> Composition | Incomplete:
    """Choose the set that serves this target best: torch's CUDA release first, then the newest compiler."""
    trees = [toolkit for toolkit in case.snapshot.toolkits if toolkit.layout not in _NO_SOURCES]
    reasons: list[str] = []
    found: list[Composition] = []
    for nvcc in _located(trees, "nvcc"):
        made = _around(nvcc, trees, case)
        if isinstance(made, Composition):
            found.append(made)
        else:
            reasons.append(made)
    if not found:
        return Incomplete(tuple(reasons) or ("no nvcc is on disk, in the target or beside it",))
    return max(found, key=lambda made: _rank(made, case))


def _around(nvcc: Located, trees: Sequence[Toolkit], case: Case) -> Composition | str:
    """The set that this compiler leads, or a sentence saying what is missing for it."""
    whose = f"nvcc {nvcc.release} at {nvcc.part.path}"
    if unfit := unfit_for_nvcc(nvcc.part.path):
        return (
            f"{whose} cannot work there: nvcc finds neither headers nor its own programs in a folder whose path holds"
            f" {unfit}. Move it to a path without one; a virtual environment has to be made anew there"
        )
    lacking = [name for name in ("nvcc.profile", "ptxas", "fatbinary", "cudafe++") if nvcc.tree.part(name) is None]
    if lacking:
        return f"{whose} has no {', '.join(lacking)} beside it"
    if not _serves_a_view(nvcc.tree):
        return f"{whose} has an nvcc.profile that leads elsewhere than to the folders beside it"
    torch = _torch_release(case)
    if torch is not None and torch.major != nvcc.release.major:
        return f"{whose} is of another CUDA major than torch, which was built with {torch}"
    capabilities = case.compute_capabilities
    if isinstance(capabilities, Known):
        beyond = [each for each in capabilities.value if release_supports(nvcc.release, each) is False]
        if beyond:
            return f"{whose} cannot build for compute capability {', '.join(beyond)}"
    crt = _best(nvcc, (each for each in _located(trees, "crt") if crt_fits(each, nvcc)))
    if crt is None:
        return f"{whose} finds none of the compiler's own headers (include/crt) that fit it{_there_is(trees, 'crt')}"
    cicc = _best(nvcc, (each for each in _located(trees, "cicc") if cicc_fits(each.release, nvcc.release)))
    if cicc is None:
        return f"{whose} finds no cicc (nvvm) that fits it{_there_is(trees, 'cicc')}"
    of_release = [each for each in _located(trees, "runtime-headers") if each.release == nvcc.release]
    headers = _best(nvcc, (each for each in of_release if not lost_headers(each.part, each.tree)))
    if headers is None:
        lost = "; ".join(f"{path} is gone" for each in of_release for path in lost_headers(each.part, each.tree)[:1])
        there_is = f" ({lost})" if lost else _there_is(trees, "runtime-headers")
        return f"{whose} finds no {'whole set of ' if lost else ''}CUDA runtime headers of its release{there_is}"
    driver_header = headers.tree.part("driver-header")
    libcudart = _best(
        headers, (each for each in _located(trees, "libcudart") if each.release.major == nvcc.release.major)
    )
    if libcudart is None or driver_header is None:
        return f"{whose} finds no libcudart.so.{nvcc.release.major} or no cuda.h"
    cccl, why = _choose_cccl(nvcc, trees, case)
    if cccl is None:
        return f"{whose} finds no whole CCCL: {why}"
    stub, stub_why = _choose_stub(case, (nvcc.tree, headers.tree))
    return Composition(
        nvcc,
        cicc,
        crt,
        headers,
        libcudart,
        cccl,
        stub,
        driver_header.path,
        (
            Choice("compiler", f"{nvcc.origin} ({nvcc.part.path})", _compiler_why(nvcc, torch)),
            Choice(
                "cicc", _from(cicc, nvcc), _same_or(cicc, nvcc, "no newer than its ptxas, so its PTX is understood")
            ),
            Choice(
                "compiler's headers",
                _from(crt, nvcc),
                _same_or(crt, nvcc, "declares the launch macro as this cicc calls it"),
            ),
            Choice(
                "runtime headers", _from(headers, nvcc), f"CCCL demands exactly the compiler's release {nvcc.release}"
            ),
            Choice(
                "libcudart", _from(libcudart, nvcc), _same_or(libcudart, headers, "the only one on disk of this major")
            ),
            Choice("CCCL", _cccl_from(cccl, nvcc), why),
            Choice("libcuda.so to link with", stub or "a stub built from cuda.h", stub_why),
        ),
    )


def unfit_for_nvcc(path: str) -> str:
    """The character of ``path`` with which nvcc fails, in words; empty where there is none.

    nvcc hands the folders of its nvcc.profile through a shell between double quotes (seen with 13.0.88).
    """
    found = re.search('["$`]', path)
    return {'"': 'a double quote (")', "$": "a dollar sign ($)", "`": "a backtick (`)"}[found[0]] if found else ""


def crt_fits(crt: Located, nvcc: Located) -> bool:
    """Whether these crt headers declare __cudaLaunch as the stub code of this release calls it.

    13.0 passes two arguments and every other release one; otherwise one major's headers are compatible.
    """
    if crt.release.major != nvcc.release.major:
        return False
    return not lost_headers(crt.part, crt.tree) and (crt.release == Release(13, 0)) == (nvcc.release == Release(13, 0))


def lost_headers(part: Part, tree: Toolkit) -> list[str]:
    """Headers of the wheel that brought ``part`` which are gone, although every compile needs them."""
    return [each.path for each in tree.gone_files if each.for_every_compile and each.owner == part.owner]


def cicc_fits(cicc: Release, nvcc: Release) -> bool:
    """Whether this nvcc's ptxas reads the PTX of this cicc, which knows nvcc's options and fits the crt headers."""
    row = toolkit_release(nvcc)
    oldest = Release.parse(row.oldest_cicc) if row else None
    if cicc.major != nvcc.major or cicc > nvcc or (oldest is not None and cicc < oldest):
        return False
    return (cicc == Release(13, 0)) == (nvcc == Release(13, 0))


def whole_cccl_sources(trees: Sequence[Toolkit], case: Case) -> Iterator[CcclSource]:
    """Every CCCL on disk that has all four parts and was not overlaid by hand: toolkits' own, then FlashInfer's."""
    for tree in trees:
        for copy in tree.cccl_copies:
            whole = copy.has_nv_target and copy.has_cuda_std and copy.has_cub and copy.has_thrust
            if whole and copy.unowned_files == 0 and isinstance(copy.version, Known):
                folder = copy.include_dir
                yield CcclSource(
                    copy.owner or folder,
                    copy.version.value,
                    *(f"{folder}/{name}" for name in ("nv", "cuda", "cub", "thrust")),
                )
    for consumer in case.snapshot.consumers:
        libcudacxx = next((each for each in consumer.include_dirs if each.endswith("/libcudacxx/include")), "")
        if isinstance(consumer.bundled_cccl, Known) and libcudacxx:
            base = libcudacxx.removesuffix("/libcudacxx/include")
            yield CcclSource(
                f"the copy that {consumer.distribution} brings",
                consumer.bundled_cccl.value,
                f"{libcudacxx}/nv",
                f"{libcudacxx}/cuda",
                f"{base}/cub/cub",
                f"{base}/thrust/thrust",
            )


def _serves_a_view(tree: Toolkit) -> bool:
    """Whether an nvcc with this profile, called in another folder's bin, finds headers and cicc in that folder."""
    if not isinstance(tree.profile, Known):
        return False
    variables = evaluate(tree.profile.value, "/view/bin", "", {})
    includes = f"{variables.get('INCLUDES', '')} {variables.get('SYSTEM_INCLUDES', '')}"
    programs = f"{variables.get('CICC_PATH', '')}:{variables.get('PATH', '')}".split(":")
    found = re.findall(r"-(?:I|isystem)\W*(/[^\s\"]*)", includes)
    return "/view/include" in map(posixpath.normpath, found) and "/view/nvvm/bin" in map(posixpath.normpath, programs)


def _choose_cccl(nvcc: Located, trees: Sequence[Toolkit], case: Case) -> tuple[CcclSource | None, str]:
    least = 3 if nvcc.release.major >= 13 else 2
    fitting = [source for source in whole_cccl_sources(trees, case) if int(source.version.partition(".")[0]) >= least]
    if not fitting:
        return None, "no copy on disk has nv, cuda, cub and thrust of one version"
    own = [source for source in fitting if source.cub.startswith(f"{nvcc.tree.home}/")]
    if own:
        return own[0], f"CCCL {own[0].version}, whole, and the compiler's own"
    return fitting[0], f"CCCL {fitting[0].version}, whole; the compiler's tree has none that is"


def _choose_stub(case: Case, trees: Sequence[Toolkit]) -> tuple[str, str]:
    driver = case.snapshot.driver.libcuda_links
    if driver:
        return driver[0], "the driver's own library, so that nothing can be missing from it"
    for tree in trees:
        for name in tree.link_names:
            if name.endswith("stubs/libcuda.so"):
                return f"{tree.home}/{name}", "the toolkit brings one"
    return "", "no driver is here and no toolkit brings one; it names libcuda.so.1, which the driver's library answers"


def _located(trees: Sequence[Toolkit], name: str) -> Iterator[Located]:
    for tree in trees:
        part = tree.part(name)
        if part is None or part.altered:
            continue
        release = Release.of(part.release)
        if release is None and tree.layout in _LAYOUTS_OF_ONE_INSTALLER and (nvcc := tree.part("nvcc")):
            release = Release.of(nvcc.release)
        if release is not None:
            yield Located(part, tree, release)


def _best(lead: Located, candidates: Iterator[Located]) -> Located | None:
    """The candidate of the lead's release, of its tree; else the newest."""
    return max(
        candidates,
        key=lambda each: (each.release == lead.release, each.tree.home == lead.tree.home, each.release),
        default=None,
    )


def _rank(made: Composition, case: Case) -> tuple[bool, bool, int, Release]:
    torch = _torch_release(case)
    named = case.snapshot.target.cuda_home in (made.nvcc.tree.home, *made.nvcc.tree.aliases)
    return made.release == torch, named, -len(made.trees), made.release


def _torch_release(case: Case) -> Release | None:
    torch = case.snapshot.torch
    return Release.parse(torch.value.cuda) if isinstance(torch, Known) and torch.value.cuda else None


def _there_is(trees: Sequence[Toolkit], name: str) -> str:
    releases = sorted({each.release for each in _located(trees, name)})
    return f" (on disk: {', '.join(map(str, releases))})" if releases else " (none is on disk)"


def _compiler_why(nvcc: Located, torch: Release | None) -> str:
    if torch is None:
        return f"release {nvcc.release}, the newest that a whole set is on disk for"
    return f"release {nvcc.release}, for a torch built with CUDA {torch}"


def _from(part: Located, nvcc: Located) -> str:
    """Where a part comes from, with its path where that is another tree than the compiler's."""
    return part.origin if part.tree.home == nvcc.tree.home else _with_path(part.origin, part.part.path)


def _cccl_from(cccl: CcclSource, nvcc: Located) -> str:
    own = cccl.cub.startswith(f"{nvcc.tree.home}/")
    return cccl.origin if own else _with_path(cccl.origin, posixpath.dirname(cccl.nv))


def _with_path(origin: str, path: str) -> str:
    return origin if origin == path else f"{origin} ({path})"


def _same_or(part: Located, lead: Located, otherwise: str) -> str:
    return f"of the same release {part.release}" if part.release == lead.release else f"{part.release}: {otherwise}"
