"""The JSON Schemas: valid themselves, and what the commands print fits them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sm120kit.diagnosis.compare import compare
from sm120kit.report.schema import DOCUMENTS, json_schema
from sm120kit.snapshot.diff import changes
from sm120kit.text import encode_json
from tests.builders import flashinfer, no_driver, sglang, snapshot, toolkit
from tests.reports import crashed, finding, found, not_applicable, ok, report, unknown

ALL = (found(finding()), ok(), unknown(), not_applicable(), crashed())


def errors(document: str, value: object) -> list[str]:
    """How ``value``, written as JSON and read again, does not fit the schema of ``document``."""
    return [
        error.message
        for error in Draft202012Validator(json_schema(document)).iter_errors(json.loads(encode_json(value)))
    ]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_schema_is_valid_and_says_what_it_is_of(document: str) -> None:
    schema = json.loads(encode_json(json_schema(document)))
    Draft202012Validator.check_schema(schema)
    assert schema["title"] == f"sm120kit.{document}/1"


def test_reports_fit() -> None:
    assert not errors("report", report(*ALL))
    assert not errors("report", report(ok(), snapshot=snapshot(toolkits=(), driver=no_driver())))


def test_snapshots_fit() -> None:
    assert not errors("snapshot", snapshot(consumers=(flashinfer(), sglang())))
    assert not errors("snapshot", snapshot(toolkits=(toolkit(releases={"cicc": None}),), driver=no_driver()))


def test_comparisons_fit() -> None:
    before, after = snapshot(), snapshot(driver=no_driver())
    assert not errors("comparison", compare(report(ok()), report(*ALL), changes(before, after)))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data.update(schema="sm120kit.report/2"),
        lambda data: data["findings"][0].update(severity="fatal"),
        lambda data: data["checks"][0].pop("outcome"),
        lambda data: data.pop("summary"),
    ],
)
def test_something_else_does_not_fit(spoil: Any) -> None:
    data = json.loads(encode_json(report(*ALL)))
    spoil(data)
    assert errors("report", data)


def test_the_names_that_were_promised_are_there() -> None:
    data = json.loads(encode_json(report(*ALL)))
    assert data["schema"] == "sm120kit.report/1"
    promised = {"check", "severity", "subject", "message", "evidence", "remedies", "fingerprint", "suppressed"}
    assert promised <= set(data["findings"][0])
    assert {"check", "outcome"} <= set(data["checks"][0])
    assert data["summary"]["errors"] == 1
