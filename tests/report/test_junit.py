"""The report as JUnit XML: its shape by the Jenkins xunit schema (junit-10.xsd), and what is a failure."""

from __future__ import annotations

from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm120kit.diagnosis.types import CheckResult, Evidence, FailOn, Manual, Severity, Suppression
from sm120kit.report.junit import render_junit
from tests.builders import no_driver, snapshot
from tests.reports import crashed, finding, found, not_applicable, ok, report, unknown

MESSAGE = (set[str](), {"type", "message"}, set[str]())
SHAPES: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": ({"testsuite"}, {"name", "time", "tests", "failures", "errors"}, set()),
    "testsuite": (
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        {"name", "tests", "failures", "errors"},
    ),
    "testcase": ({"skipped", "error", "failure", "system-out", "system-err"}, {"time", "classname", "group"}, {"name"}),
    "properties": ({"property"}, set(), set()),
    "property": (set(), set(), {"name", "value"}),
    "failure": MESSAGE,
    "error": MESSAGE,
    "skipped": MESSAGE,
    "system-out": (set(), set(), set()),
}
"""Of each element: which children and attributes it may have, and which attributes it must have."""

MIXED = {"failure", "error", "skipped", "system-out"}


def assert_shape(element: Element) -> None:
    """Whether the element and all below it are as the schema says."""
    children, optional, required = SHAPES[element.tag]
    assert {child.tag for child in element} <= children
    assert required <= set(element.attrib) <= required | optional
    assert element.tag in MIXED or not (element.text or "").strip()
    for child in element:
        assert not (child.tail or "").strip()
        assert_shape(child)


def parsed(*results: CheckResult, fail_on: FailOn = "error", suppressions: list[Suppression] | None = None) -> Element:
    """The document for these results, its shape and its counts proved."""
    root = fromstring(render_junit(report(*results, suppressions=suppressions or []), fail_on).encode())
    assert root.tag == "testsuites"
    assert_shape(root)
    (suite,) = root
    cases = suite.findall("testcase")
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert suite.get(attribute) == str(sum(case.find(tag) is not None for case in cases))
    assert suite.get("tests") == str(len(cases)) == str(len(results))
    return suite


def verdicts(suite: Element) -> dict[str, str]:
    """What became of each case: the tag below it, ``passed`` without one."""
    tags = ("failure", "error", "skipped")
    return {
        f"{case.get('classname')}.{case.get('name')}": next(
            (child.tag for child in case if child.tag in tags), "passed"
        )
        for case in suite.findall("testcase")
    }


ALL = (
    found(finding()),
    found(finding("driver.slow", Severity.WARNING)),
    found(finding("torch.odd", Severity.NOTE)),
    ok(),
    unknown(),
    not_applicable(),
    crashed(),
)


@pytest.mark.parametrize(
    ("fail_on", "failing"),
    [
        ("error", {"toolkit.broken"}),
        ("warning", {"toolkit.broken", "driver.slow"}),
        ("unknown", {"toolkit.broken", "driver.slow", "driver.unclear"}),
        ("never", set()),
    ],
)
def test_one_case_per_check(fail_on: FailOn, failing: set[str]) -> None:
    became = verdicts(parsed(*ALL, fail_on=fail_on))
    assert {name.removeprefix("sm120kit.") for name, verdict in became.items() if verdict == "failure"} == failing
    assert became["sm120kit.toolkit.well"] == "passed"
    assert became["sm120kit.torch.odd"] == "passed"
    assert became["sm120kit.torch.absent"] == "skipped"
    assert became["sm120kit.toolkit.faulty"] == "error"


def test_a_failure_tells_evidence_and_remedy() -> None:
    failure = parsed(*ALL).find("testcase[@name='broken']/failure")
    assert failure is not None
    assert failure.get("message") == "a part of /opt/cuda is missing"
    assert failure.get("type") == "error"
    for piece in ("/opt/cuda/nvvm/bin/cicc", "nvidia-nvvm 13.0.88", "pip install nvidia-nvvm==13.0.88"):
        assert piece in (failure.text or "")


def test_skipped_cases_say_why() -> None:
    suite = parsed(unknown(), not_applicable())
    assert [(each.get("type"), each.get("message")) for each in suite.iter("skipped")] == [
        ("unknown", "NVML did not answer"),
        ("not_applicable", "torch is not installed"),
    ]


def test_a_suppressed_finding_passes_and_is_told() -> None:
    suite = parsed(found(finding()), suppressions=[Suppression("toolkit.*", "we live with it")])
    assert verdicts(suite) == {"sm120kit.toolkit.broken": "passed"}
    out = suite.find("testcase/system-out")
    assert out is not None
    assert "suppressed (we live with it), error: a part" in (out.text or "")


def test_two_findings_of_one_check_are_one_failure() -> None:
    failures = list(parsed(found(finding(), finding(subject="/other", message="another"))).iter("failure"))
    assert len(failures) == 1
    assert failures[0].get("message") == "a part of /opt/cuda is missing; another"


def test_doubts_are_told() -> None:
    made = report(ok(), snapshot=snapshot(toolkits=(), driver=no_driver()))
    out = fromstring(render_junit(made).encode()).find("testsuite/system-out")
    assert out is not None
    assert "No GPU could be asked" in (out.text or "")


@given(st.text(st.characters(codec=None)))
def test_any_text_makes_a_document(text: str) -> None:
    bad = finding(
        subject=text, message=text, evidence=[Evidence(text, text, 0, text)], remedies=[Manual(text, (text,))]
    )
    parsed(found(bad), unknown("a.b", text, text), not_applicable("a.c", text))


def test_what_xml_cannot_hold_is_left_out() -> None:
    failure = next(parsed(found(finding(message="a\x00\x1b[31m\ufffe<b>&\udce9"))).iter("failure"))
    assert failure.get("message") == "a[31m<b>&\\xe9"
