"""A real compile, link or load with the target's own tools fails

## What it finds
A step of `sm120kit prove` that fails: linking, preprocessing, compiling, assembling or loading, with the flags of
those who would use the toolkit.

## Why it matters
What fails here fails in the same way when SGLang or FlashInfer compiles its kernels, minutes after the start.

## How it is found
Only with `--prove`: the target's own compiler and linker are run in a scratch folder. The first true error line
is shown, and the check whose signature explains it. Where the host compiler is not on the target's PATH nothing is
said of the toolkit.

## Remedy
What the explaining check says (`sm120kit explain ID`); where none explains it, the error line and the command stand
in the evidence. `sm120kit prove --keep DIR` leaves the sources, the commands and what they made in DIR.

## Sources
- nvcc 13.0.88, 13.2.78 and 13.5.37 from wheels, whole and broken: which probe shows which fault
"""

import shlex
from collections.abc import Iterator

from sm120kit.diagnosis import CannotTell, Case, Finding, Manual, at, check, error
from sm120kit.diagnosis.typed_again import data_dir_option, target_option


@check("toolkit.proof-failed", needs="proofs")
def proof_failed(case: Case) -> Iterator[Finding | CannotTell]:
    for report in case.proofs:
        prevented = dict.fromkeys(f"{each.reason}. {each.remedy}" for each in report.proofs if each.prevented)
        for reason in prevented:
            yield CannotTell(report.cuda_home, f"{report.cuda_home} is not proved: {reason}")
        for proof in report.proofs:
            who = f" ({', '.join(proof.consumers)})" if proof.consumers else ""
            subject = f"{report.cuda_home}: {proof.rung}{who}"
            if proof.outcome == "not-run" and not proof.prevented:
                yield CannotTell(subject, proof.reason)
            if proof.outcome != "failed":
                continue
            explained = (
                Manual("What that error means", (f"sm120kit explain {proof.check}",))
                if proof.check
                else Manual("Run the command of the evidence by hand to see all of its output")
            )
            sources = Manual(
                "This leaves its source, its command and what it made in ./proof", (_keep(case, report.cuda_home),)
            )
            yield error(
                subject,
                f"the proof {proof.rung}{who} of {report.cuda_home} fails: {proof.error}",
                [at(proof.error, proof.command)],
                [explained, sources],
            )


def _keep(case: Case, cuda_home: str) -> str:
    where = f"{target_option(case)} --cuda-home {shlex.quote(cuda_home)}{data_dir_option(case)}"
    return f"sm120kit prove {where} --keep ./proof"
