"""What the servers will grant, and whether they will start at all. Pure: the plans were made before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from sm120kit.capacity.types import Plan
from sm120kit.diagnosis.findings import at
from sm120kit.diagnosis.types import Evidence, Finding, Manual
from sm120kit.fleet.preflight.busy import is_busy
from sm120kit.fleet.preflight.findings import notes, stops, warns
from sm120kit.fleet.preflight.types import Answer, ServerPlan
from sm120kit.fleet.preparation.forecast import Forecast
from sm120kit.fleet.preparation.prepare import Prepared
from sm120kit.fleet.preparation.remarks import crowded

_GIB = 1 << 30
_MOST_WAYS = 3


def server_plans(prepared: Prepared) -> tuple[ServerPlan, ...]:
    """One for each kind of server, those that are alike together."""
    kinds: list[tuple[Forecast, list[int]]] = []
    for replica, forecast in zip(prepared.spec.replicas, prepared.forecasts, strict=False):
        same = next((numbers for each, numbers in kinds if each == forecast), None)
        if same is None:
            kinds.append((forecast, [replica.index]))
        else:
            same.append(replica.index)
    return tuple(
        ServerPlan(
            replicas=tuple(numbers),
            hardware=_hardware([gpu.name for gpu in prepared.spec.replica(numbers[0]).gpus]),
            plan=forecast.plan,
            reason=forecast.reason,
            arguments=forecast.arguments,
        )
        for forecast, numbers in kinds
    )


def _hardware(names: list[str]) -> str:
    """``8x NVIDIA RTX PRO 6000``; each kind of card once."""
    return ", ".join(name if number == 1 else f"{number}x {name}" for name, number in Counter(names).items())


def ask_plan(prepared: Prepared, _environment: Mapping[str, str]) -> Answer:
    """Requested → predicted for each kind of server."""
    if not any(replica.gpus for replica in prepared.spec.replicas):
        return Answer("plan", "memory cannot be judged: the servers use no GPU")
    plans = server_plans(prepared)
    if not plans:
        return Answer("plan", f"memory cannot be judged: the files of {prepared.place.name} are not on this machine")
    text = "; ".join(_words(each) for each in plans)
    return Answer("plan", text, tuple(finding for each in plans for finding in _findings(each, prepared)))


def _words(each: ServerPlan) -> str:
    number = len(each.replicas)
    servers = f"{number} server{'s' if number > 1 else ''}"
    if each.plan is None:
        return f"memory of {servers} cannot be judged: {each.reason}"
    if each.plan.predicted.failure:
        return f"{servers} will not start: {each.plan.predicted.failure}"
    requested = each.plan.requested if each.plan.requested is not None else "as many as fit"
    predicted = each.plan.predicted
    room = (
        f", with room for {predicted.together} of {predicted.tokens_each:,} tokens each" if crowded(each.plan) else ""
    )
    return f"{servers}: requested {requested}, predicted {predicted.granted} each{room}"


def _findings(each: ServerPlan, prepared: Prepared) -> Iterator[Finding]:
    plan = each.plan
    # What lacks because of somebody else on the GPU is said once, and by name.
    if plan is None or any(is_busy(gpu) for gpu in prepared.spec.replica(each.replicas[0]).gpus):
        return
    subject = f"server {', '.join(map(str, each.replicas))}"
    evidence = [at(_budget(plan), f"SGLang {plan.formulas}"), *(at(text, "assumed") for text in plan.assumptions)]
    if plan.predicted.failure:
        yield stops(
            plan.predicted.page or "launch.memory-short",
            subject,
            f"{plan.model} on {each.hardware} will not start: {plan.predicted.failure}",
            evidence,
            [*_ways(plan), Manual("See what fits with: sm120kit plan MODEL -- SGLANG ARGS")],
        )
    elif plan.budget.free < 0:
        yield stops(
            "launch.memory-short",
            subject,
            f"{plan.model} on {each.hardware}: graphs will not fit, {-plan.budget.free / _GIB:.2f} GiB are missing",
            evidence,
            [*_ways(plan), Manual("Leave more to them with a smaller --mem-fraction-static")],
        )
    elif plan.requested is not None and plan.predicted.granted < plan.requested:
        yield _fewer(plan, subject, evidence)
    elif text := crowded(plan):
        yield notes("launch.fewer-granted", subject, text, [*(at(each) for each in plan.notes), *evidence], _best(plan))


def _fewer(plan: Plan, subject: str, evidence: list[Evidence]) -> Finding:
    granted = plan.predicted.granted
    remedies = _best(plan) if plan.best.max_running_requests > granted else []
    return warns(
        "launch.fewer-granted",
        subject,
        f"{plan.requested} requests at a time are asked for, and {granted} will be granted",
        [*(at(text) for text in plan.notes), *evidence],
        [*remedies, *_ways(plan)],
    )


def _best(plan: Plan) -> list[Manual]:
    best = plan.best
    if not best.max_running_requests:
        return []
    return [
        Manual(
            f"Ask for {best.max_running_requests}, which is granted ({best.tokens_per_request:,} tokens each)",
            (" ".join(best.arguments),) if best.arguments else (),
        )
    ]


def _ways(plan: Plan) -> list[Manual]:
    return [
        Manual(
            f"{way.name}: grants {way.granted}"
            + ("; may change answers" if way.quality_affecting else "")
            + (f"; {way.cost}" if way.cost else ""),
            (" ".join(way.arguments),),
        )
        for way in plan.alternatives[:_MOST_WAYS]
    ]


def _budget(plan: Plan) -> str:
    parts = plan.budget
    return (
        f"{parts.free_before_loading / _GIB:.2f} GiB free before loading, "
        f"weights {(parts.weights + parts.draft_weights) / _GIB:.2f} GiB, "
        f"static fraction {plan.predicted.mem_fraction_static:.3f}"
    )
