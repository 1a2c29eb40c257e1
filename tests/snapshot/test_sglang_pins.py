"""What the installed SGLang pins."""

from __future__ import annotations

from pathlib import Path

from sm120kit.diagnosis.pins import pins
from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.sglang_pins import read_sglang_pins
from tests.snapshot.targets import context, install, value

REQUIRES = (
    "numpy",
    "cuda-python>=13.0",
    "flashinfer_python[cu13]==0.7.2",
    "torch==2.14.1",
    'av==16.1.0; sys_platform == "linux" and platform_machine == "aarch64"',
    'diffusers==0.37.0; extra == "diffusion"',
    "kernels==0.14.*",
)


def test_pins_of_its_metadata(tmp_path: Path) -> None:
    info = install(tmp_path, "sglang", "0.5.23")
    lines = "".join(f"Requires-Dist: {line}\n" for line in REQUIRES)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.23\n{lines}\nRequires-Dist: no==1\n"
    )
    made = context(site_packages=[tmp_path])
    fact = read_sglang_pins(made, Distributions.read(made.files, made.site_packages))
    assert value(fact) == (REQUIRES[2], REQUIRES[3], REQUIRES[4], REQUIRES[6])
    assert [(pin.name, pin.version) for pin in pins(value(fact), "x86_64", "3.12")] == [
        ("flashinfer-python", "0.7.2"),
        ("torch", "2.14.1"),
    ]
    assert "av" in [pin.name for pin in pins(value(fact), "aarch64", "3.12")]


def test_without_sglang_and_without_metadata(tmp_path: Path) -> None:
    made = context(site_packages=[tmp_path])
    assert isinstance(read_sglang_pins(made, Distributions.read(made.files, made.site_packages)), Unknown)
    info = install(tmp_path, "sglang", "0.5.23")
    (info / "METADATA").unlink()
    fact = read_sglang_pins(made, Distributions.read(made.files, made.site_packages))
    assert isinstance(fact, Unknown)
    assert str(info) in fact.reason
