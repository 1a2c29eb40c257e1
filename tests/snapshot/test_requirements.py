"""What installed packages require, and nothing of that name is there."""

from __future__ import annotations

from pathlib import Path

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.requirements import read_lacking
from tests.snapshot.targets import context, install, value


def lacking(*folders: Path, environment: dict[str, str] | None = None) -> dict[str, tuple[str, ...]]:
    made = context(site_packages=folders, environment=environment)
    found = value(read_lacking(made, Distributions.read(made.files, made.site_packages)))
    return {each.distribution: each.lines for each in found}


def require(info: Path, *lines: str) -> None:
    with (info / "METADATA").open("a") as file:
        file.writelines(f"Requires-Dist: {line}\n" for line in lines)
        file.write("\nRequires-Dist: in-the-description\n")


def test_what_no_record_and_no_folder_names_is_lacking(tmp_path: Path) -> None:
    site, other, added = tmp_path / "site", tmp_path / "other", tmp_path / "added"
    require(
        install(site, "flashinfer_python", "0.7.2"),
        *("torch", "numpy>=1.2; python_version > '3'", "Nvidia_ML.py (>=12)", "einops", "ninja", "tqdm", "copied-only"),
        *("one-module", "elsewhere", "rich; extra == 'cli'"),
    )
    require(install(site, "click", "8"), "nobody-asks")
    install(site, "nvidia_ml_py", "13")
    (site / "einops-0.8-py3.12.egg-info").mkdir()
    (site / "copied_only").mkdir()
    (site / "one_module.py").write_text("")
    install(other, "ninja", "1.13")
    (added / "elsewhere").mkdir(parents=True)
    assert lacking(site, other, environment={"PYTHONPATH": f"{added}:{tmp_path}/none"}) == {
        "flashinfer-python 0.7.2": ("torch", "numpy>=1.2; python_version > '3'", "tqdm")
    }
    assert lacking(other) == {}


def test_metadata_that_cannot_be_read_lacks_nothing(tmp_path: Path) -> None:
    (install(tmp_path, "torch", "2.9.1") / "METADATA").unlink()
    assert lacking(tmp_path) == {}


def test_where_another_folder_may_hold_it_nothing_is_known(tmp_path: Path) -> None:
    made = context(site_packages=(tmp_path / "missing",))
    found = read_lacking(made, Distributions.read(made.files, made.site_packages))
    assert isinstance(found, Unknown)
    assert "missing" in found.reason
