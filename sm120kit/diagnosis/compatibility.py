"""Whether the components that one nvcc run puts together fit each other, pair by pair.

Every rule was measured with real wheels: nvcc 13.0, 13.2 and 13.5 over each other's cicc, crt and headers. A pair that
compiles although its releases differ is skew, no failure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from sm120kit.diagnosis.case import Use
from sm120kit.diagnosis.cccl import UsedCccl, has_feature, used_cccl
from sm120kit.diagnosis.releases import Release, part_release
from sm120kit.diagnosis.remedies import ToolkitRelease, toolkit_release
from sm120kit.diagnosis.tables import read_table
from sm120kit.snapshot.facts import Known, Unknown
from sm120kit.snapshot.types.toolkits import Part, Toolkit

COMPARED = ("cicc", "ptxas", "fatbinary", "cudafe++", "crt", "runtime-headers")
"""Parts whose release is held against nvcc's."""
_ONE_RELEASE_PER_FOLDER = ("system", "distro")
_BINARIES = ("cicc", "ptxas")
"""Programs that name their release nowhere but inside. In those layouts one package manager or installer fills a
folder with one release, and it is taken to be the compiler's; else every healthy system toolkit would be unknown."""
_SWITCH = "CCCL_DISABLE_CTK_COMPATIBILITY_CHECK"


class Clash(msgspec.Struct, frozen=True):
    """Two or more components of different releases, in words."""

    sentence: str
    parts: tuple[Part, ...]
    fails: bool
    cccl: tuple[UsedCccl, ...] = ()


