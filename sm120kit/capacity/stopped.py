"""What stops a server at its start however much memory there is: GPUs that cannot share the model, too long a context.

Pure. Read in sglang 0.5.12 and 0.5.23: models/*.py (``assert self.total_num_heads % tp_size == 0`` and the same of keys
and values), layers/linear.py, layers/moe/fused_moe_triton/layer.py, layers/quantization/fp8.py, and
configs/model_config.py ``_derive_context_length``. The vocabulary is padded to any number of GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sm120kit.capacity.geometry import Geometry
from sm120kit.capacity.settings import Settings


class Stop(NamedTuple):
    """Why a server ends before it looks at memory."""

    reason: str
    """A sentence without full stop."""
    page: str
    """Id of the page of the catalogue on it."""


def stop_of(geometry: Geometry, settings: Settings) -> Stop | None:
    """What stops this server; ``None`` where nothing surely does."""
    problem = next(_unsplit(geometry, settings, settings.tp), "")
    if problem:
        return Stop(f"{problem}; {_instead(geometry, settings)}", "server.parallel-size")
    given = settings.given_context
    if given is not None and geometry.context and given > geometry.context and not settings.longer_context:
        return Stop(
            f"--context-length {given} is more than the {geometry.context:,} tokens of the model's configuration, and "
            "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN is not set",
            "server.context-too-long",
        )
    return None


def shares_out(geometry: Geometry, settings: Settings, tp: int) -> bool:
    """Whether ``tp`` GPUs can share this model."""
    return not any(_unsplit(geometry, settings, tp))


def _instead(geometry: Geometry, settings: Settings) -> str:
    """The sizes up to the next larger one that go."""
    good = [str(tp) for tp in range(1, 2 * settings.tp + 1) if shares_out(geometry, settings, tp)]
    return f"--tp-size {' or '.join([', '.join(good[:-1]), good[-1]] if len(good) > 1 else good)} can"


def _unsplit(geometry: Geometry, settings: Settings, tp: int) -> Iterator[str]:
    """What of the model cannot be shared out over ``tp`` GPUs, as sentences without full stop."""
    over = f"over {tp} GPUs (--tp-size {tp})"
    heads, kv_heads, state = geometry.attention_heads, geometry.kv_heads, geometry.state
    if heads % tp:
        yield f"the model's {heads} attention heads cannot be shared out {over}"
    if geometry.layout != "mla" and kv_heads % tp and tp % kv_heads:
        yield f"the model's {kv_heads} heads of keys and values can be neither shared out nor doubled {over}"
    if state and (state.heads % tp or state.convolution_channels % tp):
        yield f"the model's {state.heads} state heads cannot be shared out {over}"
    yield from _unsplit_columns(geometry, settings, tp, over)


def _unsplit_columns(geometry: Geometry, settings: Settings, tp: int, over: str) -> Iterator[str]:
    parts = tp if not geometry.experts else _parts_of_an_expert(settings, tp)
    if not parts:
        return
    columns, what = geometry.columns, "an expert" if geometry.experts else "a layer"
    if columns % parts:
        yield f"the {columns:,} columns of {what} cannot be shared out {over}"
        return
    block = next((each for each in geometry.block if each and columns // parts % each), 0)
    if columns and parts > 1 and block:
        yield (
            f"shared out {over}, {what} has {columns // parts:,} columns, and its quantised blocks have {block}, "
            "which does not divide them"
        )


def _parts_of_an_expert(settings: Settings, tp: int) -> int:
    """Over how many GPUs one expert is cut; 0 = not known."""
    if settings.expert_parallel is None:
        return 0
    return 0 if tp % settings.expert_parallel else tp // settings.expert_parallel
