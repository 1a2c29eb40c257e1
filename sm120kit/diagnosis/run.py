"""Runs checks over a case. A check that crashes is reported as crashed and the others go on."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import convert, to_builtins
from msgspec.structs import replace

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.registry import Check, NotApplicable
from sm120kit.diagnosis.target_pip import addressed
from sm120kit.diagnosis.types import CannotTell, CheckResult, Finding, Outcome


def run_checks(checks: Iterable[Check], case: Case) -> tuple[CheckResult, ...]:
    """Run each check and return its result, in the order given."""
    return tuple(run_check(check, case) for check in checks)


def run_check(check: Check, case: Case) -> CheckResult:
    """Run one check; whatever it does, the answer is a result."""
    findings: list[Finding] = []
    unknowns: list[CannotTell] = []
    try:
        for item in check.run(case):
            if isinstance(item, Finding):
                findings.append(addressed(_validated(replace(item, check=check.id)), case))
            elif isinstance(item, CannotTell):
                unknowns.append(item)
            else:
                raise TypeError(f"a check yields findings and CannotTell, and this one a {type(item).__name__}")
    except NotApplicable as why:
        return CheckResult(check.id, Outcome.NOT_APPLICABLE, reason=str(why))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: a check must not end the program that runs it
        import traceback

        return CheckResult(
            check.id,
            Outcome.CRASHED,
            reason=f"{type(error).__name__}: {error}{_place(check.path, error)}",
            findings=tuple(findings),
            unknowns=tuple(unknowns),
            traceback=traceback.format_exc(),
        )
    outcome = Outcome.FOUND if findings else Outcome.UNKNOWN if unknowns else Outcome.OK
    return CheckResult(
        check.id,
        outcome,
        reason="; ".join(dict.fromkeys(unknown.reason for unknown in unknowns)),
        findings=tuple(findings),
        unknowns=tuple(unknowns),
    )


def _place(path: str, error: BaseException) -> str:
    """Where in the check's own file it happened, in brackets; nothing where the file had no part in it."""
    import traceback

    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == path]
    return f" ({path}:{lines[-1]})" if lines else ""


def _validated(finding: Finding) -> Finding:
    """The finding, after a look at every field: check files come from anywhere, and outputs trust the types.

    Raises:
        msgspec.ValidationError: a field holds something else than its type says.
    """
    return convert(to_builtins(finding), Finding)
