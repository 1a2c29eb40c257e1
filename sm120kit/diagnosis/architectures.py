"""Which compiler release knows which GPU: compute capability against nvcc and ptxas."""

import re

import msgspec

from sm120kit.diagnosis.releases import Release
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.patterns import pattern
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.types.toolkits import Part, Toolkit

_TARGET = pattern(r"(\d{1,2}\.\d)([af]?)(?:\+PTX)?")


class Architecture(Row, frozen=True, kw_only=True):
    """One compute capability and the CUDA releases that compile for it."""

    compute_capability: str
    """``12.0``"""
    first: str
    """First release seen with it."""
    without: str = ""
    """Newest release seen without it. Between this and ``first`` nothing is known."""
    last: str = ""
    """Newest release that still has it; empty where none has dropped it."""
    specific: str = ""
    """First release with the ``a`` form of the target (``sm_120a``); empty where there is none."""
    family: str = ""
    """First release with the ``f`` form."""


class Support(msgspec.Struct, frozen=True):
    """Whether a toolkit compiles for one target. ``answer`` is ``None`` where that is not known.

    ``tool`` is the part that decides: the one that refuses, else nvcc.
    """

    answer: bool | None
    tool: Part | None = None


def targets_in(arch_list: str) -> tuple[str, ...]:
    """Targets named by a variable such as TORCH_CUDA_ARCH_LIST (``12.0a 10.0+PTX``); other words are passed over."""
    matches = (_TARGET.fullmatch(word) for word in re.split(r"[\s;,]+", arch_list))
    return tuple(dict.fromkeys(match[1] + match[2] for match in matches if match))


def architecture(compute_capability: str) -> Architecture | None:
    """The row of that compute capability, or ``None`` where the table does not know it."""
    rows = read_table("architectures", Architecture)
    return next((row for row in rows if row.compute_capability == compute_capability), None)


def first_release(target: str) -> Release | None:
    """The first release that compiles for ``target`` (``12.0``, ``12.0a``, ``12.0f``), where the table tells."""
    row = architecture(target.rstrip("af"))
    if row is None:
        return None
    return Release.parse({"a": row.specific, "f": row.family}.get(target[-1], row.first))


def release_supports(release: Release, target: str) -> bool | None:
    """Whether compilers of ``release`` know ``target`` (``12.0``, ``12.0a``, ``12.0f``); ``None``: not known."""
    row = architecture(target.rstrip("af"))
    first = first_release(target)
    if row is None or first is None:
        return None
    last, without = Release.parse(row.last), Release.parse(row.without)
    if last and release > last:
        return False
    if release >= first:
        return True
    if target[-1] in "af" or (without and release <= without):
        return False
    return None


def toolkit_supports(toolkit: Toolkit, target: str) -> Support:
    """Whether nvcc and ptxas of this toolkit know ``target``: by nvcc's own list, else by their releases."""
    nvcc, ptxas = toolkit.part("nvcc"), toolkit.part("ptxas")
    if nvcc is None:
        return Support(None)
    answer = _listed(toolkit, target)
    if answer is None and (release := Release.of(nvcc.release)):
        answer = release_supports(release, target)
    if answer and ptxas and (release := Release.of(ptxas.release)) and release_supports(release, target) is False:
        return Support(False, ptxas)
    return Support(answer, nvcc)


def _listed(toolkit: Toolkit, target: str) -> bool | None:
    """What ``nvcc --list-gpu-arch`` tells. It lists plain targets only: of ``a`` and ``f`` forms it tells nothing."""
    if not isinstance(toolkit.architectures, Known):
        return None
    listed = f"compute_{target.rstrip('af').replace('.', '')}" in toolkit.architectures.value
    return None if listed and target[-1] in "af" else listed
