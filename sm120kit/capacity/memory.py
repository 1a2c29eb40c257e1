"""Bytes per token, bytes per state, states per request. Pure; places in the source stand in the formula's row."""

from __future__ import annotations

from sm120kit.capacity.geometry import Geometry, StateShape

GIB = 1 << 30
MIB = 1 << 20

STATE_DTYPES = {"float32": 4, "bfloat16": 2, "float16": 2}
"""Bytes per element of a state."""

KV_DTYPES = {
    "float32": 4,
    "bfloat16": 2,
    "float16": 2,
    "bf16": 2,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "mxfp8": 1,
    "fp4_e2m1": 1,
    "nvfp4": 1,
    "fp4_mx_block16": 1,
}
"""Bytes per element of keys and values; two 4-bit numbers share one."""

_FP4 = ("fp4_e2m1", "nvfp4", "fp4_mx_block16")
_FP4_BLOCK = 16
_MXFP8_BLOCK = 32


def kv_dtype(geometry: Geometry, asked: str, dtype: str) -> str:
    """What ``--kv-cache-dtype`` comes to: ``auto`` is what the checkpoint asks for, else the model's own type."""
    if asked != "auto":
        return asked
    return "fp8_e4m3" if geometry.checkpoint_kv == "fp8" else dtype


def bytes_per_token(geometry: Geometry, dtype: str, tp: int = 1) -> int:
    """Bytes that one token takes in the full-attention pool of one GPU, over all of its layers."""
    size = KV_DTYPES[dtype]
    if geometry.layout == "mla":
        whole = geometry.latent_dim * geometry.layers * size
        scales = geometry.latent_dim // _FP4_BLOCK * geometry.layers * size
        return whole // 2 + scales if dtype in _FP4 else whole
    return _heads_bytes(geometry, geometry.layers, dtype, tp)


def sliding_bytes_per_token(geometry: Geometry, dtype: str, tp: int = 1) -> int:
    """Bytes that one token takes in the sliding-window pool of one GPU; 0 without such layers."""
    return _heads_bytes(geometry, geometry.sliding_layers, dtype, tp)


def _heads_bytes(geometry: Geometry, layers: int, dtype: str, tp: int) -> int:
    heads, size = max(1, geometry.kv_heads // tp), KV_DTYPES[dtype]
    width = geometry.head_dim + geometry.v_head_dim
    whole = heads * width * layers * size
    if dtype in _FP4:
        return whole // 2 + heads * geometry.head_dim * layers * 2 * size // _FP4_BLOCK
    return whole + heads * width * layers // _MXFP8_BLOCK if dtype == "mxfp8" else whole


def bytes_per_state(shape: StateShape, dtype: str = "", tp: int = 1, convolution_dtype: str = "bfloat16") -> int:
    """Bytes of one state slot on one GPU, over all linear layers; ``dtype`` empty = as the model asks.

    ``tp`` divides its heads and channels: :func:`~sm120kit.capacity.stopped.stop_of` tells whether it does.
    """
    # Groups of keys that cannot be split are kept whole on every GPU (Mamba2StateShape.create).
    extra = tp - shape.groups if shape.groups % tp else 0
    channels = (shape.convolution_channels + 2 * extra * shape.state_size) // tp
    convolution = channels * (shape.convolution_width - 1) * STATE_DTYPES[convolution_dtype]
    temporal = shape.heads // tp * shape.head_dim * shape.state_size * STATE_DTYPES[dtype or shape.dtype]
    return (convolution + temporal) * shape.layers


def slots_per_request(strategy: str, *, radix: bool, overlap: bool) -> int:
    """State slots that one running request is counted for.

    One without a prefix cache; three with it; one more for a snapshot to be kept, and a second where the next step is
    prepared while one runs.
    """
    if not radix:
        return 1
    if strategy == "no_buffer":
        return 3
    return 5 if overlap and strategy == "extra_buffer" else 4
