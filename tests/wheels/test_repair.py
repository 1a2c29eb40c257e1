"""Real wheels, broken: each is cured by ``fix --apply``, or answered by the exact packages and cured with them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pictures import Picture, picture
from tests.programs import require_program
from tests.wheels.kit import Kit, install, kit_for, packages_in
from tests.wheels.test_broken_trees import EXPECTED, NEW_FLASHINFER, OLD_FLASHINFER
from tests.wheels.trees import TOOLKIT_WHEELS
from tests.wheels.variants import BROKEN, HEALTHY, Made, make

pytestmark = pytest.mark.wheels

WHEELS_130 = TOOLKIT_WHEELS["13.0"]

PACKAGES = {
    "no_cccl": [WHEELS_130["cccl"]],
    "hdr_newer": [WHEELS_130["runtime"]],
    "hdr_older": [TOOLKIT_WHEELS["13.2"]["runtime"]],
    "crt_newer": [WHEELS_130["crt"]],
    "crt_older": [TOOLKIT_WHEELS["13.2"]["crt"]],
    "nvvm_newer": [WHEELS_130["nvvm"]],
    "nvvm_older": [TOOLKIT_WHEELS["13.2"]["nvvm"]],
    "natural": list(TOOLKIT_WHEELS["13.5"].values()),
    "no_crt": [WHEELS_130["crt"]],
    "no_nvvm": [WHEELS_130["nvvm"]],
    "no_runtime": [WHEELS_130["runtime"]],
}
"""What makes the variant whole where nothing else on disk does. ``natural`` has more of 13.5 than of 13.0."""


@pytest.fixture(autouse=True)
def _compiler() -> None:
    require_program("gcc", "c++")


def written(kit: Kit) -> tuple[Picture, Picture]:
    """All that a repair makes and undo must take away."""
    return picture(kit.data_dir / "targets"), picture(kit.data_dir / "toolkits")


@pytest.mark.parametrize("beside", [(), (OLD_FLASHINFER,)], ids=["named", "FlashInfer 0.6.7"])
@pytest.mark.parametrize("name", BROKEN)
def test_named_cured_and_taken_back(name: str, beside: tuple[str, ...], tmp_path: Path) -> None:
    with make(BROKEN[name], *beside) as made:
        kit = kit_for(made, tmp_path, named=not beside)
        assert kit.smoke() == (1, {"static": "failed", "prove": "failed"})
        plan = kit.fix("--json")
        assert plan.code == 1
        found = {each["check"] for each in plan.data["before"] if each["severity"] == "error"}
        assert found == EXPECTED[name].all
        if name in PACKAGES:
            refused_for_want_of(PACKAGES[name], kit, made, tmp_path)
        cured(kit, made)


def refused_for_want_of(packages: list[str], kit: Kit, made: Made, scratch: Path) -> None:
    """``fix --apply`` names exactly these and writes nothing; then they are installed."""
    tree, beside = picture(made.site_packages), picture(scratch)
    answer = kit.fix("--apply", "--json")
    assert answer.code == 1, answer.out
    assert packages_in(answer.data["plan"]["packages"]) == packages
    assert answer.data["plan"]["blocked"]
    assert answer.data["plan"]["steps"] == []
    assert picture(made.site_packages) == tree
    assert written(kit) == ({}, {})
    assert {path for path in picture(scratch) if not path.startswith(("cache", "data"))} == {
        path for path in beside if not path.startswith(("cache", "data"))
    }
    text = kit.fix("--apply").out
    assert all(package in text or "cuda-toolkit[nvcc,cccl]==" in text for package in packages)
    for package in packages:
        install(made.site_packages, package)


def cured(kit: Kit, made: Made) -> None:
    """Applied and proved; a second ``fix`` is empty; ``undo`` leaves nothing; the tree is never touched."""
    tree, before = picture(made.site_packages), written(kit)
    answer = kit.fix("--apply", "--json")
    assert answer.code == 0, answer.err or answer.out[-2000:]
    report = answer.data
    assert all(each["severity"] != "error" for each in report["after"])
    if report["applied"]:
        current = report["plan"]["current"]
        assert (Path(current) / "bin/nvcc").is_file()
        assert f"{current}\n" in in_a_shell(report["env_script"], "echo $CUDA_HOME; echo $LD_LIBRARY_PATH")
    assert all(proof["outcome"] != "failed" for proof in kit.prove().values())
    used = kit.using(report["plan"]["current"]) if report["applied"] else kit.target
    assert kit.smoke(*used) == (0, {"static": "passed", "prove": "passed"})
    again = kit.fix("--apply", "--json")
    assert (again.code, again.data["plan"]["steps"], again.data["applied"]) == (0, [], 0)
    assert picture(made.site_packages) == tree
    if report["applied"]:
        undone = kit.run("undo")
        assert undone.code == 0, undone.err
        assert written(kit) == before
        assert picture(made.site_packages) == tree


def in_a_shell(script: str, command: str) -> str:
    """What ``command`` prints in a plain sh that has sourced the env script."""
    done = subprocess.run(
        ["sh", "-euc", f'. "$1"; set +u; {command}', "sh", script],
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
    )
    assert done.stderr == ""
    return done.stdout


def test_the_cccl_that_flashinfer_brings_is_taken_whole(tmp_path: Path) -> None:
    with make(BROKEN["natural"], NEW_FLASHINFER) as made:
        for part in ("crt", "nvvm", "runtime"):
            install(made.site_packages, WHEELS_130[part])
        kit = kit_for(made, tmp_path, named=False)
        answer = kit.fix("--apply", "--json")
        assert answer.code == 0, answer.err or answer.out[-2000:]
        view = Path(answer.data["plan"]["view"])
        cccl = made.site_packages / "flashinfer/data/cccl"
        assert {name: os.readlink(view / "include/cccl" / name) for name in ("nv", "cuda", "cub", "thrust")} == {
            "nv": f"{cccl}/libcudacxx/include/nv",
            "cuda": f"{cccl}/libcudacxx/include/cuda",
            "cub": f"{cccl}/cub/cub",
            "thrust": f"{cccl}/thrust/thrust",
        }
        assert all(proof["outcome"] != "failed" for proof in kit.prove("--cuda-home", str(made.cuda_home)).values())


@pytest.fixture
def two_targets(tmp_path: Path) -> Iterator[tuple[Made, Kit, Made, Kit]]:
    """Two broken environments that share a data folder."""
    with make(BROKEN["pure"]) as first, make(BROKEN["no_devlink"]) as second:
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
        one, two = kit_for(first, tmp_path / "first"), kit_for(second, tmp_path / "second")
        shared = tmp_path / "data"
        yield first, Kit(shared, one.target, one.environment), second, Kit(shared, two.target, two.environment)


def test_two_targets_never_share_what_is_live(two_targets: tuple[Made, Kit, Made, Kit]) -> None:
    first, one, _, two = two_targets
    currents = [kit.fix("--apply", "--json").data["plan"]["current"] for kit in (one, two)]
    assert len(set(currents)) == 2
    before = os.readlink(currents[1]), picture(Path(currents[1]).resolve()), Path(currents[1]).lstat().st_ino
    # An upgrade of one environment, which its next repair follows.
    for wheel in TOOLKIT_WHEELS["13.2"].values():
        install(first.site_packages, wheel)
    again = one.fix("--apply", "--json")
    assert again.code == 0, again.out + again.err
    assert again.data["applied"] == 3
    assert again.data["plan"]["cures"][0]["check"] == "repair.view-stale"
    assert {"release 13.2"} <= {choice["why"][:12] for choice in again.data["plan"]["choices"]}
    assert (os.readlink(currents[1]), picture(Path(currents[1]).resolve()), Path(currents[1]).lstat().st_ino) == before
    assert two.fix("--json").data["plan"]["steps"] == []
    # Undone one after the other, newest first: each gets back what it had.
    for _ in range(3):
        assert one.run("undo").code == 0
    assert written(one) == ({}, {})


IN_PLACE = ("pure", "no_lib64", "no_devlink", "no_stub")


@pytest.mark.parametrize("name", [*IN_PLACE, "no_cccl"])
def test_in_place_adds_what_is_missing_and_nothing_else(name: str, tmp_path: Path) -> None:
    recipe = BROKEN[name]
    beside = (NEW_FLASHINFER,) if name == "no_cccl" else ()
    with make(recipe, *beside) as made:
        kit = kit_for(made, tmp_path)
        assert any(proof["outcome"] == "failed" for proof in kit.prove().values())
        before = picture(made.site_packages)
        answer = kit.fix("--apply", "--in-place", "--json")
        assert answer.code == 0, answer.err or answer.out[-2000:]
        after = picture(made.site_packages)
        assert {path: state for path, state in after.items() if path in before} == before
        assert set(after) - set(before)
        assert all(path.startswith("nvidia/cu13/") for path in set(after) - set(before))
        assert all(proof["outcome"] != "failed" for proof in kit.prove().values())
        assert kit.fix("--in-place", "--json").data["plan"]["steps"] == []
        assert kit.run("undo").code == 0
        assert picture(made.site_packages) == before


@pytest.mark.parametrize("name", ["overlay_13.0", "overlay_13.5"])
def test_in_place_refuses_an_overlay(name: str, tmp_path: Path) -> None:
    with make(BROKEN[name]) as made:
        kit = kit_for(made, tmp_path)
        before = picture(made.site_packages)
        for way in (("--apply",), ()):
            answer = kit.fix("--in-place", *way)
            assert answer.code == 1
            assert "two CCCL versions" in answer.err
            assert "without --in-place" in answer.err
        assert picture(made.site_packages) == before
        assert written(kit) == ({}, {})


@pytest.mark.parametrize("name", ["hdr_newer", "nvvm_older", "no_crt"])
def test_in_place_says_what_it_cannot_do(name: str, tmp_path: Path) -> None:
    with make(BROKEN[name]) as made:
        kit = kit_for(made, tmp_path)
        before = picture(made.site_packages)
        answer = kit.fix("--in-place", "--apply", "--json")
        assert answer.code == 1
        assert packages_in(answer.data["plan"]["packages"]) == PACKAGES[name]
        assert picture(made.site_packages) == before


@pytest.mark.parametrize("release", HEALTHY)
def test_nothing_to_do_for_a_healthy_toolkit(release: str, tmp_path: Path) -> None:
    with make(HEALTHY[release]) as made:
        answer = kit_for(made, tmp_path).fix("--apply", "--json")
        assert (answer.code, answer.data["plan"]["steps"]) == (0, [])
        assert not (tmp_path / "data/toolkits").exists() or not any((tmp_path / "data/toolkits").iterdir())
