"""What must hold for every server, whatever its numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import settings as run
from hypothesis import strategies as some
from msgspec.structs import replace

from sm120kit.capacity.best import alternatives, most_requests
from sm120kit.capacity.formulas import formulas
from sm120kit.capacity.plan import curve
from sm120kit.capacity.pools import Asked, size_pools
from sm120kit.capacity.predict import Server, predict
from tests.models import QWEN3_32B
from tests.planning import DRAFTING, GIB, GPT_OSS_20B, QWEN36_27B, server

FORMULAS = formulas()

_ASKED = some.builds(
    Asked,
    requested=some.integers(1, 512),
    context=some.sampled_from([2048, 32768, 262144]),
    bytes_per_token=some.integers(1, 1 << 20),
    page_size=some.sampled_from([1, 16, 64]),
    most_tokens=some.none() | some.integers(1, 1 << 20),
    bytes_per_state=some.sampled_from([0, 1 << 20, 78_446_592, 153_944_064]),
    slots_per_request=some.sampled_from([1, 3, 4, 5]),
    state_share=some.floats(0.1, 4),
    slots=some.none() | some.integers(1, 400),
    draft_tokens=some.integers(0, 8),
    sliding_bytes_per_token=some.sampled_from([0, 4096]),
    sliding_share=some.floats(0.1, 1),
)
_BYTES = some.integers(0, 200 * GIB)


@some.composite
def _servers(draw: some.DrawFn) -> Server:
    """A server of one of three models, in one of the versions, with its fraction fixed."""
    formula = draw(some.sampled_from(FORMULAS))
    fixed = ("--mem-fraction-static", str(draw(some.sampled_from([0.6, 0.8, 0.88]))), "--chunked-prefill-size", "8192")
    config = draw(some.sampled_from([QWEN3_32B, QWEN36_27B, GPT_OSS_20B]))
    words: tuple[str, ...] = ()
    if config is QWEN36_27B:
        words = draw(some.sampled_from([(), ("--disable-radix-cache",), ("extra",), ("extra", *DRAFTING)]))
        flag = "--mamba-radix-cache-strategy" if formula.draft_first else "--mamba-scheduler-strategy"
        words = (flag, "extra_buffer", *words[1:]) if words[:1] == ("extra",) else words
    free = draw(some.floats(20, 190))
    return server(config, formula.version, *fixed, *words, free=free, weights=draw(some.floats(1, 60)))


@given(some.sampled_from(FORMULAS), _ASKED, _BYTES, some.integers(0, 8 * GIB))
def test_more_memory_never_grants_less(row: object, asked: Asked, rest: int, more: int) -> None:
    formula = next(each for each in FORMULAS if each is row)
    less, most = size_pools(formula, asked, rest), size_pools(formula, asked, rest + more)
    if not less.failure:
        assert most.granted >= less.granted
        assert not most.failure


@given(some.sampled_from(FORMULAS), _ASKED, _BYTES)
def test_no_more_is_granted_than_asked_for(row: object, asked: Asked, rest: int) -> None:
    formula = next(each for each in FORMULAS if each is row)
    pools = size_pools(formula, asked, rest)
    assert 0 <= pools.granted <= (asked.requested or 1 << 60)
    assert min(pools.tokens, pools.slots, pools.sliding_tokens, pools.speculative_reserve) >= 0
    if asked.bytes_per_state and not pools.failure:
        assert pools.granted <= pools.slots // asked.slots_per_request


@given(_servers(), some.integers(0, 20_000_000_000))
def test_more_free_memory_never_grants_less(asked: Server, more: int) -> None:
    less = predict(asked.asking(64))
    most = predict(replace(asked, free=asked.free + more).asking(64))
    if not less.pools.failure:
        assert most.pools.granted >= less.pools.granted


@run(max_examples=40, deadline=None)
@given(_servers(), some.sampled_from([1, 500, 20_000]))
def test_the_best_is_granted_and_nothing_above_it_is(asked: Server, tokens_each: int) -> None:
    best, prediction = most_requests(asked, tokens_each)
    for requests in range(1, min(best, 300) + 40):
        pools = predict(asked.asking(requests)).pools
        fits = not pools.failure and pools.granted == requests and pools.tokens >= requests * tokens_each
        assert fits == (requests <= best)
    if best:
        assert prediction.pools.granted == best
        assert prediction.pools.tokens >= best * tokens_each


@run(max_examples=25, deadline=None)
@given(_servers())
def test_every_alternative_keeps_what_it_promises(asked: Server) -> None:
    found = alternatives(asked, 1000, "--mamba-scheduler-strategy")
    assert [each.requests for each in found] == sorted((each.requests for each in found), reverse=True)
    for each in found:
        assert each.tokens >= each.requests * 1000
        assert each.arguments[-2:] == ("--max-running-requests", str(each.requests))


@given(_servers())
def test_a_curve_never_rises_above_what_is_asked_for(asked: Server) -> None:
    assert all(point.granted <= point.requested for point in curve(asked, 200, 20))
