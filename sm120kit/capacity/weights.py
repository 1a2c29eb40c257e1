"""How many bytes a checkpoint's weights are, from the headers of its safetensors files; no tensor is read.

A safetensors file begins with the length of its header (8 bytes, little endian) and the header itself, JSON: for every
tensor its type, its shape and where its bytes lie. (huggingface/safetensors, README, "Format".)
"""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterable

import msgspec

from sm120kit.errors import Sm120kitError
from sm120kit.snapshot.files import Files

INDEX = "model.safetensors.index.json"

_LONGEST_HEADER = 100_000_000
"""Bytes; the format's own limit."""

_LONGEST_INDEX = 64 << 20
_MOST_FILES = 4096

_BITS = {
    "F64": 64, "F32": 32, "F16": 16, "BF16": 16, "I64": 64, "I32": 32, "I16": 16, "I8": 8, "U64": 64, "U32": 32,
    "U16": 16, "U8": 8, "BOOL": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4, "C64": 64,
}  # fmt: skip

_FLOATS = frozenset({"F64", "F32", "F16", "BF16"})
_LAYER = re.compile(r"(?:^|\.)layers\.(\d+)\.")
_PICTURES = re.compile(r"(?:^|\.)(?:visual|vision_tower|vision_model|multi_modal_projector)\.")
_DRAFT = re.compile(r"(?:^|\.)mtp\.")


class Weights(msgspec.Struct, frozen=True):
    """Bytes of a checkpoint as stored, and as loaded."""

    main: int
    """Bytes on the GPU of what serves, before tensor parallelism."""
    draft: int
    """Bytes of layers that only drafting loads."""
    experts: int
    """Part of ``main`` that belongs to routed experts."""
    left_out: int
    """Part of ``main`` that decoding hardly reads: a table of embeddings beside a head, and what sees pictures."""
    stored: int
    by_dtype: dict[str, int]
    """Bytes as stored, by the format's names for the types."""
    files: int

    @property
    def describe(self) -> str:
        """The types, largest share first: ``BF16 51.0 GiB, F32 0.1 GiB``."""
        parts = sorted(self.by_dtype.items(), key=lambda item: -item[1])
        return ", ".join(f"{name} {size / (1 << 30):.2f} GiB" for name, size in parts)


class _Tensor(msgspec.Struct, frozen=True):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class _Index(msgspec.Struct, frozen=True):
    weight_map: dict[str, str]


class Loading(msgspec.Struct, frozen=True):
    """What loading makes of a checkpoint."""

    layers: int
    """Layers that serve; those after them only draft. 0 = all serve."""
    float_bytes: int = 0
    """Bytes that an element of a floating point weight takes once it is loaded; 0 = it stays as it is stored."""
    matrix_bytes: int = 0
    """The same for the matrices of the layers, which are quantised while they are loaded; 0 = as ``float_bytes``."""


def read_weights(files: Files, folder: str, loading: Loading) -> Weights:
    """Read every header that the checkpoint in ``folder`` consists of.

    Raises:
        Sm120kitError: there is no checkpoint, a file of it is missing or cut off, or a header is none.
    """
    main = draft = experts = embeddings = pictures = heads = stored = 0
    by_dtype: dict[str, int] = {}
    names = _file_names(files, folder)
    for name in names:
        for tensor_name, tensor in _header(files, f"{folder}/{name}"):
            size = tensor.data_offsets[1] - tensor.data_offsets[0]
            stored += size
            by_dtype[tensor.dtype] = by_dtype.get(tensor.dtype, 0) + size
            loaded = _loaded(tensor_name, tensor, size, loading)
            if _only_drafts(tensor_name, loading.layers):
                draft += loaded
                continue
            main += loaded
            if ".experts." in tensor_name:
                experts += loaded
            elif _PICTURES.search(tensor_name):
                pictures += loaded
            elif tensor_name.endswith("embed_tokens.weight"):
                embeddings += loaded
            elif tensor_name.endswith("lm_head.weight"):
                heads += 1
    left_out = pictures + (embeddings if heads else 0)
    return Weights(main, draft, experts, left_out, stored, by_dtype, len(names))


