"""Cases of multigpu.p2p-hang-risk."""

from typing import Any

from msgspec.structs import replace

from sm120kit.diagnosis.case import Request
from sm120kit.diagnosis.launch import LaunchLine
from sm120kit.snapshot.facts import Fact, Source, Unknown
from sm120kit.snapshot.types.machine import PciPath
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import driver, gpu, host, known, snapshot
from tests.cases.harness import a_note, a_warning, broken, healthy, look_alike, not_applicable, unknown, what_if

CHECK = "multigpu.p2p-hang-risk"

_SUBJECT = "GPUs on PCI"
_PLAIN = tuple(replace(gpu(index), nvlinks=known(0)) for index in range(2))
_LINKED = tuple(replace(gpu(index, "NVIDIA B200", "10.0"), nvlinks=known(18)) for index in range(2))
_DENIED: Fact[tuple[str, ...]] = Unknown("only root may read /sys/bus/pci/devices/0000:00:01.1/config as far as ACS")


def _two(iommu: Any = "identity", bridges: Any = (), gpus: Any = _PLAIN, **changes: Any) -> Snapshot:
    type_of_group = known(iommu, Source("file", "/sys/kernel/iommu_groups/7/type")) if isinstance(iommu, str) else iommu
    redirecting = known(bridges) if isinstance(bridges, tuple) else bridges
    paths = tuple(PciPath(f"0000:{bus}:00.0", type_of_group, redirecting) for bus in ("01", "41"))
    return snapshot(driver=driver(gpus=gpus), host=host(pci_paths=paths), **changes)


def _launch(tp_size: int) -> Request:
    line = LaunchLine((), "0.5.23", "0.5.23", "installed", {"tp_size": tp_size}, {"tp_size": f"--tp {tp_size}"})
    return Request(launch=line)


CASES = [
    healthy("no translation, no redirection", _two()),
    healthy("no IOMMU at all", _two("none")),
    broken(
        "an IOMMU that translates, and two GPUs for one server",
        _two("DMA"),
        a_warning(
            _SUBJECT, "2 GPUs without NVLink", "GPU 0000:01:00.0: IOMMU group of type DMA", "iommu_groups/7/type"
        ),
        request=_launch(2),
    ),
    broken("the same without a launch line", _two("DMA-FQ"), a_note(_SUBJECT, "whatever nvidia-smi topo says")),
    broken(
        "bridges that redirect",
        _two("identity", ("0000:00:01.1",)),
        a_note(_SUBJECT, "Access Control Services redirect at 0000:00:01.1"),
    ),
    broken("translation seen, bridges not", _two("DMA", _DENIED), a_note(_SUBJECT, "type DMA")),
    broken(
        "whether there is NVLink is not known",
        _two("DMA", gpus=(gpu(), gpu(1))),
        a_note(_SUBJECT),
    ),
    look_alike("the direct way is turned off", _two("DMA", environment={"NCCL_P2P_DISABLE": "1"}), request=_launch(2)),
    look_alike("a group that a virtual machine uses by itself", _two("unmanaged")),
    not_applicable("GPUs joined by NVLink", _two("DMA", gpus=_LINKED)),
    not_applicable("one GPU", _two("DMA", gpus=(gpu(),))),
    not_applicable("one GPU for each server", _two("DMA"), request=_launch(1)),
    not_applicable("hardware is named", _two("DMA"), request=what_if("12.0", count=2)),
    unknown("bridges cannot be read", _two("identity", _DENIED)),
    unknown("nothing of PCI is seen", snapshot(driver=driver(gpus=_PLAIN))),
]
