"""Puts a plan together: prediction, best, alternatives, fleet, bound, and every assumption made on the way."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from sm120kit.capacity.best import Variant, alternatives, most_requests
from sm120kit.capacity.machine import Card, Machine, bandwidth_of
from sm120kit.capacity.notes import notes_of, run_together
from sm120kit.capacity.predict import Prediction, Server, predict
from sm120kit.capacity.roofline import LOAD_REQUESTS, Read, decode_roofline
from sm120kit.capacity.starting import missing_to_start, ways_to_start
from sm120kit.capacity.types import SCHEMA, Alternative, Best, Budget, Fleet, OnCards, Plan, Point, Predicted, Roofline
from sm120kit.version import __version__

TOKENS_EACH = 2048
"""Tokens that one request is taken to hold where nothing says it."""

_MOST_ALTERNATIVES = 8
CURVE_POINTS = 64


class Order(msgspec.Struct, frozen=True):
    """What a plan is made from."""

    server: Server
    """On the smallest card."""
    machine: Machine
    model: str
    version: str
    strategy_flag: str
    assumptions: tuple[str, ...] = ()
    read: Read = Read(0, 0)
    """Parts of the weights that a step does not read as a whole."""
    tokens_each: int | None = None
    """``--need-tokens-per-request``."""
    weights_type: str = ""
    """What the weights are stored as: ``bfloat16``, ``fp8``, ``nvfp4``; empty = not known."""
    notes: tuple[str, ...] = ()
    """What is worth knowing about what was named."""
    gpus_there: int = 0
    """GPUs of the machine, where ``machine`` is but those of one server; 0 = those of ``machine``."""


def make_plan(order: Order, *, points: int = CURVE_POINTS) -> Plan:
    """The whole plan, with ``points`` points of the curve of granted over requested."""
    server = order.server
    prediction = predict(server)
    tokens_each, assumption = _tokens_each(order)
    requests, at_best = most_requests(server, tokens_each)
    best = _best(server, requests, at_best)
    ways = [each for each in alternatives(server, tokens_each, order.strategy_flag) if each.requests > requests]
    if prediction.pools.failure:
        ways = [*_starts(order, tokens_each), *ways]
    unfit = _unfit(order, prediction)
    assumptions = (*order.assumptions, *order.machine.assumptions, *assumption, *_general(server))
    return Plan(
        schema=SCHEMA,
        tool_version=__version__,
        model=order.model,
        architecture=server.geometry.architecture,
        sglang=order.version,
        formulas=server.formula.version,
        hardware=_hardware(order.machine),
        requested=server.settings.given_requests,
        predicted=_predicted(prediction, tokens_each),
        best=best,
        alternatives=tuple(_alternative(each) for each in ways)[:_MOST_ALTERNATIVES],
        budget=_budget(server, prediction),
        assumptions=assumptions,
        fleet=_fleet(order, tokens_each),
        notes=(*notes_of(server, order.machine, prediction, best, tokens_each), *order.notes),
        unfit=unfit,
        roofline=next(iter(_rooflines(order, prediction, 1, (min(prediction.pools.granted, LOAD_REQUESTS),))), None),
        rooflines=_rooflines(order, prediction, tokens_each, (1, run_together(prediction, tokens_each))),
        curve=curve(server, _last_point(server, requests), points),
    )


def _starts(order: Order, tokens_each: int) -> tuple[Variant, ...]:
    card, there = order.machine.cards[0].name, order.gpus_there or order.machine.gpus
    return ways_to_start(order.server, card, order.weights_type, tokens_each, gpus_there=there)


def _rooflines(
    order: Order, prediction: Prediction, tokens_each: int, requests: tuple[int, ...]
) -> tuple[Roofline, ...]:
    """The bound for each of these numbers of requests, on the smallest card; none where not even one fits."""
    if _unfit(order, prediction) or prediction.pools.failure:
        return ()
    bandwidth = bandwidth_of(order.machine.cards[0].name)
    found = (
        decode_roofline(
            order.server, prediction, requests=each, tokens_each=tokens_each, read=order.read, bandwidth=bandwidth
        )
        for each in sorted(set(requests))
    )
    return tuple(each for each in found if each)


def curve(server: Server, last: int, points: int) -> tuple[Point, ...]:
    """Granted over requested, from 1 to ``last``."""
    asked = sorted({1 + round((last - 1) * number / max(points - 1, 1)) for number in range(points)})
    return tuple(Point(requests, predict(server.asking(requests)).pools.granted) for requests in asked)


def _last_point(server: Server, best: int) -> int:
    return max(server.settings.given_requests or 0, 2 * best, 16)


def _tokens_each(order: Order) -> tuple[int, tuple[str, ...]]:
    if order.tokens_each is not None:
        return order.tokens_each, ()
    context = order.server.settings.given_context
    if context is not None:
        return context, (f"every request may hold {context:,} tokens, the context length given",)
    return TOKENS_EACH, (f"every request holds {TOKENS_EACH:,} tokens at most; say it with --need-tokens-per-request",)


def _unfit(order: Order, prediction: Prediction) -> str:
    need, pools, context = order.tokens_each, prediction.pools, order.server.settings.context
    if need is None or pools.failure:
        return ""
    if need > pools.tokens:
        return f"not one request of {need:,} tokens fits: the pool holds {pools.tokens:,}"
    if need > context:
        return f"not one request of {need:,} tokens fits: the context length is {context:,}"
    return ""


def _predicted(prediction: Prediction, tokens_each: int) -> Predicted:
    pools, defaults = prediction.pools, prediction.defaults
    return Predicted(
        granted=pools.granted,
        tokens=pools.tokens,
        state_slots=pools.slots,
        slots_per_request=prediction.slots_per_request if prediction.bytes_per_state else 0,
        bytes_per_state=prediction.bytes_per_state,
        bytes_per_token=prediction.bytes_per_token,
        mem_fraction_static=defaults.fraction,
        chunked_prefill_size=defaults.chunk,
        largest_decode_graph=defaults.decode_graph,
        tokens_each=tokens_each,
        together=run_together(prediction, tokens_each),
        failure=pools.failure,
        page=prediction.page,
    )


def _best(server: Server, requests: int, prediction: Prediction) -> Best:
    if not requests:
        return Best(0, 0, ())
    same = server.settings.given_requests == requests
    arguments = () if same else ("--max-running-requests", str(requests))
    tokens = prediction.pools.tokens
    return Best(requests, prediction.pools.granted, arguments, tokens, tokens // requests)


def _alternative(variant: Variant) -> Alternative:
    return Alternative(
        variant.name,
        variant.arguments,
        variant.requests,
        variant.requests,
        variant.tokens,
        variant.quality,
        variant.cost,
    )


def _budget(server: Server, prediction: Prediction) -> Budget:
    if prediction.pools.failure:
        left = server.free - server.weights - server.draft_weights
        short = missing_to_start(server)
        return Budget(server.free, server.weights, server.draft_weights, 0, 0, 0, 0, left, short_by=short)
    return Budget(
        free_before_loading=server.free,
        weights=server.weights,
        draft_weights=server.draft_weights,
        state_pool=prediction.state_pool,
        kv_pool=prediction.kv_pool,
        reserve=prediction.speculative_states,
        graphs=prediction.defaults.graphs,
        free=prediction.left,
        reserved_for_drafting=prediction.pools.speculative_reserve,
    )


def on_card(server: Server, card: Card) -> Server:
    """The same server on another card; the smallest one still sets the defaults."""
    return replace(server, free=card.free)


def _fleet(order: Order, tokens_each: int) -> Fleet:
    tp, cards = order.server.settings.tp, order.machine.cards
    groups = [(card, card.number // tp) for card in cards]
    # A server that spans cards of two sizes gets no more than the smallest one gives.
    groups.append((cards[0], sum(card.number % tp for card in cards) // tp))
    servers = starting = granted = best = together = 0
    parts = []
    for card, number in groups:
        if number:
            here = on_card(order.server, card)
            prediction = predict(here)
            pools = prediction.pools
            servers += number
            starting += 0 if pools.failure else number
            granted += number * pools.granted
            together += number * run_together(prediction, tokens_each)
            best += number * most_requests(here, tokens_each)[0]
            parts.append(OnCards(card.name, number, pools.granted, pools.failure))
    requested = order.server.settings.given_requests
    asked = requested * starting if requested is not None else None
    kinds = tuple(parts) if len(cards) > 1 else ()
    return Fleet(order.machine.gpus, servers, asked, granted, best, together, starting, kinds)


def _hardware(machine: Machine) -> str:
    return ", ".join(f"{card.number}x {card.name}" for card in machine.cards)


def _general(server: Server) -> tuple[str, ...]:
    found = []
    if server.geometry.state:
        found.append(
            "SGLANG_MAMBA_SSM_DTYPE, SGLANG_MAMBA_CONV_DTYPE and SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK are not set"
        )
    if server.settings.kv_dtype in ("nvfp4", "fp4_mx_block16"):
        found.append("4-bit keys and values have one layout of scales and no workspace; the backend may add to both")
    if server.settings.page_size == 1:
        found.append("pages hold one token; a backend that pages costs less than one page of tokens")
    return tuple(found)
