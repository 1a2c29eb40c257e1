"""SGLang's official pin sets, made of the metadata of all their real wheels: healthy whole, each change named."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from sm120kit.diagnosis.torch_wheels import wheel_of
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.records import Distributions, requires
from sm120kit.snapshot.types.packages import TorchBuild
from tests.diagnosis.pin_sets import SGLANG, TORCH_2_10, TORCH_2_11, TORCH_2_14
from tests.wheels.doctor import doctor, env_file
from tests.wheels.metadata import PIP, metadata, report_on
from tests.wheels.test_pin_sets import real_pins
from tests.wheels.trees import lay

pytestmark = pytest.mark.wheels

FAMILIES = ("sglang.", "torch.", "triton.", "flashinfer.", "wheels.")
DUE = {"0.5.12": {("wheels.known-bad", "warning")}}
"""SGLang 0.5.12 itself pins the CuTe DSL that is faulty on SM12x."""
TORCH_SETS = {"2.10.0": TORCH_2_10, "2.11.0": TORCH_2_11, "2.14.1": TORCH_2_14}


def hyphenated(names: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): version for name, version in names.items()}


def official(version: str) -> Path:
    """METADATA of everything in one set: the data case's and what the wheel of SGLang pins beside it."""
    wanted = hyphenated(SGLANG[version]) | real_pins(version)
    return metadata(f"sglang-{version}", [f"{name}=={pinned}" for name, pinned in sorted(wanted.items())])


def requirements(folder: Path, name: str) -> list[Requirement]:
    """What one package requires on Linux and x86_64, with whatever extras it has for CUDA's parts."""
    files = Files()
    found = Distributions.read(files, (str(folder),)).first(name)
    assert found, f"{name} is not in {folder}"
    machine = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}
    machine.update(python_version="3.12", python_full_version="3.12.0")
    asked = [Requirement(line) for line in requires(files, found)]
    return [
        each
        for each in asked
        if each.marker is None or name == "cuda-toolkit" or each.marker.evaluate({**machine, "extra": ""})
    ]


def unmet(installed: Mapping[str, str], asked: Iterable[Requirement]) -> list[str]:
    """Requirements that a version here does not meet."""
    return [
        f"{each} and not {installed[each.name]}"
        for each in asked
        if each.name in installed and not each.specifier.contains(installed[each.name], prereleases=True)
    ]


@pytest.mark.parametrize("version", TORCH_SETS)
def test_data_cases_have_what_torch_requires(version: str) -> None:
    copied = hyphenated(TORCH_SETS[version])
    asked = requirements(metadata(f"torch-{version}", [f"torch=={version}"]), "torch")
    if "cuda-toolkit" in copied:
        release = copied["cuda-toolkit"]
        folder = metadata(f"cuda-toolkit-{release}", [f"cuda-toolkit=={release}"])
        asked += requirements(folder, "cuda-toolkit")
    assert copied.keys() - {"torch"} <= {each.name for each in asked}
    assert unmet(copied, asked) == []


def test_a_version_that_torch_does_not_require_is_seen() -> None:
    asked = requirements(metadata("torch-2.11.0", ["torch==2.11.0"]), "torch")
    wrong = hyphenated(TORCH_2_11) | {"triton": "3.6.1", "nvidia-nccl-cu13": "2.28.8"}
    assert {each.partition("=")[0] for each in unmet(wrong, asked)} == {"triton", "nvidia-nccl-cu13"}


@pytest.mark.parametrize("version", SGLANG)
def test_the_versions_of_a_set_belong_together(version: str) -> None:
    """What SGLang, torch and FlashInfer require of the packages beside them."""
    folder = official(version)
    installed = {each.name: each.version for each in Distributions.read(Files(), (str(folder),)).found}
    for name in ("sglang", "torch", "triton", "flashinfer-python", "torchvision", "torchaudio", "sglang-kernel"):
        assert unmet(installed, requirements(folder, name)) == [], name
    assert installed.get("flashinfer-cubin", installed["flashinfer-python"]) == installed["flashinfer-python"]


@dataclass(frozen=True)
class Site:
    """A site-packages folder with a set's dist-info folders."""

    path: Path

    def change(self, name: str, version: str) -> None:
        """Let another version of one package be installed, or one that was not."""
        stem = name.replace("-", "_")
        for old in self.path.glob(f"{stem}-*.dist-info"):
            shutil.rmtree(old)
        info = self.path / f"{stem}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n")

    def torch(self, version: str, cuda: str) -> None:
        """Write what torch's wheel has in version.py. That file cannot be read without the wheel."""
        (self.path / "torch").mkdir(exist_ok=True)
        said = f"'{cuda}'" if cuda else "None"
        (self.path / "torch/version.py").write_text(f"__version__ = '{version}'\ncuda: str = {said}\n")

    def findings(self, gpu: str = "rtx-pro-6000") -> set[tuple[str, str]]:
        """Check and severity of what the doctor finds in the families that judge packages."""
        diagnosis = doctor(
            self.path, "--gpu", gpu, "--driver", "580.95.05", "--env-file", str(env_file(self.path.parent))
        )
        assert not diagnosis.crashed
        found = [each for each in diagnosis.report["findings"] if each["check"].startswith(FAMILIES)]
        return {(each["check"], each["severity"]) for each in found}


