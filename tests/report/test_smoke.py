"""A smoke test as text, JSON, JUnit and Markdown."""

from __future__ import annotations

import json
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from sm120kit.diagnosis.types import FailOn
from sm120kit.report.junit import render_smoke_junit
from sm120kit.report.markdown import render_smoke_markdown
from sm120kit.report.schema import json_schema
from sm120kit.report.smoke import render_smoke
from sm120kit.smoke.types import SmokeReport
from sm120kit.smoke.verdict import counted_at, prove_step, smoke_report, static_step
from sm120kit.text import encode_json
from tests.report.test_junit import assert_shape
from tests.reports import crashed, finding, found, not_applicable, ok, report, unknown
from tests.smoke.proofs import proof, proofs

RUNGS = (
    proof("link"),
    proof("compile", "failed", error="error: __cudaLaunch passed 2 arguments", check="toolkit.release-mismatch"),
    proof("cub", "not-run", reason="no g++ on PATH", remedy="apt install g++"),
    proof("load", "not-run", reason="no driver library and no sign of a GPU on this machine", consumers=()),
)


def smoke(*rungs: object, fail_on: FailOn = "error", nothing: bool = False) -> SmokeReport:
    judged = report(found(finding()), ok(), unknown(), not_applicable(), crashed())
    made = () if nothing else (proofs(*(rungs or RUNGS)),)  # type: ignore[arg-type]
    steps = [static_step(judged, fail_on, 0.25), prove_step(made, fail_on, 2.5)]
    return smoke_report("prove", steps, judged, made, 2.75)


def test_json_fits_its_schema() -> None:
    for each in (smoke(), smoke(nothing=True)):
        data = json.loads(encode_json(each))
        Draft202012Validator(json_schema("smoke")).validate(data)
        assert data["schema"] == "sm120kit.smoke/1"
        assert [step["name"] for step in data["steps"]] == ["static", "prove"]
        assert data["report"]["schema"] == "sm120kit.report/1"


@pytest.mark.parametrize("fail_on", ["error", "unknown", "never"])
def test_junit_has_a_suite_for_each_step(fail_on: FailOn) -> None:
    root = fromstring(render_smoke_junit(smoke(fail_on=fail_on), fail_on).encode())
    assert_shape(root)
    doctor, prove = root
    assert (doctor.get("name"), doctor.get("time")) == ("sm120kit doctor", "0.250")
    assert (prove.get("name"), prove.get("time")) == ("sm120kit prove", "2.500")
    failures = 0 if fail_on == "never" else 2
    assert [prove.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", str(failures), "0", "1"]
    assert root.get("tests") == str(4 + int(doctor.get("tests", "")))
    assert root.get("failures") == str(failures + int(doctor.get("failures", "")))


def test_junit_of_a_proof_tells_why() -> None:
    prove = fromstring(render_smoke_junit(smoke()).encode())[1]
    failed = prove.find("testcase[@name='compile (flashinfer) /opt/cuda']/failure")
    assert failed is not None
    assert failed.get("type") == "toolkit.release-mismatch"
    assert "__cudaLaunch passed 2" in (failed.get("message") or "")
    for piece in ("was to show that compile works", "nvcc -x compile", "sm120kit explain toolkit.release-mismatch"):
        assert piece in (failed.text or "")
    prevented = prove.find("testcase[@name='cub (flashinfer) /opt/cuda']/failure")
    assert prevented is not None
    assert "apt install g++" in (prevented.text or "")
    (skipped,) = prove.iter("skipped")
    assert skipped.get("message") == "no driver library and no sign of a GPU on this machine"


def test_junit_where_nothing_was_proved_and_that_was_asked_for_fails() -> None:
    not_run = proof("load", "not-run", reason="no driver")
    for made in ((), (proofs(not_run),)):
        judged = report(ok())
        steps = [
            static_step(judged, "error", 0),
            counted_at("prove", prove_step(made, "error", 0), "error"),
        ]
        prove = fromstring(render_smoke_junit(smoke_report("prove", steps, judged, made, 1)).encode())[1]
        (failure,) = prove.iter("failure")
        assert "nothing could be proved" in (failure.get("message") or "")


def test_junit_where_nothing_was_proved_is_skipped_with_the_reason() -> None:
    prove = fromstring(render_smoke_junit(smoke(nothing=True)).encode())[1]
    (skipped,) = prove.iter("skipped")
    assert "nothing installed takes a toolkit" in (skipped.get("message") or "")
    failing = fromstring(render_smoke_junit(smoke(nothing=True, fail_on="unknown"), "unknown").encode())[1]
    assert failing.get("failures") == "1"


def test_text_ends_with_steps_and_verdict() -> None:
    *_, static, prove, verdict = render_smoke(smoke()).strip().splitlines()
    assert verdict == "Smoke test at level prove failed at static and prove (2.8 s)."
    text = render_smoke(smoke())
    assert "static" in static or "static  FAILED, 0.2 s" in text
    assert prove
    assert "Proof of /opt/cuda" in text


def test_markdown_has_a_table_of_steps() -> None:
    text = render_smoke_markdown(smoke())
    assert text.startswith("# sm120kit smoke\n")
    assert "| prove | **failed** | 2.5 | 1 of 2 proofs failed; no g++ on PATH |" in text
    assert "| compile (flashinfer) | failed |" in text
    assert "## error: a part of /opt/cuda is missing" in text


@given(st.text(st.characters(codec=None)))
def test_any_text_makes_documents(text: str) -> None:
    made = smoke(proof("link", "failed", error=text, reason=text, remedy=text, consumers=(text,)))
    assert_shape(fromstring(render_smoke_junit(made).encode()))
    render_smoke_markdown(made).encode()
    encode_json(made)
    render_smoke(made)
