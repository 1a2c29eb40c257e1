"""Runs rungs side by side in scratch folders, within limits, and keeps what passed until something it used changes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from sm120kit.diagnosis.case import Case, Use
from sm120kit.diagnosis.registry import Check
from sm120kit.proof.cache import ProofCache
from sm120kit.proof.errors_in import explaining_check, first_error
from sm120kit.proof.host_compilers import absent_compiler
from sm120kit.proof.inputs import files_read
from sm120kit.proof.ladder import architectures, ladder
from sm120kit.proof.load_child import NO_SUCH_DRIVER
from sm120kit.proof.outputs import explained_by, fault_in
from sm120kit.proof.scratch import Kept, command_shown, output_shown, scratch_folder
from sm120kit.proof.stale_scratch import sweep
from sm120kit.proof.types import SCHEMA, Outcome, Proof, ProofReport, Rung
from sm120kit.snapshot.runner import Ran, RunFailure, end_all, run
from sm120kit.version import __version__

_OUTPUT_LIMIT = 1 << 20
_ORDER = ("link", "preprocess-fp16", "preprocess-cuda-std", "compile", "cub", "load")


def prove(
    case: Case,
    use: Use,
    checks: Iterable[Check],
    environment: Mapping[str, str],
    *,
    cache: ProofCache | None = None,
    more: Sequence[Rung] = (),
    kept: Kept | None = None,
    tell: Callable[[Proof], None] = lambda _: None,
) -> ProofReport:
    """Try every rung for one toolkit in ``environment``; ``tell`` hears of each as it ends.

    With ``kept`` every rung runs anew and leaves its files there.
    """
    start = time.monotonic()
    sweep()
    checks = tuple(checks)
    rungs = sorted((*ladder(case, use), *more), key=lambda rung: -rung.cost)

    def try_one(rung: Rung) -> Proof:
        proof = _try(rung, case, checks, environment, cache=None if kept else cache, kept=kept)
        tell(proof)
        return proof

    # Not one more than there are cores: each compile keeps one busy, and a limit in seconds should mean work.
    with ThreadPoolExecutor(max_workers=max(1, len(os.sched_getaffinity(0)))) as workers:
        try:
            proofs = list(workers.map(try_one, rungs))
        except BaseException:
            workers.shutdown(wait=False, cancel_futures=True)
            end_all()
            raise
    targets, why = architectures(case, use)
    order = {name: place for place, name in enumerate(_ORDER)}
    proofs.sort(key=lambda proof: (order.get(proof.rung, len(order)), proof.rung, proof.consumers))
    seconds = time.monotonic() - start
    return ProofReport(SCHEMA, __version__, use.toolkit.home, ", ".join(targets), why, tuple(proofs), seconds)


def _try(
    rung: Rung,
    case: Case,
    checks: Sequence[Check],
    environment: Mapping[str, str],
    *,
    cache: ProofCache | None,
    kept: Kept | None,
) -> Proof:
    whole = {**environment, **rung.environment}
    absent = absent_compiler(rung, whole)
    if absent:
        return _proof(rung, "not-run", reason=absent.reason, remedy=absent.remedy)
    key = cache.key(rung, whole) if cache else ""
    if cache and cache.holds(key):
        return _proof(rung, "passed", cached=True)
    start = time.monotonic()
    try:
        with scratch_folder(rung, kept) as scratch:
            ran = _run(rung, whole, scratch)
            seconds = time.monotonic() - start
            if rung.name == "load" and ran.returncode == NO_SUCH_DRIVER and not case.gpu_signs:
                return _proof(rung, "not-run", reason="no driver library and no sign of a GPU on this machine")
            said = _said(ran) if ran.returncode else fault_in(rung, scratch)
            if said:
                return _failed(rung, output_shown(said, scratch), checks, seconds)
            if cache:
                cache.keep(key, files_read(rung, scratch, whole))
    except RunFailure as failure:
        return _failed(rung, f"error: {failure}", checks, time.monotonic() - start)
    except OSError as error:
        reason = f"error: the scratch folder cannot be used: {error.filename}: {error.strerror}"
        return _failed(rung, reason, checks, time.monotonic() - start)
    return _proof(rung, "passed", seconds=seconds)


def _run(rung: Rung, environment: Mapping[str, str], scratch: str) -> Ran:
    here = {name: value.replace("{scratch}", scratch) for name, value in environment.items()}
    return run(
        [part.replace("{scratch}", scratch) for part in rung.command],
        environment={**here, "LC_ALL": "C", "TMPDIR": scratch},
        limit_s=rung.limit_s,
        cwd=scratch,
        output_limit=_OUTPUT_LIMIT,
    )


def _said(ran: Ran) -> str:
    words = f"{ran.stderr}\n{ran.stdout}".strip()
    return words or f"error: {ran.command[0]} ended with {ran.returncode} and no word"


def _failed(rung: Rung, output: str, checks: Sequence[Check], seconds: float) -> Proof:
    error = first_error(output)
    check = explaining_check(error, checks) or explained_by(error) or explaining_check(output, checks)
    return _proof(rung, "failed", error=error, check=check, seconds=seconds)


def _proof(
    rung: Rung,
    outcome: Outcome,
    *,
    error: str = "",
    check: str = "",
    reason: str = "",
    remedy: str = "",
    seconds: float = 0.0,
    cached: bool = False,
) -> Proof:
    return Proof(
        rung.name,
        rung.consumers,
        rung.shows,
        outcome,
        command_shown(rung),
        error=error,
        check=check,
        reason=reason,
        remedy=remedy,
        seconds=seconds,
        cached=cached,
    )
