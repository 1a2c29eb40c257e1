"""Weights from headers: nothing is loaded, and nothing that is wrong goes unsaid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sm120kit.capacity.weights import INDEX, Loading, Weights, read_weights
from sm120kit.errors import Sm120kitError
from sm120kit.snapshot.files import Files
from tests.planning import Tensor, write_safetensors

BF16 = Loading(layers=2, float_bytes=2)

SERVES: list[Tensor] = [
    ("model.embed_tokens.weight", "BF16", (1000, 64)),
    ("model.layers.0.mlp.weight", "BF16", (64, 64)),
    ("model.layers.1.mlp.experts.0.weight", "BF16", (64, 32)),
]
DRAFTS: list[Tensor] = [("model.layers.2.mlp.weight", "BF16", (64, 8)), ("mtp.fc.weight", "BF16", (4, 4))]


def _read(folder: Path, loading: Loading = BF16) -> Weights:
    return read_weights(Files(), str(folder), loading)


def test_what_serves_drafts_and_belongs_to_experts(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "model.safetensors", [*SERVES, *DRAFTS])
    found = _read(tmp_path)
    assert found.main == 2 * (1000 * 64 + 64 * 64 + 64 * 32)
    assert found.draft == 2 * (64 * 8 + 16)
    assert found.experts == 2 * 64 * 32
    assert found.stored == found.main + found.draft
    assert found.by_dtype == {"BF16": found.stored}


def test_the_files_that_an_index_names_and_no_others(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "model-00001-of-00002.safetensors", SERVES[:1])
    write_safetensors(tmp_path / "model-00002-of-00002.safetensors", SERVES[1:])
    write_safetensors(tmp_path / "old.safetensors", [("junk", "F32", (1000, 1000))])
    names = {SERVES[0][0]: "model-00001-of-00002.safetensors", SERVES[1][0]: "model-00002-of-00002.safetensors"}
    (tmp_path / INDEX).write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": names}))
    assert (_read(tmp_path).files, _read(tmp_path).main) == (2, 2 * (1000 * 64 + 64 * 64 + 64 * 32))


def test_mistrals_own_layout_beside_the_other_one_is_not_counted_twice(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "model.safetensors", SERVES)
    write_safetensors(tmp_path / "consolidated.safetensors", SERVES)
    assert _read(tmp_path).files == 1


def test_float32_is_loaded_as_the_type_that_serves(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "model.safetensors", [("model.norm.weight", "F32", (10,))])
    assert (_read(tmp_path).main, _read(tmp_path).stored) == (20, 40)


def test_a_quantised_checkpoint_stays_as_it_is(tmp_path: Path) -> None:
    tensors = [("model.layers.0.w.weight", "F8_E4M3", (64, 64)), ("model.layers.0.w.scale", "F32", (1, 1))]
    write_safetensors(tmp_path / "model.safetensors", tensors)
    assert _read(tmp_path, Loading(layers=1)).main == 64 * 64 + 4


def test_quantised_while_it_is_loaded(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "model.safetensors", SERVES)
    # The matrices of layers at one byte; the embedding stays at two.
    assert _read(tmp_path, Loading(2, 2, 1)).main == 2 * 1000 * 64 + 64 * 64 + 64 * 32


def _broken_header(folder: Path, text: bytes, announced: int | None = None) -> None:
    length = len(text) if announced is None else announced
    (folder / "model.safetensors").write_bytes(length.to_bytes(8, "little") + text)


@pytest.mark.parametrize(
    ("text", "announced", "said"),
    [
        (b"", 0, "cut off or no safetensors file"),
        (b"{}", 1 << 62, "cut off or no safetensors file"),
        (b"[1]", None, "has a header that cannot be read"),
        (b"\xff\xfe\x00", None, "has a header that cannot be read"),
        (b'{"a": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}}', None, "ends 8 bytes past the end"),
        (b'{"a": {"dtype": "BF16", "shape": [4], "data_offsets": [8, 0]}}', None, "impossible shape or place"),
        (b'{"a": {"dtype": "BF16", "shape": [-1], "data_offsets": [0, 0]}}', None, "impossible shape or place"),
        (
            b'{"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 0]}}',
            None,
            "does not have the size of its shape",
        ),
        (b'{"a": {"dtype": "Q3", "shape": [0], "data_offsets": [0, 0]}}', None, "of type Q3, whose size is not known"),
        (b'{"a": {"shape": [1]}}', None, "has a header that cannot be read"),
        (b"[" * 5000, None, "has a header that cannot be read"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: bytes, announced: int | None, said: str) -> None:
    _broken_header(tmp_path, text, announced)
    with pytest.raises(Sm120kitError, match=said):
        _read(tmp_path)


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = write_safetensors(tmp_path / "model.safetensors", SERVES)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 1)
    with pytest.raises(Sm120kitError, match="is cut off"):
        _read(tmp_path)


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ('{"weight_map": {"a": "../../etc/passwd"}}', "which is no file beside it"),
        ('{"weight_map": {"a": ".."}}', "which is no file beside it"),
        ('{"weight_map": {"a": "model-00001-of-00001.safetensors"}}', "cannot be read: No such file"),
        ('{"weight_map": {}}', "names 0 files"),
        ('{"weight_map": 3}', "is no index of weights"),
        ("not json", "is no index of weights"),
    ],
)
def test_an_index_that_leads_nowhere_is_refused(tmp_path: Path, index: str, said: str) -> None:
    (tmp_path / INDEX).write_text(index)
    with pytest.raises(Sm120kitError, match=said):
        _read(tmp_path)


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Sm120kitError, match="holds no safetensors files"):
        _read(tmp_path)
    with pytest.raises(Sm120kitError, match="cannot be read"):
        _read(tmp_path / "missing")


def test_no_tensor_is_read(tmp_path: Path) -> None:
    """A hundred GiB of weights cost what their headers cost: the tensors here are holes in the file."""
    write_safetensors(tmp_path / "model.safetensors", [("model.layers.0.w.weight", "BF16", (1 << 20, 50 << 10))])
    assert _read(tmp_path).main == 100 << 30


@pytest.mark.parametrize(("head", "left_out"), [(True, 2 * 1000 * 64 + 2 * 8 * 8), (False, 2 * 8 * 8)])
def test_what_decoding_hardly_reads(tmp_path: Path, head: bool, left_out: int) -> None:
    tensors = [
        ("model.language_model.embed_tokens.weight", "BF16", (1000, 64)),
        ("model.visual.blocks.0.mlp.weight", "BF16", (8, 8)),
    ]
    tensors += [("lm_head.weight", "BF16", (1000, 64))] if head else []
    write_safetensors(tmp_path / "model.safetensors", tensors)
    assert _read(tmp_path).left_out == left_out
