"""The report as JUnit XML (the Jenkins xunit schema): one test case per check."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from sm120kit.diagnosis.types import CheckLine, FailOn, Outcome, Report, ReportedFinding
from sm120kit.report.remedies import shown
from sm120kit.report.wording import suppression_remarks
from sm120kit.text import copyable, utf8_text

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even escaped: https://www.w3.org/TR/xml/#charsets"""


def render_junit(report: Report, fail_on: FailOn = "error") -> str:
    """One XML document in UTF-8. A case fails by what makes the command fail; a crashed check is an error."""
    cases = [_case(line, report, fail_on) for line in report.checks]
    counts = {"tests": len(cases), **{kind: _holding(cases, tag) for kind, tag in _COUNTED.items()}}
    root = Element("testsuites", name="sm120kit")
    suite = SubElement(root, "testsuite", name="sm120kit doctor")
    for kind, number in counts.items():
        suite.set(kind, str(number))
        if kind != "skipped":  # the schema knows it of a suite only
            root.set(kind, str(number))
    properties = SubElement(suite, "properties")
    facts = {"target": report.target, "sm120kit": report.tool_version, "verdict": report.summary.verdict}
    for name, value in facts.items():
        SubElement(properties, "property", name=name, value=_legal(value))
    suite.extend(cases)
    remarks = [*report.summary.doubts, *suppression_remarks(report)]
    if remarks:
        SubElement(suite, "system-out").text = _legal("\n".join(remarks))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _holding(cases: list[Element], tag: str) -> int:
    return sum(case.find(tag) is not None for case in cases)


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
