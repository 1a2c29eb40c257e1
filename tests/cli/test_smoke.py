"""``sm120kit smoke``: it exits like the doctor, writes what it is asked for, and proves what is there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from tests.builders import named, toolkit
from tests.cli.conftest import Command, Saved
from tests.image_archives import docker_save, file, tar
from tests.programs import require_program
from tests.tiny_toolkit import make_tiny_toolkit

BROKEN = named(toolkits=(toolkit(cccl=None),))
FORMATS = ("text", "json", "junit", "markdown")


@pytest.mark.parametrize("fail_on", ["error", "warning", "unknown", "never"])
def test_static_exits_like_the_doctor(fail_on: str, sm120kit: Command, saved: Saved) -> None:
    for taken in (named(), BROKEN):
        path = saved(taken)
        for form in FORMATS:
            options = ("--snapshot", path, "--fail-on", fail_on, "--format", form)
            answer = sm120kit("smoke", *options)
            assert answer.err == ""
            assert answer.code == sm120kit("doctor", *options).code
            assert answer.out


def test_json_is_a_format(sm120kit: Command, saved: Saved) -> None:
    path = saved(BROKEN)
    assert json.loads(sm120kit("smoke", "--snapshot", path, "--json").out)["schema"] == "sm120kit.smoke/1"
    assert sm120kit("smoke", "--snapshot", path, "--json", "--format", "junit").code == 2


def test_the_report_goes_to_a_file_and_nothing_to_stdout(sm120kit: Command, saved: Saved, tmp_path: Path) -> None:
    answer = sm120kit("smoke", "--snapshot", saved(BROKEN), "--format", "junit", "-o", str(tmp_path / "smoke.xml"))
    assert (answer.code, answer.out, answer.err) == (1, "", "")
    assert fromstring((tmp_path / "smoke.xml").read_bytes())[0].get("name") == "sm120kit doctor"


def test_the_summary_of_github_is_appended_to(
    sm120kit: Command, saved: Saved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    answer = sm120kit("smoke", "--snapshot", saved(BROKEN), "--format", "json")
    assert (answer.code, answer.err) == (1, "")
    json.loads(answer.out)
    assert summary.read_text().startswith("before\n# sm120kit smoke\n")
    assert "| static | **failed** |" in summary.read_text()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "no" / "folder"))
    answer = sm120kit("smoke", "--snapshot", saved(named()))
    assert answer.code == 0
    assert "the summary was not written" in answer.err


def test_an_image_archive(sm120kit: Command, tmp_path: Path) -> None:
    path = docker_save(tmp_path / "i.tar", tar(file("etc/os-release", "PRETTY_NAME=Test\n")))
    answer = sm120kit("smoke", "--image-archive", str(path), "--gpu", "rtx-5090", "--format", "json")
    data = json.loads(answer.out)
    assert (answer.code, data["outcome"]) == (1, "failed"), "a build that copied nothing is no good image"
    assert "nothing to judge was found" in data["steps"][0]["reason"]
    lenient = sm120kit(
        "smoke", "--image-archive", str(path), "--gpu", "rtx-5090", "--fail-on", "never", "--format", "json"
    )
    assert (lenient.code, json.loads(lenient.out)["outcome"]) == (0, "unknown")


@pytest.mark.parametrize("option", ["--root", "--image-archive", "--snapshot"])
def test_nothing_is_proved_in_an_image(option: str, sm120kit: Command, tmp_path: Path) -> None:
    answer = sm120kit("smoke", "--level", "prove", option, str(tmp_path))
    assert answer.code == 2
    assert "--level prove runs the target's programs" in answer.err


def test_prove_where_nothing_takes_a_toolkit(sm120kit: Command, tmp_path: Path) -> None:
    answer = sm120kit("smoke", "--level", "prove", "--site-packages", str(tmp_path), "--no-system-toolkits",
                      "--format", "json", "--gpu", "rtx-5090")  # fmt: skip
    data = json.loads(answer.out)
    assert (answer.code, data["outcome"], [step["outcome"] for step in data["steps"]]) == (
        1, "failed", ["failed", "failed"],
    )  # fmt: skip
    again = sm120kit("smoke", "--level", "prove", "--site-packages", str(tmp_path), "--no-system-toolkits",
                     "--fail-on", "never", "--gpu", "rtx-5090")  # fmt: skip
    assert again.code == 0


def test_a_broken_toolkit_fails_and_its_repair_passes(sm120kit: Command, tmp_path: Path) -> None:
    """static and prove, before and after ``fix --apply``, for an nvcc of a few lines."""
    require_program("gcc", "g++", "as")
    made = make_tiny_toolkit(tmp_path)
    (tmp_path / "env").write_text(f"PATH={os.environ['PATH']}\n")
    target = ("--site-packages", str(made.site_packages), "--no-system-toolkits", "--gpu", "rtx-5090",
              "--cuda-home", str(made.cuda_home), "--env-file", str(tmp_path / "env"),
              "--data-dir", str(tmp_path / "data"))  # fmt: skip
    broken = sm120kit("smoke", "--level", "prove", "--format", "json", *target)
    assert broken.code == 1, broken.err
    assert [step["outcome"] for step in json.loads(broken.out)["steps"]] == ["failed", "failed"]
    assert sm120kit("smoke", *target).code == 1
    fixed = sm120kit("fix", "--apply", "--json", *target)
    assert fixed.code == 0, fixed.out
    unused = sm120kit("smoke", *target)
    assert unused.code == 1
    assert "repair.view-not-used" in unused.out
    assert sm120kit("env", "--shell", "systemd", "-o", str(tmp_path / "env"), *target).code == 0
    view = json.loads(fixed.out)["plan"]["current"]
    in_use = [view if word == str(made.cuda_home) else word for word in target]
    assert sm120kit("smoke", *in_use).code == 0
    repaired = sm120kit("smoke", "--level", "prove", "--format", "json", *in_use)
    data = json.loads(repaired.out)
    assert [step["outcome"] for step in data["steps"]] == ["passed", "passed"], data["steps"]
    assert repaired.code == 0
    assert all(step["seconds"] > 0 for step in data["steps"])
    assert data["proofs"][0]["cuda_home"].startswith(str(tmp_path / "data"))


@pytest.mark.parametrize("kind", ["github", "gitlab", "dockerfile"])
def test_files_for_ci(kind: str, sm120kit: Command, tmp_path: Path) -> None:
    hardware = ("--gpu", "rtx-5090x2", "--driver", "590.44")
    answer = sm120kit("smoke", "--render", kind, *hardware, "-o", str(tmp_path / "it"))
    assert (answer.code, answer.out) == (0, "")
    assert "--gpu" not in answer.err
    assert "--driver" not in answer.err
    assert "sm120kit: assumed no --driver: " in sm120kit("smoke", "--render", kind, "--gpu", "rtx-5090").err
    assert "--gpu rtx-5090x2" in (tmp_path / "it").read_text()
    assert sm120kit("smoke", "--render", kind, "--gpu", "voodoo").code == 2
    assert sm120kit("smoke", "--image", "x").code == 2


def test_what_a_ci_job_installs_can_be_named(sm120kit: Command) -> None:
    source = "git+https://git.example.com/me/sm120kit@v1"
    answer = sm120kit("smoke", "--render", "gitlab", "--requirement", source)
    assert answer.code == 0
    assert f"    SM120KIT: {source}\n" in answer.out
    assert "SM120KIT" not in answer.err
    for refused in (("--render", "gitlab", "--requirement", "x; rm -r /"), ("--requirement", source)):
        answer = sm120kit("smoke", *refused)
        assert (answer.code, answer.out) == (2, "")
        assert "--requirement" in answer.err


def test_an_image_in_oci_layout_is_no_unpacked_one(sm120kit: Command, tmp_path: Path) -> None:
    (tmp_path / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    answer = sm120kit("smoke", "--root", str(tmp_path), "--gpu", "rtx-5090")
    assert answer.code == 4
    assert "in OCI layout" in answer.err
    assert f"tar -C {tmp_path} -cf image.tar ." in answer.err
