"""Reports as JUnit XML against the schema of Jenkins' xunit plugin, which pytest keeps in its source distribution."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from xmlschema import XMLSchema

from sm120kit.diagnosis.types import FailOn
from sm120kit.report.junit import render_junit, render_smoke_junit
from tests.programs import give_up
from tests.report.test_smoke import smoke
from tests.reports import crashed, finding, found, not_applicable, ok, report, unknown
from tests.smoke.proofs import proof
from tests.wheels.trees import CACHE, cache_lock

pytestmark = pytest.mark.wheels

PYTEST = "pytest==9.1.1"
MEMBER = "pytest-9.1.1/testing/example_scripts/junit-10.xsd"

FAIL_ON: tuple[FailOn, ...] = ("error", "warning", "unknown", "never")
EVERYTHING = report(found(finding()), ok(), unknown(), not_applicable(), crashed())


@pytest.fixture(scope="module")
def schema() -> XMLSchema:
    """junit-10.xsd, downloaded once."""
    path = CACHE / "schemas" / "junit-10.xsd"
    with cache_lock():
        if not path.is_file() and not _download(path):
            give_up(f"pip cannot download the source distribution of {PYTEST}")
    return XMLSchema(str(path))


def _download(path: Path) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    options = ("--quiet", "--no-deps", "--no-binary=:all:", "--dest", str(path.parent))
    command = [sys.executable, "-m", "pip", "download", *options, PYTEST]
    if subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, env={**os.environ, "HOME": str(CACHE)}
    ).returncode:
        return False
    (source,) = path.parent.glob("pytest-*.tar.gz")
    with tarfile.open(source) as archive:
        member = archive.extractfile(MEMBER)
        assert member is not None
        path.write_bytes(member.read())
    source.unlink()
    return True


@pytest.mark.parametrize("fail_on", FAIL_ON)
def test_the_doctor(fail_on: FailOn, schema: XMLSchema) -> None:
    schema.validate(render_junit(EVERYTHING, fail_on))


@pytest.mark.parametrize("fail_on", FAIL_ON)
def test_a_smoke_test(fail_on: FailOn, schema: XMLSchema) -> None:
    schema.validate(render_smoke_junit(smoke(fail_on=fail_on), fail_on))
    schema.validate(render_smoke_junit(smoke(nothing=True, fail_on=fail_on), fail_on))
    schema.validate(render_smoke_junit(smoke(proof("link", "failed", error="<&\x00\udcff>")), fail_on))


def test_something_else_is_refused(schema: XMLSchema) -> None:
    text = render_smoke_junit(smoke())
    assert not schema.is_valid(text.replace("<testcase ", "<testcase when='now' ", 1))
    assert not schema.is_valid(text.replace("<testsuites ", "<testsuites skipped='1' ", 1))
