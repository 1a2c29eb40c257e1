"""Every table of dated facts loads with its row type, and every row says where it was read."""

from __future__ import annotations

import msgspec
import pytest

from sm120kit.capacity.formulas import Formula
from sm120kit.capacity.geometry import LayoutRow
from sm120kit.capacity.machine import Bandwidth
from sm120kit.data import data_dir
from sm120kit.diagnosis.architectures import Architecture, release_supports, targets_in
from sm120kit.diagnosis.asked import KnownVersion
from sm120kit.diagnosis.attention import BackendRow, DefaultRow, HybridRow
from sm120kit.diagnosis.cccl import CcclFeature
from sm120kit.diagnosis.development_headers import DevelopmentHeader, ModuleHeaders
from sm120kit.diagnosis.drivers import OldestDriver
from sm120kit.diagnosis.flashinfer import FlashinferRule
from sm120kit.diagnosis.gpus import GpuModel
from sm120kit.diagnosis.image_requirements import DriverCuda
from sm120kit.diagnosis.kernels import KernelChoice, MoeBlock, SharedMemory, TunedMoe
from sm120kit.diagnosis.parts import ToolkitPart
from sm120kit.diagnosis.pins import Minimum
from sm120kit.diagnosis.releases import Release
from sm120kit.diagnosis.remedies import ToolkitRelease
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.diagnosis.torch_wheels import TorchWheel
from sm120kit.diagnosis.triton import TritonPtxas
from sm120kit.diagnosis.wheels import KernelWheel, KnownBad, RenamedPackage, SglangKernel, WheelLibrary
from sm120kit.engines.sglang.flags import Rename
from sm120kit.engines.sglang.ports import PortRow
from sm120kit.environment.architectures import CompileTarget
from sm120kit.snapshot.types.toolkits import PART_NAMES

TABLES: dict[str, type[Row]] = {
    "architectures": Architecture,
    "shared_memory": SharedMemory,
    "sglang_versions": KnownVersion,
    "sglang_ports": PortRow,
    "sglang_renames": Rename,
    "vllm_flags": Rename,
    "sglang_minimums": Minimum,
    "moe_tuned": TunedMoe,
    "moe_blocks": MoeBlock,
    "kernel_choices": KernelChoice,
    "hybrid_backends": HybridRow,
    "attention_defaults": DefaultRow,
    "attention_backends": BackendRow,
    "cccl_features": CcclFeature,
    "compile_targets": CompileTarget,
    "development_headers": DevelopmentHeader,
    "driver_cuda": DriverCuda,
    "drivers": OldestDriver,
    "flashinfer_rules": FlashinferRule,
    "kernel_wheels": KernelWheel,
    "known_bad": KnownBad,
    "renamed_packages": RenamedPackage,
    "sglang_kernels": SglangKernel,
    "wheel_libraries": WheelLibrary,
    "gpu_bandwidth": Bandwidth,
    "gpus": GpuModel,
    "model_layouts": LayoutRow,
    "sglang_capacity": Formula,
    "module_headers": ModuleHeaders,
    "toolkit_parts": ToolkitPart,
    "toolkit_releases": ToolkitRelease,
    "torch_wheels": TorchWheel,
    "triton_ptxas": TritonPtxas,
}
"""Every table with the type of its rows: whoever adds a table adds it here."""

NAMES = sorted(path.stem for path in (data_dir("checks") / "tables").glob("*.toml"))


def test_every_table_has_a_row_type() -> None:
    assert sorted(TABLES) == NAMES


@pytest.mark.parametrize("name", sorted(TABLES))
def test_rows_fit_and_name_their_source(name: str) -> None:
    rows = read_table(name, TABLES[name])
    assert rows
    assert [row for row in rows if not row.source.strip()] == []


@pytest.mark.parametrize("row", TABLES.values())
def test_the_types_of_a_row_need_no_evaluation(row: type[Row]) -> None:
    assert not [name for name, kind in row.__annotations__.items() if isinstance(kind, str)]


def test_toolkit_releases_are_whole_and_in_order() -> None:
    rows = read_table("toolkit_releases", ToolkitRelease)
    releases = [Release.parse(row.release) for row in rows]
    assert all(releases)
    assert releases == sorted(set(releases), key=releases.index)
    for row in rows:
        assert Release.parse(row.nvcc) == Release.parse(row.runtime) == Release.parse(row.release)
        assert (Release(13, 0) <= (Release.parse(row.release) or Release(0, 0))) == bool(row.cuda_toolkit)
        assert {"13.0": 2}.get(row.release, 1) == row.launch_arguments


def test_toolkit_parts_are_parts() -> None:
    rows = read_table("toolkit_parts", ToolkitPart)
    assert {row.part for row in rows} <= set(PART_NAMES)
    assert len({row.part for row in rows}) == len(rows)


def test_architectures_are_consistent() -> None:
    rows = read_table("architectures", Architecture)
    assert len({row.compute_capability for row in rows}) == len(rows)
    for row in rows:
        first, without, last = (Release.parse(text) for text in (row.first, row.without, row.last))
        assert first
        assert without is None or without < first
        assert last is None or first <= last
        for form in (row.specific, row.family):
            assert not form or (Release.parse(form) or first) >= first


@pytest.mark.parametrize(
    ("release", "target", "answer"),
    [
        ("12.8", "12.0", True),
        ("12.8", "12.0a", True),
        ("12.8", "12.0f", False),
        ("12.9", "12.0f", True),
        ("12.6", "12.0", False),
        ("12.7", "12.0", None),
        ("12.8", "12.1", False),
        ("13.3", "10.7", False),
        ("13.4", "10.7a", True),
        ("13.0", "10.1", False),
        ("12.9", "7.0", True),
        ("13.0", "7.0", False),
        ("13.5", "15.0", None),
        ("13.5", "8.0a", None),
    ],
)
def test_which_release_knows_which_target(release: str, target: str, answer: bool | None) -> None:
    parsed = Release.parse(release)
    assert parsed
    assert release_supports(parsed, target) is answer


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("12.0a", ("12.0a",)),
        ("9.0;12.0+PTX", ("9.0", "12.0")),
        ("10.0a 12.0f, 12.0f", ("10.0a", "12.0f")),
        ("Blackwell native 120", ()),
        ("", ()),
    ],
)
def test_targets_in_a_variable(text: str, targets: tuple[str, ...]) -> None:
    assert targets_in(text) == targets


@pytest.mark.parametrize("name", TABLES)
def test_a_table_reads_the_same_as_by_a_whole_toml_reader(name: str) -> None:
    whole = msgspec.toml.decode((data_dir("checks") / "tables" / f"{name}.toml").read_bytes())
    row = TABLES[name]
    assert read_table(name, row) == tuple(msgspec.convert(each, row) for each in whole["row"])
