"""Simulated GPUs: what is allocated counts as long as whoever allocated it lives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sm120kit.capacity.machine import TAKEN_BY_DRIVER
from sm120kit.diagnosis.gpus import model_by_product
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.gpus import GpuMemory
from sm120kit.fleet.rehearsal.allocations import OutOfMemoryError, allocate, release
from sm120kit.fleet.rehearsal.gpus import SimulatedGpus, lay_out, simulated_gpus

pytestmark = pytest.mark.rehearsal

MIB = 1 << 20
PROGRAM = """
import sys
from sm120kit.fleet.rehearsal.allocations import allocate
allocate(sys.argv[1], "GPU-rehearsal-1", 4096, total=1 << 40, leaked=sys.argv[2] == "leaked")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def reader(tmp_path: Path) -> SimulatedGpus:
    """Two GPUs that nobody uses."""
    lay_out(tmp_path, simulated_gpus("rtx-pro-6000x2"))
    return SimulatedGpus(tmp_path)


def test_they_are_what_their_names_say_and_say_that_they_are_simulated() -> None:
    gpus = simulated_gpus("rtx-pro-6000x2,b200")
    assert [gpu.index for gpu in gpus] == [0, 1, 2]
    assert [gpu.compute_capability for gpu in gpus] == ["12.0", "12.0", "10.0"]
    assert gpus[0].memory_total == 97887 * MIB
    assert all("rehearsal" in gpu.uuid and "rehearsal" in gpu.name for gpu in gpus)
    assert len({gpu.uuid for gpu in gpus}) == 3
    model = model_by_product(gpus[0].name)
    assert model is not None
    assert model.name == "rtx-pro-6000"


def test_a_gpu_without_known_memory_is_refused() -> None:
    with pytest.raises(Sm120kitError, match=r"memory of '12\.0' is not known"):
        simulated_gpus("12.0")


def test_what_is_allocated_counts_until_it_is_released(reader: SimulatedGpus) -> None:
    folder, total = str(reader.folder), 97887 * MIB
    held = allocate(folder, "GPU-rehearsal-0", 3 * MIB, total=total)
    allocate(folder, "GPU-rehearsal-0", 4 * MIB, total=total)
    assert reader.read() == {
        "GPU-rehearsal-0": GpuMemory(TAKEN_BY_DRIVER + 7 * MIB, total),
        "GPU-rehearsal-1": GpuMemory(TAKEN_BY_DRIVER, total),
    }
    release(held)
    assert reader.read()["GPU-rehearsal-0"].used == TAKEN_BY_DRIVER + 4 * MIB


def test_no_more_than_there_is(reader: SimulatedGpus) -> None:
    allocate(str(reader.folder), "GPU-rehearsal-0", 6, total=10)
    with pytest.raises(OutOfMemoryError) as caught:
        allocate(str(reader.folder), "GPU-rehearsal-0", 5, total=10)
    assert (caught.value.wanted, caught.value.free) == (5, 4)


@pytest.mark.parametrize(("kind", "left"), [("freed", 0), ("leaked", 4096)])
def test_an_end_frees_it_unless_it_leaks(reader: SimulatedGpus, kind: str, left: int) -> None:
    command = [sys.executable, "-c", PROGRAM, str(reader.folder), kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert reader.read()["GPU-rehearsal-1"].used == TAKEN_BY_DRIVER + 4096
        holder.kill()
    assert reader.read()["GPU-rehearsal-1"].used == TAKEN_BY_DRIVER + left


def test_a_number_that_another_process_has_now_holds_nothing(reader: SimulatedGpus) -> None:
    path = Path(allocate(str(reader.folder), "GPU-rehearsal-0", 5, total=10))
    path.write_text(path.read_text().replace('"started": ', '"started": 1'))
    assert f'"pid": {os.getpid()}' in path.read_text()
    assert reader.read()["GPU-rehearsal-0"].used == TAKEN_BY_DRIVER


def test_a_folder_of_something_else_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(Sm120kitError, match="simulated GPUs"):
        SimulatedGpus(tmp_path / "nothing").read()