class Verdict(msgspec.Struct, frozen=True):
    """All clashes of one toolkit, failing ones first, and what could not be judged, as sentences."""

    clashes: tuple[Clash, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether something will not compile."""
        return any(clash.fails for clash in self.clashes)


class _Judge(msgspec.Struct):
    """What the rules share while one toolkit is judged."""

    use: Use
    environment: Mapping[str, str]
    nvcc: Release
    unknown: list[str] = msgspec.field(default_factory=list)

    @property
    def toolkit(self) -> Toolkit:
        return self.use.toolkit

    def release(self, name: str) -> Release | None:
        """The release of a part that is there; an unknown one is remembered, unless the layout speaks for it."""
        part = self.toolkit.part(name)
        if part is None:
            return None
        if isinstance(part.release, Unknown):
            if self.toolkit.layout in _ONE_RELEASE_PER_FOLDER and name in _BINARIES and not part.altered:
                return self.nvcc
            self.unknown.append(f"the release of {name} ({part.path}) is unknown: {part.release.reason}")
        return Release.of(part.release)

    def parts(self, *names: str) -> tuple[Part, ...]:
        return tuple(part for name in names if (part := self.toolkit.part(name)))


def judge(use: Use, environment: Mapping[str, str]) -> Verdict:
    """Compare the components of one toolkit. Absent ones are passed over: ``toolkit.incomplete`` names them."""
    nvcc = use.toolkit.part("nvcc")
    if nvcc is None:
        return Verdict()
    release = Release.of(nvcc.release)
    if release is None:
        reason = nvcc.release.reason if isinstance(nvcc.release, Unknown) else f"{nvcc.release.value} is no release"
        return Verdict(unknown=(f"the release of nvcc ({nvcc.path}) is unknown: {reason}",))
    judge = _Judge(use, environment, release)
    cicc = judge.release("cicc")
    failing_cicc = [*_cicc_and_ptxas(judge, cicc), *_cicc_and_nvcc(judge, cicc)]
    clashes = [
        *failing_cicc,
        *_cicc_and_crt(judge, cicc, cicc_must_go=bool(failing_cicc)),
        *_headers_and_nvcc(judge),
    ]
    clashes += _other_skew(judge, {part.name for clash in clashes for part in clash.parts})
    clashes.sort(key=lambda clash: not clash.fails)
    return Verdict(tuple(clashes), tuple(dict.fromkeys(judge.unknown)))


def launch_arguments(release: Release) -> int | None:
    """How many arguments cicc of ``release`` writes into ``__cudaLaunch``."""
    row = _nearest(release)
    return row.launch_arguments if row else None


def _nearest(release: Release) -> ToolkitRelease | None:
    """The row of ``release``, else of the newest one before it."""
    rows = [(Release.parse(row.release), row) for row in read_table("toolkit_releases", ToolkitRelease)]
    older = [(known, row) for known, row in rows if known is not None and known <= release]
    return max(older, key=lambda each: each[0])[1] if older else None


def _cicc_and_ptxas(judge: _Judge, cicc: Release | None) -> Iterator[Clash]:
    """PTX that cicc writes must not be newer than what ptxas reads."""
    ptxas = judge.release("ptxas")
    if cicc is None or ptxas is None or cicc <= ptxas:
        return
    written, read = toolkit_release(cicc), toolkit_release(ptxas)
    isa = f" (PTX {written.ptx} against {read.ptx})" if written and read and written.ptx and read.ptx else ""
    yield Clash(
        f"cicc {cicc} writes newer PTX than ptxas {ptxas} reads{isa}: no kernel assembles",
        judge.parts("cicc", "ptxas"),
        fails=True,
    )


def _cicc_and_nvcc(judge: _Judge, cicc: Release | None) -> Iterator[Clash]:
    """nvcc passes options that an older cicc refuses."""
    row = _nearest(judge.nvcc)
    oldest = Release.parse(row.oldest_cicc) if row else None
    if cicc is not None and oldest is not None and cicc < oldest:
        yield Clash(
            f"nvcc {judge.nvcc} passes options that cicc knows from {oldest} on, and this one is {cicc}: no kernel "
            "compiles",
            judge.parts("nvcc", "cicc"),
            fails=True,
        )


def _cicc_and_crt(judge: _Judge, cicc: Release | None, *, cicc_must_go: bool) -> Iterator[Clash]:
    """cicc writes calls of a macro that the crt headers define: 2 arguments in 13.0, 1 in every other release."""
    if not judge.parts("crt"):
        return
    taken = _taken_by_crt(judge)
    if taken is None or cicc is None:
        return
    written, of_nvcc = launch_arguments(cicc), launch_arguments(judge.nvcc)
    crt = part_release(judge.toolkit, "crt")
    which = f"the compiler's own headers (include/crt, of {crt or 'unknown release'})"
    if written is not None and written != taken:
        yield Clash(
            f"cicc {cicc} writes kernel launches with {_arguments(written)} and {which} take {taken}: "
            "no file with a kernel launch compiles",
            judge.parts("nvcc", "cicc", "crt"),
            fails=True,
        )
    elif of_nvcc is not None and of_nvcc != taken and cicc_must_go:
        yield Clash(
            f"behind that, {which} do not fit nvcc {judge.nvcc}: with a cicc of nvcc's release, kernel launches have "
            f"{_arguments(of_nvcc)} where these headers take {taken}",
            judge.parts("nvcc", "crt"),
            fails=True,
        )


def _arguments(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"


def _taken_by_crt(judge: _Judge) -> int | None:
    """What the headers themselves say, whatever wheel claims them; else by their release."""
    told = judge.toolkit.crt_launch_arguments
    if isinstance(told, Known):
        return told.value
    release = judge.release("crt")
    return launch_arguments(release) if release else None


def _headers_and_nvcc(judge: _Judge) -> Iterator[Clash]:
    """CCCL from 3.0 on stops where CUDART_VERSION is not of the compiler's release."""
    headers = judge.release("runtime-headers")
    if headers is None or headers == judge.nvcc:
        return
    pair = f"the CUDA headers are of {headers} under nvcc {judge.nvcc}"
    parts = judge.parts("nvcc", "runtime-headers")
    used = used_cccl(judge.use)
    if not used:
        yield _without_cccl(judge, pair, parts)
        return
    unversioned = [cccl for cccl in used if isinstance(cccl.version, Unknown)]
    checking = tuple(cccl for cccl in used if _checks(cccl) and not _switched_off(judge, cccl))
    if checking:
        versions = " and ".join(dict.fromkeys(_name(cccl) for cccl in checking))
        sentence = f"{pair}, and {versions} refuses to compile cuda/std, cub and thrust with such a pair"
        yield Clash(sentence, parts, True, checking)
    elif unversioned:
        judge.unknown += [f"{pair}, and it is unknown whether CCCL in {cccl.where} minds" for cccl in unversioned]
    else:
        checks_at_all = any(_checks(cccl) for cccl in used)
        why = (
            f"{_SWITCH} is set"
            if checks_at_all
            else f"{' and '.join(_name(cccl) for cccl in used)} does not check that"
        )
        yield Clash(f"{pair}; this compiles, as {why}", parts, False, used)


def _without_cccl(judge: _Judge, pair: str, parts: tuple[Part, ...]) -> Clash:
    """No CCCL is there yet. What fails for want of it today fails for this pair once it is installed: every CCCL that
    belongs to the compiler's release checks, if the compiler is recent enough."""
    row = _nearest(judge.nvcc)
    fails = row is not None and has_feature(row.cccl_version, "headers-check")
    if not fails or row is None:
        return Clash(f"{pair}; this compiles", parts, False)
    return Clash(
        f"{pair}, which shows as soon as the missing CCCL is there: from 3.0 on it refuses to compile with such a pair",
        parts,
        True,
    )


def _checks(cccl: UsedCccl) -> bool:
    return isinstance(cccl.version, Known) and has_feature(cccl.version.value, "headers-check")


def _switched_off(judge: _Judge, cccl: UsedCccl) -> bool:
    """Whether the user's own flags define CCCL's switch, and this version knows it."""
    names = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"]
    if cccl.brought_by == "flashinfer":
        names.append("FLASHINFER_EXTRA_CUDAFLAGS")
    defined = any(f"-D{_SWITCH}" in judge.environment.get(name, "") for name in names)
    known = isinstance(cccl.version, Known) and has_feature(cccl.version.value, "headers-check-can-be-disabled")
    return defined and known


def _name(cccl: UsedCccl) -> str:
    version = cccl.version.value if isinstance(cccl.version, Known) else "of unknown version"
    return f"CCCL {version}" + (f" (brought by {cccl.brought_by})" if cccl.brought_by else "")


def _other_skew(judge: _Judge, said: set[str]) -> Iterator[Clash]:
    """Parts of another release than nvcc that compile all the same."""
    differing = []
    for part in judge.parts(*COMPARED):
        release = Release.of(part.release)
        if part.name not in said and release is not None and release != judge.nvcc:
            differing.append((part, release))
    if differing:
        listed = ", ".join(f"{part.name} {release}" for part, release in differing)
        sentence = f"{listed} beside nvcc {judge.nvcc}: no failure is known from this, yet they are not one release"
        yield Clash(sentence, tuple(part for part, _ in differing), False)
