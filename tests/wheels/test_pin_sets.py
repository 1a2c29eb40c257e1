"""The pin sets of the data cases, against the metadata of the real wheels that they were copied from."""

from __future__ import annotations

import pytest

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.diagnosis.pins import pins
from sm120kit.diagnosis.run import run_checks
from sm120kit.diagnosis.types import Severity
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.sglang_pins import read_sglang_pins
from tests.builders import distribution, known
from tests.diagnosis.pin_sets import SGLANG, sglang_stack
from tests.snapshot.targets import context, value
from tests.wheels.trees import lay

pytestmark = pytest.mark.wheels

CHECKS = tuple(read_catalogue().checks.values())


def real_pins(version: str) -> dict[str, str]:
    """What the wheel of that SGLang pins with ``==``."""
    made = context(site_packages=[lay(f"sglang=={version}")])
    lines = value(read_sglang_pins(made, Distributions.read(made.files, made.site_packages)))
    return {pin.name: pin.version for pin in pins(lines, "x86_64", "3.12")}


@pytest.mark.parametrize("version", SGLANG)
def test_data_cases_have_the_pins_of_the_wheel(version: str) -> None:
    copied = {name.replace("_", "-"): pinned for name, pinned in SGLANG[version].items()}
    real = real_pins(version)
    assert {name: copied[name] for name in real.keys() & copied.keys()} == {
        name: real[name] for name in real.keys() & copied.keys()
    }
    assert {
        "torch",
        "flashinfer-python",
        "sglang-kernel",
        "nvidia-cutlass-dsl",
        "torchaudio",
    } <= real.keys() & copied.keys()


@pytest.mark.parametrize("version", SGLANG)
def test_everything_that_the_wheel_pins_has_no_error(version: str) -> None:
    stack = sglang_stack(version)
    installed = {name.replace("_", "-"): pinned for name, pinned in SGLANG[version].items()} | real_pins(version)
    whole = sglang_stack(version, distributions=known(tuple(distribution(*each) for each in sorted(installed.items()))))
    for made in (stack, whole):
        results = run_checks(CHECKS, Case(made))
        assert not [result.reason for result in results if result.traceback]
        found = [each for result in results for each in result.findings]
        assert not [each.message for each in found if each.severity is Severity.ERROR]
