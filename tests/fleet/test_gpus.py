"""The memory of GPUs, through the real nvidia-ml-py against a library that answers what the test wants."""

from __future__ import annotations

from pathlib import Path

import pytest

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.gpus import GpuMemory, NvmlReader
from sm120kit.fleet.spec import Gpu
from sm120kit.fleet.supervision.memory_left import memory_left
from tests.snapshot.conftest import built_nvml, nvml_folder

__all__ = ["built_nvml", "nvml_folder"]

MIB = 1 << 20


def reader(folder: Path, state: str = "") -> NvmlReader:
    (folder / "state").write_text(state)
    return NvmlReader({"LD_LIBRARY_PATH": str(folder)}, limit_s=10)


def test_used_and_total_by_uuid(nvml_folder: Path) -> None:
    memory = reader(nvml_folder).read()
    assert len(memory) == 8
    assert set(memory.values()) == {GpuMemory((97887 - 97245) * MIB, 97887 * MIB)}


def test_a_lost_card_is_left_out(nvml_folder: Path) -> None:
    assert len(reader(nvml_folder, "5 handle !15\n").read()) == 7


def test_no_driver_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(Sm120kitError, match="memory cannot be read") as caught:
        reader(tmp_path, "").read()
    assert caught.value.exit_code == 4


class Told:
    """Answers one reading after the other, the last again and again."""

    def __init__(self, *readings: dict[str, GpuMemory]) -> None:
        self._readings = list(readings)

    def read(self) -> dict[str, GpuMemory]:
        return self._readings.pop(0) if len(self._readings) > 1 else self._readings[0]


GPU = Gpu("GPU-1", 1, "RTX", "12.0", 1000 * MIB, memory_used=100 * MIB)


def test_memory_that_comes_back_late_is_waited_for() -> None:
    late = Told({"GPU-1": GpuMemory(900 * MIB, 1000 * MIB)}, {"GPU-1": GpuMemory(120 * MIB, 1000 * MIB)})
    assert memory_left([GPU], late) == ()


def test_memory_that_stays_is_named_with_its_size() -> None:
    stays = Told({"GPU-1": GpuMemory(1124 * MIB, 2000 * MIB)})
    (sentence,) = memory_left([GPU], stays, limit_s=0.3)
    assert "GPU 1 (GPU-1) holds 1.0 GiB more than before the launch" in sentence


def test_a_driver_that_answers_no_more_is_said() -> None:
    class Broken:
        def read(self) -> dict[str, GpuMemory]:
            raise Sm120kitError("the GPUs' memory cannot be read: gone")

    assert "could not be read" in memory_left([GPU], Broken())[0]
