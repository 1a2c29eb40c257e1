"""Where the versions differ, each difference by its numbers."""

from __future__ import annotations

import pytest

from sm120kit.capacity.formulas import choose_formula
from sm120kit.capacity.pools import Asked, Pools, size_pools

MIB = 1 << 20


def _pools(version: str, asked: Asked, rest: int) -> Pools:
    return size_pools(choose_formula(version).formula, asked, rest)


HYBRID = Asked(
    requested=64, context=32768, bytes_per_token=1024, bytes_per_state=MIB, slots_per_request=5, state_share=1.0
)


def test_0_5_23_counts_a_slot_for_padding() -> None:
    # Half of 200 MiB is 100 states; 0.5.23 keeps one of them for padding, and its bytes out of the tokens as well.
    before, after = _pools("0.5.13", HYBRID, 200 * MIB), _pools("0.5.23", HYBRID, 200 * MIB)
    assert (before.slots, before.tokens, before.granted) == (100, 100 * 1024, 20)
    assert (after.slots, after.tokens, after.granted) == (99, 100 * 1024, 19)
    explicit = Asked(
        requested=64, context=32768, bytes_per_token=1024, bytes_per_state=MIB, slots=100, slots_per_request=5
    )
    assert (_pools("0.5.13", explicit, 200 * MIB).tokens, _pools("0.5.23", explicit, 200 * MIB).tokens) == (
        102400,
        101376,
    )


def test_drafting_is_reserved_for_the_requested_the_granted_or_the_granted_and_one() -> None:
    drafting = Asked(
        requested=10, context=32768, bytes_per_token=1024, bytes_per_state=MIB, slots_per_request=5, state_share=1.0,
        draft_tokens=5,
    )  # fmt: skip
    # 0.5.12: 10 * 5 MiB away, half of 150 = 75 slots, 75 MiB of tokens.
    assert _pools("0.5.12", drafting, 200 * MIB) == Pools(10, 75 * 1024, 75, 50 * MIB)
    # 0.5.13: 100 / (1 + 5/5) = 50 slots for 10 requests; 200 - 10 * 5 - 50 = 100 MiB of tokens.
    assert _pools("0.5.13", drafting, 200 * MIB) == Pools(10, 100 * 1024, 50, 50 * MIB)
    # 0.5.23: (100 - 6) / 2 = 47 slots for 9 requests; 200 - 10 * 5 - 48 = 102 MiB of tokens.
    assert _pools("0.5.23", drafting, 200 * MIB) == Pools(9, 102 * 1024, 47, 50 * MIB)


@pytest.mark.parametrize(("version", "granted"), [("0.5.12", 2048), ("0.5.13", 2048), ("0.5.23", 5000)])
def test_a_request_count_is_cut_to_the_estimate_before_0_5_23(version: str, granted: int) -> None:
    # 100,000 tokens at a context of 32,768 are estimated to serve 1,562 requests: taken as 2,048.
    asked = Asked(requested=5000, context=32768, bytes_per_token=1024)
    assert _pools(version, asked, 100_000 * 1024).granted == granted


@pytest.mark.parametrize(("version", "granted"), [("0.5.12", 64), ("0.5.23", 15)])
def test_half_of_the_tokens_counts_from_0_5_23_on(version: str, granted: int) -> None:
    asked = Asked(requested=64, context=32768, bytes_per_token=1024)
    assert _pools(version, asked, 30 * 1024).granted == granted


def test_nothing_asked_for_is_the_estimate_or_half_of_the_tokens() -> None:
    asked = Asked(requested=None, context=2048, bytes_per_token=1024)
    assert [_pools("0.5.12", asked, tokens * 1024).granted for tokens in (1000, 10_000, 100_000)] == [500, 2500, 4096]


def test_tokens_come_in_whole_pages() -> None:
    asked = Asked(requested=1, context=2048, bytes_per_token=1024, page_size=64, most_tokens=1000)
    assert _pools("0.5.12", asked, 900 * 1024).tokens == 896
    assert _pools("0.5.12", asked, 90_000 * 1024).tokens == 960


@pytest.mark.parametrize(
    ("asked", "rest", "said"),
    [
        (Asked(requested=1, context=2048, bytes_per_token=1024), -1, "no memory is left for keys and values"),
        (Asked(requested=1, context=2048, bytes_per_token=1024), 1023, "no memory is left for keys and values"),
        (HYBRID, MIB, "no memory is left for even one state"),
        (HYBRID, 6 * MIB, "3 states serve no request: each is counted 5"),
    ],
)
def test_why_a_server_will_not_start(asked: Asked, rest: int, said: str) -> None:
    pools = _pools("0.5.12", asked, rest)
    assert (pools.failure, pools.granted) == (said, 0)
