"""Reports as JUnit XML (the Jenkins xunit schema): one test case per check, and one per proof."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from sm120kit.diagnosis.types import CheckLine, FailOn, Outcome, Proof, ProofReport, Report, ReportedFinding
from sm120kit.fleet.types import Fleet, Verdict
from sm120kit.report.remedies import shown
from sm120kit.report.wording import suppression_remarks
from sm120kit.smoke.types import SmokeReport, Step
from sm120kit.text import copyable, utf8_text

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even escaped: https://www.w3.org/TR/xml/#charsets"""


def render_junit(report: Report, fail_on: FailOn = "error") -> str:
    """One XML document in UTF-8. A case fails by what makes the command fail; a crashed check is an error."""
    return _document([_doctor_suite(report, fail_on)])


def render_smoke_junit(smoke: SmokeReport, fail_on: FailOn = "error") -> str:
    """The same of a smoke test: a suite for each step, with its seconds."""
    suites = [_doctor_suite(smoke.report, fail_on)]
    suites += [_proof_suite(smoke.proofs, step, fail_on) for step in smoke.steps if step.name == "prove"]
    suites += [_serve_suite(smoke.fleet, step) for step in smoke.steps if step.name == "serve"]
    for suite, step in zip(suites, smoke.steps, strict=True):
        suite.set("time", f"{step.seconds:.3f}")
    return _document(suites)


def _document(suites: list[Element]) -> str:
    root = Element("testsuites", name="sm120kit")
    for kind in ("tests", "failures", "errors"):  # the schema knows skipped of a suite only
        root.set(kind, str(sum(int(suite.get(kind, "0")) for suite in suites)))
    root.extend(suites)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _doctor_suite(report: Report, fail_on: FailOn) -> Element:
    facts = {"target": report.target, "sm120kit": report.tool_version, "verdict": report.summary.verdict}
    cases = [_case(line, report, fail_on) for line in report.checks]
    return _suite("sm120kit doctor", facts, cases, [*report.summary.doubts, *suppression_remarks(report)])


def _proof_suite(proofs: Sequence[ProofReport], step: Step, fail_on: FailOn) -> Element:
    facts = {"verdict": step.outcome}
    cases = [_proof_case(proof, report, fail_on) for report in proofs for proof in report.proofs]
    if all(proof.outcome == "not-run" and not proof.prevented for report in proofs for proof in report.proofs):
        case = Element("testcase", classname="sm120kit.prove", name="toolkit")
        _result(case, "failure" if step.outcome == "failed" else "skipped", "unknown", step.reason, "")
        cases.append(case)
    why = [f"{report.cuda_home}: {report.architecture}, {report.architecture_why}" for report in proofs]
    return _suite("sm120kit prove", facts, cases, why)


def _serve_suite(fleet: Fleet | None, step: Step) -> Element:
    facts = {"verdict": step.outcome, "rehearsal": str(bool(fleet and fleet.rehearsal)).lower()}
    cases = [_verdict_case(verdict, step) for each in (fleet.replicas if fleet else ()) for verdict in each.verdicts]
    whole = Element("testcase", classname="sm120kit.serve", name="server")
    if step.outcome != "passed":
        _result(whole, "failure" if step.outcome == "failed" else "skipped", step.outcome, step.reason, "")
    return _suite("sm120kit serve", facts, [*cases, whole], [step.reason])


def _verdict_case(verdict: Verdict, step: Step) -> Element:
    case = Element("testcase", classname="sm120kit.serve", name=verdict.name)
    if verdict.passed is None:
        _result(case, "skipped", "not judged", verdict.evidence, "")
    elif not verdict.passed and step.outcome == "failed":
        _result(case, "failure", "failed", verdict.evidence, "")
    return case


def _suite(name: str, facts: Mapping[str, str], cases: list[Element], remarks: Sequence[str]) -> Element:
    suite = Element("testsuite", name=name, tests=str(len(cases)))
    for kind, tag in _COUNTED.items():
        suite.set(kind, str(sum(case.find(tag) is not None for case in cases)))
    properties = SubElement(suite, "properties")
    for key, value in facts.items():
        SubElement(properties, "property", name=key, value=_legal(value))
    suite.extend(cases)
    if remarks:
        SubElement(suite, "system-out").text = _legal("\n".join(remarks))
    return suite


_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _proof_case(proof: Proof, report: ProofReport, fail_on: FailOn) -> Element:
    consumers = f" ({', '.join(proof.consumers)})" if proof.consumers else ""
    case = Element("testcase", classname="sm120kit.prove", name=_legal(f"{proof.rung}{consumers} {report.cuda_home}"))
    case.set("time", f"{proof.seconds:.3f}")
    if proof.outcome == "passed":
        return case
    lines = [proof.error or proof.reason, f"was to show that {proof.shows}", proof.command, proof.remedy]
    lines += [f"sm120kit explain {proof.check}"] if proof.check else []
    text = "\n".join(filter(None, lines))
    if proof.outcome == "not-run" and not proof.prevented:
        _result(case, "skipped", "unknown", proof.reason, "")
    elif fail_on == "never":
        SubElement(case, "system-out").text = _legal(text)
    else:
        _result(case, "failure", proof.check or proof.outcome, proof.error or proof.reason, text)
    return case


def _case(line: CheckLine, report: Report, fail_on: FailOn) -> Element:
    family, _, name = line.check.partition(".")
    case = Element("testcase", classname=f"sm120kit.{family}", name=name)
    findings = [finding for finding in report.findings if finding.check == line.check]
    failing = [finding for finding in findings if not finding.suppressed and finding.severity.reaches(fail_on)]
    others = [finding for finding in findings if finding not in failing]
    unknown = [f"{each.subject}: {each.reason}" for each in line.unknowns]
    if line.outcome is Outcome.CRASHED:
        _result(case, "error", "crashed", line.reason, line.reason)
    elif failing:
        messages = "; ".join(finding.message for finding in failing)
        _result(case, "failure", failing[0].severity.value, messages, "\n\n".join(map(_told, failing)))
    elif fail_on == "unknown" and unknown:
        _result(case, "failure", "unknown", line.reason, "\n".join(unknown))
    elif line.outcome in (Outcome.UNKNOWN, Outcome.NOT_APPLICABLE):
        _result(case, "skipped", line.outcome.value, line.reason, "\n".join(unknown))
    if others:
        SubElement(case, "system-out").text = _legal("\n\n".join(map(_told, others)))
    return case


def _result(case: Element, tag: str, kind: str, message: str, text: str) -> None:
    SubElement(case, tag, type=kind, message=_legal(message)).text = _legal(text) or None


def _told(finding: ReportedFinding) -> str:
    """One finding as plain lines."""
    mark = f"suppressed ({finding.suppression_reason}), " if finding.suppressed else ""
    lines = [f"{mark}{finding.severity.value}: {finding.message}"]
    for evidence in finding.evidence:
        where = evidence.where + (f":{evidence.line}" if evidence.line else "")
        owner = f"from {evidence.owner}" if evidence.owner else ""
        lines.append("  seen: " + ", ".join(piece for piece in (evidence.text, where, owner) if piece))
    for remedy in finding.remedies:
        text, commands = shown(remedy)
        lines += [f"  fix: {text}", *(f"    {copyable(command)}" for command in commands)]
    return "\n".join(lines)


def _legal(text: str) -> str:
    """``text`` without the characters that XML cannot hold; a byte that was no UTF-8 shows as ``\\xff``."""
    return _NOT_XML.sub("", utf8_text(text))
