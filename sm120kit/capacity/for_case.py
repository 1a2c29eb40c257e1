"""The prediction that checks judge: made from the request and the snapshot of a case."""

from __future__ import annotations

from sm120kit.capacity.inputs import Named, make_order
from sm120kit.capacity.machine import Machine, machine_of_names, machine_of_snapshot
from sm120kit.capacity.plan import Order, make_plan
from sm120kit.capacity.predict import predict
from sm120kit.capacity.types import Plan
from sm120kit.diagnosis.capacity import CapacityPrediction, CardSize
from sm120kit.diagnosis.case import Request
from sm120kit.errors import Sm120kitError
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.target_files import open_files
from sm120kit.snapshot.types.snapshot import Snapshot


def predict_for_case(request: Request, snapshot: Snapshot) -> Fact[CapacityPrediction] | None:
    """What the server asked about will grant; ``None`` where no launch line, no model or no GPU is known."""
    line, model, gpus = request.launch, request.model, snapshot.driver.gpus
    if line is None or not line.arguments or not isinstance(model, Known):
        return None
    if not request.gpus and not (isinstance(gpus, Known) and gpus.value):
        return None
    try:
        machine = machine_of_names(request.gpus, None) if request.gpus else machine_of_snapshot(snapshot, None)
        named = Named(model.value.path, line, machine, environment=snapshot.environment)
        order = make_order(named, open_files(snapshot.target.root, archive=bool(snapshot.target.image)))
    except Sm120kitError as error:
        return Unknown(error.message)
    plan = make_plan(order, points=1)
    if plan.predicted.page:  # nothing that memory could change
        return Unknown(f"the server will not start: {plan.predicted.failure}")
    return Known(_prediction(order, plan), Source("option", "the launch line"))


def _prediction(order: Order, plan: Plan) -> CapacityPrediction:
    server, prediction = order.server, predict(order.server)
    settings = server.settings
    chosen = {
        "--mem-fraction-static": settings.fraction is None,
        "--chunked-prefill-size": settings.chunk is None,
        "the largest decode graph": settings.decode_graph is None and not settings.no_decode_graph,
    }
    return CapacityPrediction(
        version=plan.sglang,
        formulas=server.formula.source,
        requested=plan.requested,
        granted=plan.predicted.granted,
        best=plan.best.max_running_requests,
        tokens=plan.predicted.tokens,
        tokens_each=plan.best.tokens_per_request,
        free_before=server.free,
        weights=server.weights,
        draft_weights=server.draft_weights,
        pools=prediction.state_pool + prediction.kv_pool + prediction.speculative_states,
        graphs=prediction.defaults.graphs,
        left=prediction.left,
        fraction=prediction.defaults.fraction,
        fraction_given=settings.fraction is not None,
        explanation=plan.notes[0] if plan.notes and plan.predicted.granted < (plan.requested or 0) else "",
        failure=plan.predicted.failure,
        left_to_card=tuple(name for name, left in chosen.items() if left),
        cards=_cards(order.machine),
        assumptions=plan.assumptions,
    )


def _cards(machine: Machine) -> tuple[CardSize, ...]:
    return tuple(CardSize(card.name, card.number, card.memory) for card in machine.cards)