def _loaded(name: str, tensor: _Tensor, size: int, loading: Loading) -> int:
    if not loading.float_bytes or tensor.dtype not in _FLOATS:
        return size
    matrix = len(tensor.shape) >= 2 and name.endswith((".weight", "_proj")) and bool(_LAYER.search(name))
    each = loading.matrix_bytes if loading.matrix_bytes and matrix else loading.float_bytes
    return size * 8 // _BITS[tensor.dtype] * each


def _only_drafts(name: str, layers: int) -> bool:
    """Layers past the last one, and those called ``mtp``, belong to the draft model."""
    layer = _LAYER.search(name)
    return bool(_DRAFT.search(name)) or (layer is not None and int(layer[1][:9]) >= layers > 0 and "visual" not in name)


def _file_names(files: Files, folder: str) -> tuple[str, ...]:
    """The files of the checkpoint: those its index names, else all that lie there."""
    try:
        text = files.read(f"{folder}/{INDEX}", _LONGEST_INDEX)
    except FileNotFoundError:
        return _all_files(files, folder)
    except OSError as error:
        raise Sm120kitError(f"{folder}/{INDEX} cannot be read: {error.strerror}") from error
    try:
        named = dict.fromkeys(msgspec.json.decode(text, type=_Index).weight_map.values())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Sm120kitError(f"{folder}/{INDEX} is no index of weights: {error}") from error
    outside = next((name for name in named if posixpath.basename(name) != name or name in ("", ".", "..")), None)
    if outside is not None:
        raise Sm120kitError(f"{folder}/{INDEX} names {outside!r}, which is no file beside it")
    if not named or len(named) > _MOST_FILES:
        raise Sm120kitError(f"{folder}/{INDEX} names {len(named)} files")
    return tuple(named)


def _all_files(files: Files, folder: str) -> tuple[str, ...]:
    try:
        names = [name for name in files.names(folder) if name.endswith(".safetensors")]
    except OSError as error:
        raise Sm120kitError(f"{folder} cannot be read: {error.strerror}") from error
    # A checkpoint in Mistral's own layout lies beside the other one in the same folder.
    named = [name for name in names if not name.startswith("consolidated")] or names
    if not named:
        raise Sm120kitError(
            f"{folder} holds no safetensors files", hint="Name the folder of the checkpoint, or give --weights-gib"
        )
    return tuple(named)


def _header(files: Files, path: str) -> Iterable[tuple[str, _Tensor]]:
    try:
        size = files.size(path)
        prefix = files.pieces(path, [(0, 8)])[0]
        length = int.from_bytes(prefix, "little")
        if len(prefix) < 8 or not 2 <= length <= min(_LONGEST_HEADER, size - 8):
            raise Sm120kitError(
                f"{path} is cut off or no safetensors file: {size:,} bytes, a header of {length:,} announced"
            )
        raw = msgspec.json.decode(files.pieces(path, [(8, length)])[0], type=dict[str, msgspec.Raw])
        raw.pop("__metadata__", None)
        header = {name: msgspec.json.decode(each, type=_Tensor) for name, each in raw.items()}
    except OSError as error:
        raise Sm120kitError(
            f"{path} cannot be read: {error.strerror}", hint="Download the checkpoint whole, or give --weights-gib"
        ) from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Sm120kitError(f"{path} has a header that cannot be read: {error}") from error
    _check(path, header, size - 8 - length)
    return header.items()


def _check(path: str, header: dict[str, _Tensor], room: int) -> None:
    """Every tensor lies inside the file and is as large as its shape."""
    for name, tensor in header.items():
        begin, end = tensor.data_offsets
        bits = _BITS.get(tensor.dtype)
        if bits is None:
            raise Sm120kitError(f"{path}: tensor {name} is of type {tensor.dtype}, whose size is not known here")
        if any(side < 0 for side in tensor.shape) or not 0 <= begin <= end:
            raise Sm120kitError(f"{path}: tensor {name} has an impossible shape or place")
        if end > room:
            raise Sm120kitError(
                f"{path} is cut off: {name} ends {end - room:,} bytes past the end of the file",
                hint="Download the file again",
            )
        if end - begin != (math.prod(tensor.shape) * bits + 7) // 8:
            raise Sm120kitError(f"{path}: tensor {name} does not have the size of its shape")