def site(version: str, scratch: Path) -> Site:
    made = Site(scratch / "site-packages")
    shutil.copytree(official(version), made.path)
    made.torch(f"{SGLANG[version]['torch']}+cu130", "13.0")
    programs = made.path / "triton/backends/nvidia/bin"
    programs.mkdir(parents=True)
    for name in ("ptxas", "ptxas-blackwell"):
        (programs / name).touch(0o755)
    return made


@pytest.mark.parametrize("version", SGLANG)
def test_the_whole_set_has_only_the_findings_that_are_due(version: str, tmp_path: Path) -> None:
    assert site(version, tmp_path).findings() == DUE.get(version, set())


PINS = ("sglang.pins-violated", "warning")
COMPANION = "flashinfer.companion-mismatch"
START = ("sglang.start-assert", "error")
TWICE = ("wheels.renamed-package-twice", "warning")
BAD = ("wheels.known-bad", "warning")
PTXAS = ("triton.ptxas-too-old", "error")


@pytest.mark.parametrize(
    ("version", "name", "moved", "found"),
    [
        ("0.5.11", "transformers", "4.57.1", {PINS}),
        ("0.5.12", "transformers", "4.57.1", {PINS}),
        ("0.5.23", "transformers", "4.57.1", {PINS}),
        ("0.5.11", "torch", "2.14.1", {PINS}),
        ("0.5.23", "torch", "2.11.0", {PINS}),
        ("0.5.11", "flashinfer-cubin", "0.6.2", {PINS, (COMPANION, "error")}),
        ("0.5.12", "flashinfer-cubin", "0.6.2", {PINS, (COMPANION, "error")}),
        ("0.5.23", "flashinfer-cubin", "0.7.1", {(COMPANION, "warning")}),
        ("0.5.23", "flashinfer-jit-cache", "0.7.2+cu130", set()),
        ("0.5.23", "flashinfer-jit-cache", "0.7.1+cu130", {(COMPANION, "warning")}),
        ("0.5.12", "flashinfer-python", "0.5.3", {START, (COMPANION, "error")}),
        ("0.5.23", "flashinfer-python", "0.5.3", {START}),
        ("0.5.23", "sglang-kernel", "0.3.0", {START}),
        ("0.5.23", "sgl-kernel", "0.3.21", {TWICE}),
        ("0.5.11", "apache-tvm-ffi", "0.1.8", {BAD}),
        ("0.5.23", "apache-tvm-ffi", "0.1.8", {PINS, BAD}),
        ("0.5.23", "nvidia-cutlass-dsl", "4.5.0", {PINS, BAD}),
        ("0.5.11", "triton", "3.2.0", {PTXAS}),
        ("0.5.23", "triton", "3.2.0", {PTXAS}),
    ],
)
def test_one_package_changed(version: str, name: str, moved: str, found: set[tuple[str, str]], tmp_path: Path) -> None:
    made = site(version, tmp_path)
    made.change(name, moved)
    assert made.findings() == found | DUE.get(version, set())


@pytest.mark.parametrize(
    ("build", "cuda", "found"),
    [
        ("2.14.1+cpu", "", {("torch.cpu-only", "error")}),
        ("2.14.1+cu126", "12.6", {("torch.arch-missing", "error"), ("wheels.cuda-majors-mixed", "note")}),
    ],
)
def test_another_build_of_the_same_torch(build: str, cuda: str, found: set[tuple[str, str]], tmp_path: Path) -> None:
    made = site("0.5.23", tmp_path)
    made.torch(build, cuda)
    assert made.findings() == found


def test_pip_is_ended_before_it_downloads_a_wheel(tmp_path: Path) -> None:
    assert report_on(lay(PIP) / "pip", ["flashinfer-python==0.7.2"], tmp_path / "scratch", 0) is None
    assert not (tmp_path / "scratch").exists()


@pytest.mark.parametrize("version", ["2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.0", "2.13.0", "2.14.1"])
def test_the_table_of_torch_wheels_knows_the_cuda_release_that_each_requires(version: str) -> None:
    asked = requirements(metadata(f"torch-{version}", [f"torch=={version}"]), "torch")
    runtime = next(each for each in asked if each.name in ("cuda-toolkit", "nvidia-cuda-runtime-cu12"))
    release = ".".join(next(iter(runtime.specifier)).version.split(".")[:2])
    row = wheel_of(TorchBuild(version, release, "version.py"), "x86_64")
    assert row
    assert (row.torch, row.version) == (version.rpartition(".")[0], version)
    assert row.runs_on("12.0")
