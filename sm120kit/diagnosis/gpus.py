"""The table of GPUs: what is known of a board by its name."""

from collections.abc import Iterable
from typing import Literal

from sm120kit.diagnosis.tables import Row, read_table

Board = Literal["data-centre", "server", "workstation", "geforce", "integrated"]
"""``server`` is a workstation GPU sold for servers (RTX PRO 6000 Blackwell Server Edition)."""


class GpuModel(Row, frozen=True, kw_only=True):
    """One GPU model."""

    name: str
    """As ``--gpu`` takes it: ``rtx-pro-6000``."""
    aliases: tuple[str, ...]
    product: str
    """NVML's name, or how that name begins."""
    compute_capability: str
    memory_mib: int
    """Total that NVML reports, in MiB (2^20 bytes); 0 where it has none or none was verified."""
    family: Literal["turing", "ampere", "ada", "hopper", "blackwell"]
    board: Board
    pci_ids: tuple[str, ...]
    """PCI device ids of vendor 10de, lower case."""


def gpu_models() -> tuple[GpuModel, ...]:
    """All rows."""
    return read_table("gpus", GpuModel)


def model_by_product(product: str) -> GpuModel | None:
    """The model that NVML calls ``product``; the longest name that begins it wins."""
    fitting = [row for row in gpu_models() if product == row.product or product.startswith(f"{row.product} ")]
    return max(fitting, key=lambda row: len(row.product), default=None)


def models_by_pci(devices: Iterable[str]) -> tuple[GpuModel, ...]:
    """The models among PCI devices written as ``0000:01:00.0 10de:2bb5``."""
    ids = {device.rpartition("10de:")[2].lower() for device in devices}
    return tuple(row for row in gpu_models() if ids & set(row.pci_ids))
