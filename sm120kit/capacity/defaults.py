"""What SGLang chooses by itself from the size of the smallest card: chunk, graphs, static fraction. Pure."""

from __future__ import annotations

from typing import NamedTuple

from sm120kit.capacity.formulas import Formula
from sm120kit.capacity.geometry import Geometry
from sm120kit.capacity.settings import Settings

_BASE_MIB = 512
_PER_TOKEN_MIB = 1.5
_PER_DECODE_GRAPH_MIB = 2
_PER_PREFILL_GRAPH_MIB = 8
_LATENT_PREFILL_GRAPHS_MIB = 1536
_PER_GPU_MIB = 128
_FEWEST_TOKENS = 2048
_LARGE_CARD_MIB = 60 * 1024
_LARGE_CARD_LEAST_MIB = 10 * 1024
_VISION_FACTOR = 0.95
_VISION_BASE = 24 * 1024**2
_VISION_SLOPE = 0.1

STEPS_MIB = (20 * 1024, 35 * 1024, 60 * 1024, 160 * 1024)
"""Card sizes at which chunk and graph sizes change."""


class Defaults(NamedTuple):
    """Settings that hold in the end: as given, else as chosen from the card's size."""

    chunk: int
    """``--chunked-prefill-size`` in tokens; 0 or less = prefill is not cut."""
    decode_graph: int
    """Largest batch captured as a graph."""
    prefill_graphs: int
    """Number of prefill graphs; 0 = none."""
    fraction: float
    """``--mem-fraction-static``."""
    graphs: int
    """Bytes that SGLang itself sets aside for graphs."""
    activations: int
    """Bytes that SGLang itself sets aside for one prefill, metadata and communication."""


def resolve_defaults(formula: Formula, settings: Settings, geometry: Geometry, gpu_memory_mib: int) -> Defaults:
    """Work out what is not given. ``gpu_memory_mib``: the smallest card that nvidia-smi lists; 0 = not known."""
    tier_chunk, tier_graph = _tier(formula, gpu_memory_mib, settings.tp)
    chunk = settings.chunk if settings.chunk is not None else tier_chunk
    decode = settings.decode_graph if settings.decode_graph is not None else tier_graph
    if formula.graphs_follow_requests and settings.decode_graph is None and settings.requested is not None:
        decode = min(decode, settings.requested)
    prefill = _prefill_graphs(formula, settings, geometry, chunk)
    graphs = _graphs_mib(formula, settings, geometry, decode, prefill)
    activations = _BASE_MIB + max(chunk if chunk > 0 else settings.most_prefill_tokens, _FEWEST_TOKENS) * _PER_TOKEN_MIB
    activations += settings.tp * _PER_GPU_MIB
    fraction = settings.fraction
    if fraction is None:
        fraction = _fraction(formula, settings, geometry, gpu_memory_mib, activations + graphs)
    return Defaults(chunk, decode, prefill, fraction, int(graphs) << 20, int(activations * (1 << 20)))


def _tier(formula: Formula, gpu_memory_mib: int, tp: int) -> tuple[int, int]:
    if not gpu_memory_mib:
        return 4096, 160
    tier = next(tier for tier in formula.tiers if not tier.below_mib or gpu_memory_mib < tier.below_mib)
    return tier.chunk, tier.graph if tp < 4 else tier.graph_tp4


def _prefill_graphs(formula: Formula, settings: Settings, geometry: Geometry, chunk: int) -> int:
    """How many prefill graphs are captured."""
    multimodal = geometry.multimodal and geometry.architecture not in formula.prefill_graph_multimodal
    if settings.no_prefill_graph or multimodal or geometry.architecture in formula.prefill_graph_never:
        return 0
    chosen = min(chunk, formula.latent_prefill_tokens) if geometry.layout == "mla" else chunk
    most = chosen if settings.prefill_graph is None else settings.prefill_graph
    if settings.prefill_graph is None and settings.most_tokens is not None:
        most = min(most, settings.most_tokens)
    if formula.prefill_graph_within_context and settings.given_context is not None:
        most = min(most, settings.given_context)
    return _prefill_sizes(most)


def _prefill_sizes(most: int) -> int:
    """For how many token counts prefill graphs are captured; those are coarser as they grow."""
    sizes = [
        *range(4, 33, 4),
        *range(48, 257, 16),
        *range(288, 513, 32),
        *range(576, 1025, 64),
        *range(1280, 4097, 256),
    ]
    return len([size for size in sizes if size <= most]) + len(range(4608, most + 1, 512))


def _graphs_mib(formula: Formula, settings: Settings, geometry: Geometry, decode: int, prefill: int) -> int:
    mib = 0
    if not (formula.disabled_graphs_free_memory and settings.no_decode_graph):
        mib += decode * _PER_DECODE_GRAPH_MIB
    if prefill:
        mib += _LATENT_PREFILL_GRAPHS_MIB if geometry.layout == "mla" else prefill * _PER_PREFILL_GRAPH_MIB
    return mib


def _fraction(
    formula: Formula, settings: Settings, geometry: Geometry, gpu_memory_mib: int, reserved_mib: float
) -> float:
    if not gpu_memory_mib:
        fraction = formula.fraction_without_size
    else:
        if gpu_memory_mib > _LARGE_CARD_MIB:
            reserved_mib = max(reserved_mib, _LARGE_CARD_LEAST_MIB)
        if settings.algorithm:
            reserved_mib += formula.speculative_mib.get(settings.algorithm, formula.speculative_mib["other"])
        fraction = round((gpu_memory_mib - reserved_mib) / gpu_memory_mib, 3)
    return fraction * _vision_factor(geometry) if geometry.multimodal and not settings.language_only else fraction


def _vision_factor(geometry: Geometry) -> float:
    """What is left of the fraction beside a vision tower, by its size (adjust_mem_fraction_for_vlm)."""
    layers, hidden = geometry.vision_layers or 24, geometry.vision_hidden_size or 1024
    ratio = layers * hidden**2 / _VISION_BASE
    return _VISION_FACTOR * max(0.8, min(1.05, 1.0 - _VISION_SLOPE * (ratio - 1.0)))
