"""Runs rungs side by side in scratch folders, within limits, and keeps what passed until something it used changes."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from sm120kit.diagnosis.case import Case, Use
from sm120kit.diagnosis.registry import Check
from sm120kit.proof.cache import ProofCache
from sm120kit.proof.errors_in import explaining_check, first_error
from sm120kit.proof.ladder import architecture, ladder
from sm120kit.proof.types import SCHEMA, Outcome, Proof, ProofReport, Rung
from sm120kit.snapshot.runner import Ran, RunFailure, run
from sm120kit.version import __version__

NO_SUCH_DRIVER = 3
"""Exit code of the load child where no libcuda.so.1 is on the loader's path."""

_OUTPUT_LIMIT = 1 << 20


def prove(
    case: Case,
    use: Use,
    checks: Iterable[Check],
    environment: Mapping[str, str],
    *,
    cache: ProofCache | None = None,
    more: Sequence[Rung] = (),
    tell: Callable[[Proof], None] = lambda _: None,
) -> ProofReport:
    """Try every rung for one toolkit in ``environment``; ``tell`` hears of each as it ends."""
    checks = tuple(checks)
    rungs = sorted((*ladder(case, use), *more), key=lambda rung: -rung.cost)

    def try_one(rung: Rung) -> Proof:
        proof = _try(rung, case, checks, environment, cache)
        tell(proof)
        return proof

    with ThreadPoolExecutor(max_workers=max(1, len(os.sched_getaffinity(0)))) as workers:
        proofs = list(workers.map(try_one, rungs))
    arch, why = architecture(case, use)
    order = {name: place for place, name in enumerate(("link", "preprocess-fp16", "preprocess-cuda-std", "compile"))}
    proofs.sort(key=lambda proof: (order.get(proof.rung, len(order)), proof.rung, proof.consumers))
    return ProofReport(SCHEMA, __version__, use.toolkit.home, arch, why, tuple(proofs))


def _try(
    rung: Rung, case: Case, checks: Sequence[Check], environment: Mapping[str, str], cache: ProofCache | None
) -> Proof:
    whole = {**environment, **rung.environment}
    key = cache.key(rung, whole) if cache else ""
    if cache and cache.holds(key):
        return _proof(rung, "passed", cached=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sm120kit-proof-") as scratch:
        for name, text in rung.sources.items():
            with open(os.path.join(scratch, name), "w", encoding="utf-8") as file:  # noqa: PTH123
                file.write(text)
        command = [part.replace("{scratch}", scratch) for part in rung.command]
        environment_here = {name: value.replace("{scratch}", scratch) for name, value in whole.items()}
        try:
            ran = run(
                command,
                environment={**environment_here, "LC_ALL": "C", "TMPDIR": scratch},
                limit_s=rung.limit_s,
                cwd=scratch,
                output_limit=_OUTPUT_LIMIT,
            )
        except RunFailure as failure:
            return _failed(rung, str(failure), checks, time.monotonic() - start)
        seconds = time.monotonic() - start
        if rung.name == "load" and ran.returncode == NO_SUCH_DRIVER and not case.gpu_signs:
            return _proof(rung, "not-run", reason="no driver library and no sign of a GPU on this machine")
        fault = _fault(rung, ran, scratch)
        if fault:
            return _failed(rung, fault, checks, seconds)
        if cache and rung.name != "load":
            cache.keep(key, _used_files(rung, scratch))
    return _proof(rung, "passed", seconds=seconds)


def _fault(rung: Rung, ran: Ran, scratch: str) -> str:
    """What is wrong, as output to look through; empty when the rung passed."""
    if ran.returncode != 0:
        return f"{ran.stderr}\n{ran.stdout}".strip() or f"{ran.command[0]} ended with {ran.returncode} and no word"
    if not rung.needed:
        return ""
    from sm120kit.snapshot.elf import needed_sonames

    try:
        needed = needed_sonames(os.path.join(scratch, "linked.so"))
    except (OSError, ValueError) as error:
        return f"error: the linked library cannot be read: {error}"
    for wanted in rung.needed:
        if not any(re.fullmatch(wanted, each) for each in needed):
            asks = ", ".join(needed) or "nothing"
            return f"error: the linked library asks for {asks} at run time, and not for {wanted.replace(chr(92), '')}"
    return ""


def _used_files(rung: Rung, scratch: str) -> list[str]:
    """Every header that a rung read, from the preprocessor's own account, and the tools that took part."""
    used = set(rung.tools)
    listing = os.path.join(scratch, "kernel.d")
    preprocessed = os.path.join(scratch, "probe.ii")
    if os.path.exists(listing):
        with open(listing, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
            used |= set(re.findall(r"(?<!\S)(/(?:\\ |\S)+)", file.read().replace("\\\n", " ")))
    if os.path.exists(preprocessed):
        with open(preprocessed, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
            used |= {match[1] for line in file if (match := re.match(r'# \d+ "(/[^"]+)"', line))}
    return sorted(path.replace("\\ ", " ") for path in used if not path.startswith(scratch))


def _failed(rung: Rung, output: str, checks: Sequence[Check], seconds: float) -> Proof:
    return _proof(rung, "failed", error=first_error(output), check=explaining_check(output, checks), seconds=seconds)


def _proof(
    rung: Rung,
    outcome: Outcome,
    *,
    error: str = "",
    check: str = "",
    reason: str = "",
    seconds: float = 0.0,
    cached: bool = False,
) -> Proof:
    command = shlex.join(rung.command)
    return Proof(rung.name, rung.consumers, rung.shows, outcome, command, error, check, reason, seconds, cached)
