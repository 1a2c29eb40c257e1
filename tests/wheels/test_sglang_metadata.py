"""The real SGLang wheels: what they pin and assert, against the tables made from them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.diagnosis.pins import minimums, pins
from sm120kit.diagnosis.run import run_check
from sm120kit.diagnosis.types import Outcome, Severity
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.sglang_pins import read_sglang_pins
from tests.builders import distribution, known, snapshot
from tests.snapshot.targets import context, value
from tests.wheels.trees import lay

pytestmark = pytest.mark.wheels

VERSIONS = ("0.5.11", "0.5.12", "0.5.23")
CHECKS = read_catalogue().checks


def requirements(site_packages: Path) -> tuple[str, ...]:
    """What the installed SGLang pins."""
    made = context(site_packages=[site_packages])
    return value(read_sglang_pins(made, Distributions.read(made.files, made.site_packages)))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_official_pin_set_is_healthy(version: str) -> None:
    lines = requirements(lay(f"sglang=={version}"))
    installed = {pin.name: pin.version for pin in pins(lines, "x86_64", "3.12")}
    assert {"torch", "flashinfer-python", "sglang-kernel", "transformers", "torchaudio"} <= installed.keys()
    stack = snapshot(
        distributions=known(tuple(distribution(*each) for each in sorted({**installed, "sglang": version}.items()))),
        sglang_requires=known(lines),
    )
    for check in ("sglang.pins-violated", "sglang.start-assert"):
        assert run_check(CHECKS[check], Case(stack)).outcome is Outcome.OK
    moved = {**installed, "sglang": version, "torch": "2.9.1"}
    broken = replace(stack, distributions=known(tuple(distribution(*each) for each in sorted(moved.items()))))
    findings = run_check(CHECKS["sglang.pins-violated"], Case(broken)).findings
    assert [(each.subject, each.severity) for each in findings] == [("torch", Severity.WARNING)]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_least_versions_are_those_that_the_wheel_asserts(version: str) -> None:
    text = (lay(f"sglang=={version}") / "sglang/srt/entrypoints/engine.py").read_text()
    asserted = dict(re.findall(r'assert_pkg_version\(\s*"([\w-]+)",\s*"([\w.]+)"', text))
    table = {row.package.replace("flashinfer-python", "flashinfer_python"): row.minimum for row in minimums(version)}
    assert table == asserted


@pytest.mark.parametrize("version", VERSIONS)
def test_lines_of_code_that_the_tables_name_say_what_they_are_named_for(version: str) -> None:
    srt = lay(f"sglang=={version}") / "sglang/srt"
    texts = "\n".join(path.read_text(errors="replace") for path in sorted(srt.rglob("*.py")))
    joined = re.sub(r'"\s*\n\s*f?"', "", texts)
    for words in (
        "FlashAttention v3 Backend requires SM>=80 and SM<=90. Please use `--attention-backend flashinfer`.",
        "TRTLLM MLA backend is only supported on Blackwell GPUs (SM100/SM12x). Please use a different backend.",
        "backends on Blackwell GPUs for hybrid GDN models" if version != "0.5.23" else "for hybrid GDN models. Got",
    ):
        assert words in joined
