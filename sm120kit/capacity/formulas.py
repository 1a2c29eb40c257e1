"""The switches in which SGLang's versions share out memory differently (checks/tables/sglang_capacity.toml)."""

from typing import Literal, NamedTuple

import msgspec

from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.diagnosis.versions import version_key
from sm120kit.errors import Sm120kitError


class Tier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Defaults for a range of card sizes."""

    below_mib: int
    """The range ends below this size; 0 = it has no end."""
    chunk: int
    graph: int
    graph_tp4: int


class Formula(Row, frozen=True, kw_only=True):
    """One version's way; the table says what each field means."""

    version: str
    identical: tuple[str, ...]
    speculative_reserve: Literal["requested", "granted"]
    padding_slots: int
    request_limit: Literal["estimate", "half-the-tokens"]
    draft_first: bool
    strategies: tuple[str, ...]
    default_strategy: str
    requests_when_speculative: int
    multimodal_mib: int
    speculative_mib: dict[str, int]
    fraction_without_size: float
    graphs_follow_requests: bool
    disabled_graphs_free_memory: bool
    latent_prefill_tokens: int
    prefill_graph_within_context: bool
    prefill_graph_never: tuple[str, ...]
    prefill_graph_multimodal: tuple[str, ...]
    sliding_pool_by_requests: bool
    tiers: tuple[Tier, ...]
    functions: tuple[str, ...]


class Chosen(NamedTuple):
    """The formulas that a version is planned with."""

    formula: Formula
    assumption: str
    """A sentence where the version itself is not known; else empty."""


def formulas() -> tuple[Formula, ...]:
    """All rows, oldest version first."""
    return read_table("sglang_capacity", Formula)


def known_versions() -> tuple[str, ...]:
    """Every version that is known, oldest first."""
    names = [name for row in formulas() for name in (row.version, *row.identical)]
    return tuple(sorted(names, key=lambda name: version_key(name) or ()))


def choose_formula(version: str, *, assume: bool = False) -> Chosen:
    """The formulas of ``version``; with ``assume`` those of the newest known version before it.

    Raises:
        Sm120kitError: the version is not known (the error lists those that are), is older than all of them, or is
            no version.
    """
    row = next((row for row in formulas() if version in (row.version, *row.identical)), None)
    if row:
        return Chosen(row, "")
    wanted = version_key(version)
    if wanted is None:
        raise Sm120kitError(f"{version!r} is no version of SGLang", hint="Give one of these", listed=known_versions())
    if not assume:
        raise Sm120kitError(
            f"how SGLang {version} shares out memory is not known here",
            hint="Take the newest known one before it with --assume-version, or plan with --sglang for one of these",
            listed=known_versions(),
        )
    before = [each for each in formulas() if (version_key(each.version) or wanted) <= wanted]
    if not before:
        raise Sm120kitError(
            f"SGLang {version} is older than every version known here",
            hint="Plan with --sglang for one of these",
            listed=known_versions(),
        )
    row = before[-1]
    return Chosen(row, f"SGLang {version} shares out memory as {row.version} does; its own source was not read")
