"""What the capacity room says of each server of a fleet before it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sm120kit.capacity.inputs import Named, make_order
from sm120kit.capacity.machine import ASSUMED_OF_NAMES, ASSUMED_OF_NVML, TAKEN_BY_CONTEXT, Card, Machine
from sm120kit.capacity.plan import make_plan
from sm120kit.capacity.types import Plan
from sm120kit.diagnosis.gpus import model_by_product
from sm120kit.diagnosis.launch import LaunchLine
from sm120kit.engines.sglang.flags import flag_table, nearest_version
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.spec import Expectation, Gpu
from sm120kit.fleet.types import Struct
from sm120kit.snapshot.files import Files

SIMULATED = " (rehearsal)"
"""What the name of a simulated GPU ends with."""


class Forecast(Struct, frozen=True):
    """One server's plan."""

    plan: Plan | None
    """``None``: it cannot be planned for, and ``reason`` says why."""
    reason: str = ""
    arguments: tuple[str, ...] = ()
    """To be given to this server alone (:func:`defaults_of_card`)."""

    @property
    def expected(self) -> Expectation | None:
        """What the spec holds of it; ``None`` where no plan could be made, or one that fails."""
        if self.plan is None or self.plan.predicted.failure:
            return None
        bound = self.plan.roofline
        return Expectation(
            granted=self.plan.predicted.granted,
            tokens=self.plan.predicted.tokens,
            footprint=footprint(self.plan),
            weights=self.plan.budget.weights,
            roofline_tokens_per_second=bound.tokens_per_second if bound else None,
            state_slots=self.plan.predicted.state_slots,
            state_pool=self.plan.budget.state_pool,
            kv_pool=self.plan.budget.kv_pool,
            graphs=self.plan.budget.graphs,
        )


def footprint(plan: Plan) -> int:
    """Bytes that NVML will show more on each GPU of the server once it is up than before it was started.

    The context with what torch.distributed takes (:data:`TAKEN_BY_CONTEXT`, 0.9 GiB), weights, the pools of states and
    of keys and values, and SGLang's own estimate for graphs. Workspaces come on top with the first requests (0.6 GiB
    were seen on an RTX PRO 6000), so a comparison needs some tolerance upwards. ``plan`` must not be one of a failure.
    """
    parts = plan.budget
    return (
        TAKEN_BY_CONTEXT
        + parts.weights
        + parts.draft_weights
        + parts.state_pool
        + parts.kv_pool
        + parts.reserve
        + parts.graphs
    )


def forecasts(
    model_folder: str,
    line: LaunchLine,
    groups: Sequence[Sequence[Gpu]],
    found: Sequence[Gpu],
    files: Files,
    *,
    environment: Mapping[str, str],
    weights: int | None = None,
) -> tuple[Forecast, ...]:
    """One for each group of GPUs, in their order. ``found``: all GPUs of the machine, of which SGLang looks at the
    smallest for every server, whatever that server sees. ``environment``: the servers' variables. ``weights``: bytes
    of a model that has no checkpoint.
    """
    mixed = len({gpu.memory_total for gpu in found}) > 1
    made: dict[tuple[str, int, int], Forecast] = {}
    result = []
    for group in groups:
        least = min(group, key=lambda gpu: (gpu.memory_total, gpu.memory_total - gpu.memory_used))
        key = (least.name, least.memory_total, least.memory_used)
        if key not in made:
            named = Named(
                model_folder,
                line,
                _machine(least, len(group)),
                weights,
                environment=dict(environment),
                gpus_there=len(found),
            )
            made[key] = _forecast(named, files, mixed=mixed)
        result.append(made[key])
    return tuple(result)


def _machine(gpu: Gpu, number: int) -> Machine:
    row = model_by_product(gpu.name.removesuffix(SIMULATED))
    free = max(gpu.memory_total - gpu.memory_used - TAKEN_BY_CONTEXT, 0)
    assumption = ASSUMED_OF_NAMES if gpu.name.endswith(SIMULATED) else ASSUMED_OF_NVML
    return Machine((Card(row.name if row else gpu.name, number, gpu.memory_total, free),), (assumption,))


def _forecast(named: Named, files: Files, *, mixed: bool) -> Forecast:
    try:
        plan = make_plan(make_order(named, files), points=1)
    except Sm120kitError as error:
        return Forecast(None, error.message)
    return Forecast(plan, arguments=defaults_of_card(plan, named.line) if mixed else ())


def defaults_of_card(plan: Plan, line: LaunchLine) -> tuple[str, ...]:
    """What SGLang would choose for this server's own card, as arguments: in a mixed machine it would choose for the
    smallest one instead. What was given stays as given.
    """
    table = flag_table(nearest_version(line.version)).flags
    predicted = plan.predicted
    graphs_off = line.switched_on("disable_cuda_graph") or "cuda_graph_bs_decode" in line.given
    chosen = (
        ("mem_fraction_static", f"{predicted.mem_fraction_static:g}", True),
        ("chunked_prefill_size", str(predicted.chunked_prefill_size), True),
        ("cuda_graph_max_bs_decode", str(predicted.largest_decode_graph), not graphs_off),
    )
    words: list[str] = []
    for setting, value, wanted in chosen:
        flag = next((name for name, row in table.items() if row.dest == setting and not row.deprecated), "")
        if wanted and flag and setting not in line.given:
            words += [flag, value]
    return tuple(words)
