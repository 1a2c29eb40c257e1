"""Whether GPUs on PCI can reach each other without a detour: IOMMU and Access Control Services, from /sys.

The ACS capability is that of the PCI Express base specification (extended capability 0x000d; control register at 6,
P2P Request Redirect = 0x4). Beyond byte 64 only root may read a device's configuration space.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from sm120kit.patterns import pattern
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.types.machine import PciPath

_DEVICES = "/sys/bus/pci/devices"
_ADDRESS = pattern(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_SPACE = 4096
_FIRST_EXTENDED = 0x100
_ACS, _CONTROL, _REQUEST_REDIRECT = 0x000D, 6, 0x4


def read_pci_paths(files: Files, gpus: Sequence[str]) -> tuple[PciPath, ...]:
    """One for each of ``gpus`` (``0000:01:00.0 10de:2bb5``), where there are several."""
    if len(gpus) < 2:
        return ()
    known: dict[str, Fact[bool]] = {}
    return tuple(_path(files, gpu.partition(" ")[0], known) for gpu in gpus)


def _path(files: Files, address: str, known: dict[str, Fact[bool]]) -> PciPath:
    return PciPath(address, _iommu(files, f"{_DEVICES}/{address}"), _redirecting(files, address, known))


def _iommu(files: Files, device: str) -> Fact[str]:
    path = f"{device}/iommu_group/type"
    try:
        return Known(files.text(path, 64).strip(), Source("file", path))
    except FileNotFoundError:
        if files.exists(f"{device}/iommu_group"):
            return Unknown(f"{path} is not there: this kernel does not tell the type of an IOMMU group")
        return Known("none", Source("file", device))
    except OSError as error:
        return Unknown(f"{path}: {error.strerror}")


def _redirecting(files: Files, address: str, known: dict[str, Fact[bool]]) -> Fact[tuple[str, ...]]:
    device = f"{_DEVICES}/{address}"
    try:
        parts = files.real(device).split("/")
    except OSError as error:
        return Unknown(f"{device}: {error.strerror}")
    bridges = [part for part in parts[:-1] if _ADDRESS.fullmatch(part)]
    found = []
    for bridge in bridges:
        if bridge not in known:
            known[bridge] = _redirects(files, f"{_DEVICES}/{bridge}/config")
        answer = known[bridge]
        if isinstance(answer, Unknown):
            return answer
        if answer.value:
            found.append(bridge)
    return Known(tuple(found), Source("file", device))


def _redirects(files: Files, path: str) -> Fact[bool]:
    try:
        space = files.pieces(path, [(0, _SPACE)])[0]
    except OSError as error:
        return Unknown(f"{path}: {error.strerror}")
    if len(space) <= _FIRST_EXTENDED:
        return Unknown(f"only root may read {path} as far as Access Control Services")
    control = next((place + _CONTROL for place in _capabilities(space, _ACS)), None)
    value = struct.unpack_from("<H", space, control)[0] if control is not None and control + 2 <= len(space) else 0
    return Known(bool(value & _REQUEST_REDIRECT), Source("file", path))


def _capabilities(space: bytes, wanted: int) -> Iterator[int]:
    """Where extended capabilities of one kind begin; a circle in the list ends it."""
    place, seen = _FIRST_EXTENDED, set[int]()
    while place >= _FIRST_EXTENDED and place + 4 <= len(space) and place not in seen:
        seen.add(place)
        (header,) = struct.unpack_from("<I", space, place)
        if header & 0xFFFF == wanted:
            yield place
        place = header >> 20 & 0xFFC
