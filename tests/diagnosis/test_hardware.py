"""Reading ``--gpu``."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sm120kit.diagnosis.case import NamedGpu
from sm120kit.diagnosis.gpus import gpu_models, model_by_product, models_by_pci
from sm120kit.diagnosis.hardware import MOST_GPUS, parse_gpus
from sm120kit.errors import USAGE, Sm120kitError

MIB = 1 << 20


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("rtx-pro-6000x8", [NamedGpu("rtx-pro-6000", "12.0", 8, 97887 * MIB)]),
        ("rtx-5090", [NamedGpu("rtx-5090", "12.0", 1, 32607 * MIB)]),
        ("b200x7", [NamedGpu("b200", "10.0", 7, 183359 * MIB)]),
        ("12.0", [NamedGpu("12.0", "12.0")]),
        ("12.1", [NamedGpu("12.1", "12.1")]),
        ("12.0x4", [NamedGpu("12.0", "12.0", 4)]),
        ("sm_120a", [NamedGpu("12.0", "12.0")]),
        ("sm103x2", [NamedGpu("10.3", "10.3", 2)]),
        (
            "rtx-pro-6000x4,b200x2",
            [NamedGpu("rtx-pro-6000", "12.0", 4, 97887 * MIB), NamedGpu("b200", "10.0", 2, 183359 * MIB)],
        ),
        (
            " RTX PRO 6000 x2 , H100",
            [NamedGpu("rtx-pro-6000", "12.0", 2, 97887 * MIB), NamedGpu("h100", "9.0", 1, 81559 * MIB)],
        ),
        ("NVIDIA GeForce RTX 5090", [NamedGpu("rtx-5090", "12.0", 1, 32607 * MIB)]),
        ("rtx5090", [NamedGpu("rtx-5090", "12.0", 1, 32607 * MIB)]),
        ("8x rtx-pro-6000, 2xB200", parse_gpus("rtx-pro-6000x8,b200x2")),
        ("8 x RTXPRO6000", parse_gpus("rtx-pro-6000x8")),
        ("4*12.0", [NamedGpu("12.0", "12.0", 4)]),
        ("dgx-spark", [NamedGpu("gb10", "12.1")]),
        ("gb10x2", [NamedGpu("gb10", "12.1", 2)]),
        ("b300", [NamedGpu("b300", "10.3", 1, 275040 * MIB)]),
        ("gb200x4", [NamedGpu("gb200", "10.0", 4, 189471 * MIB)]),
        ("h200", [NamedGpu("h200", "9.0", 1, 143771 * MIB)]),
        ("l40s", [NamedGpu("l40s", "8.9", 1, 46068 * MIB)]),
        ("a100", [NamedGpu("a100", "8.0", 1, 81920 * MIB)]),
        ("rtx-4090", [NamedGpu("rtx-4090", "8.9", 1, 24564 * MIB)]),
        ("rtx-5080", [NamedGpu("rtx-5080", "12.0", 1, 16303 * MIB)]),
    ],
)
def test_spec_is_read(spec: str, expected: Sequence[NamedGpu]) -> None:
    assert list(parse_gpus(spec)) == list(expected)


@pytest.mark.parametrize(
    ("spec", "pieces"),
    [
        ("rtx-pro-600", ("'rtx-pro-600'", "rtx-pro-6000")),
        ("rtx-5900x8", ("'rtx-5900'", "rtx-5090")),
        ("pro6000", ("Did you mean rtx-pro-6000 or ", "rtx-pro-6000-max-q?")),
        ("0xb200", ("0 is no count",)),
        ("8x", ("no GPU called",)),
        ("mi300x", ("no GPU called",)),
        ("", ("names no GPU",)),
        (" , ", ("names no GPU",)),
        ("b200,,b200", ("nothing stands beside a comma", "--gpu b200,b200")),
        ("b200,", ("nothing stands beside a comma",)),
        ("b200x0", ("0 is no count",)),
        ("b200x129", ("129 is no count",)),
        ("b200x99999999999999999999", ("is no count",)),
        ("b200x100,h100x100", ("names 200 GPUs", str(MOST_GPUS))),
        ("120", ("no GPU called '120'",)),
        ("99.9", ("no GPU called",)),
        ("b200x-1", ("no GPU called",)),
        ("x8", ("no GPU called",)),
        ("\x1b[31mred", ("no GPU called", "\\x1b")),
    ],
)
def test_what_cannot_be_read_is_a_usage_error_that_helps(spec: str, pieces: tuple[str, ...]) -> None:
    with pytest.raises(Sm120kitError) as raised:
        parse_gpus(spec)
    assert raised.value.exit_code == USAGE
    assert raised.value.hint
    for piece in pieces:
        assert piece in f"{raised.value.message} {raised.value.hint}"


def test_no_name_means_two_models() -> None:
    names = [name for row in gpu_models() for name in (row.name, *row.aliases)]
    assert len(names) == len(set(names))
    for row in gpu_models():
        assert parse_gpus(row.name)[0].compute_capability == row.compute_capability
        assert parse_gpus(row.product)[0].name == row.name
        for alias in row.aliases:
            assert parse_gpus(alias)[0].name == row.name, "run together, no two names are one"


def test_models_are_found_by_what_drivers_and_pci_say() -> None:
    longest = model_by_product("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition")
    assert longest is not None
    assert longest.name == "rtx-pro-6000-max-q"
    assert model_by_product("NVIDIA GeForce RTX 5070 Ti") is not model_by_product("NVIDIA GeForce RTX 5070")
    assert model_by_product("NVIDIA GeForce RTX 50") is None
    assert [row.name for row in models_by_pci(["0000:01:00.0 10de:2BB5", "0000:02:00.0 10de:1234"])] == ["rtx-pro-6000"]
