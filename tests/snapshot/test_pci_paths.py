"""IOMMU and Access Control Services from a /sys made by hand."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.pci_paths import read_pci_paths
from sm120kit.snapshot.types.machine import PciPath
from tests.snapshot.targets import value

GPUS = ("0000:01:00.0 10de:2bb5", "0000:41:00.0 10de:2bb5")


def space(*capabilities: tuple[int, int]) -> bytes:
    """A configuration space with extended capabilities, each with its id and the word at offset 6."""
    made = bytearray(4096)
    for index, (identifier, control) in enumerate(capabilities):
        place = 0x100 + 0x40 * index
        following = place + 0x40 if index + 1 < len(capabilities) else 0
        struct.pack_into("<I", made, place, identifier | 1 << 16 | following << 20)
        struct.pack_into("<H", made, place + 6, control)
    return bytes(made)


PLAIN = space((0x0001, 0), (0x000D, 0x0000))
REDIRECTING = space((0x0001, 0xFFFF), (0x000D, 0x001D))


def machine(root: Path, *, iommu: str | None = "identity", config: bytes = PLAIN) -> Files:
    devices = root / "sys/bus/pci/devices"
    devices.mkdir(parents=True)
    for index, gpu in enumerate(GPUS):
        address, bridge = gpu.split()[0], f"0000:{index}0:01.1"
        place = root / f"sys/devices/pci0000:{index}0/{bridge}/{address}"
        place.mkdir(parents=True)
        (place.parent / "config").write_bytes(config)
        for name in (address, bridge):
            target = place if name == address else place.parent
            (devices / name).symlink_to(f"/{target.relative_to(root)}")
        if iommu is not None:
            group = root / f"sys/kernel/iommu_groups/{index}"
            group.mkdir(parents=True)
            (group / "type").write_text(f"{iommu}\n")
            (place / "iommu_group").symlink_to(f"/sys/kernel/iommu_groups/{index}")
    return Files(str(root))


def read(files: Files) -> PciPath:
    paths = read_pci_paths(files, GPUS)
    assert [path.address for path in paths] == [gpu.split()[0] for gpu in GPUS]
    return paths[0]


def test_a_free_way(tmp_path: Path) -> None:
    found = read(machine(tmp_path))
    assert (value(found.iommu), value(found.redirecting)) == ("identity", ())


def test_translation_and_redirection(tmp_path: Path) -> None:
    found = read(machine(tmp_path, iommu="DMA-FQ", config=REDIRECTING))
    assert (value(found.iommu), value(found.redirecting)) == ("DMA-FQ", ("0000:00:01.1",))


def test_no_iommu_and_no_such_capability(tmp_path: Path) -> None:
    found = read(machine(tmp_path, iommu=None, config=space((0x0001, 0xFFFF))))
    assert (value(found.iommu), value(found.redirecting)) == ("none", ())


def test_what_only_root_may_read(tmp_path: Path) -> None:
    found = read(machine(tmp_path, config=PLAIN[:64]))
    assert isinstance(found.redirecting, Unknown)
    assert "only root may read" in found.redirecting.reason


@pytest.mark.parametrize(
    "config",
    [
        struct.pack("<I", 0x0001 | 0x100 << 20).rjust(0x104, b"\0") + bytes(100),
        struct.pack("<I", 0x000D | 0).rjust(0x104, b"\0"),
        b"\xff" * 4096,
    ],
    ids=["a circle", "cut off", "a device that is gone"],
)
def test_odd_spaces_end(tmp_path: Path, config: bytes) -> None:
    assert value(read(machine(tmp_path, config=config)).redirecting) == ()


def test_one_gpu_has_no_peer(tmp_path: Path) -> None:
    assert read_pci_paths(machine(tmp_path), GPUS[:1]) == ()


def test_a_gpu_that_sys_does_not_have(tmp_path: Path) -> None:
    paths = read_pci_paths(Files(str(tmp_path)), GPUS)
    assert all(isinstance(path.redirecting, Unknown) for path in paths)
