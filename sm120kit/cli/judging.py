"""What commands that judge a target share: from a case to the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from msgspec.structs import replace

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.registry import Check
from sm120kit.diagnosis.report import make_report
from sm120kit.diagnosis.run import run_checks
from sm120kit.diagnosis.types import CheckResult, Report, Suppression


def judged(
    case: Case,
    checks: Mapping[str, Check],
    chosen: Mapping[str, Check],
    suppressions: Sequence[Suppression],
    *,
    verbose: bool = False,
) -> tuple[Report, tuple[CheckResult, ...]]:
    """Run the ``chosen`` ones of all ``checks`` over a case; the report, and the results that it is made of."""
    results = tuple(run_checks(chosen.values(), case))
    report = make_report(
        case,
        results,
        today=date.today(),
        suppressions=suppressions,
        not_run=checks.keys() - chosen.keys(),
        verbose=verbose,
    )
    return report, results


def with_capacity(case: Case) -> Case:
    """The case with what the server asked about will grant, where a launch line was given."""
    if case.request.launch is None or case.request.model is None:
        return case
    from sm120kit.capacity.for_case import predict_for_case

    return replace(case, capacity=predict_for_case(case.request, case.snapshot))
