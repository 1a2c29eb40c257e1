from __future__ import annotations

from pathlib import Path

import pytest

from sm120kit.snapshot.toolkit_homes import Tree, find_trees
from tests.snapshot.toolkit_trees import SITE, context, installer_tree, only, toolkits_of, wheel_tree, write


def homes(trees: tuple[Tree, ...]) -> list[str]:
    return [tree.home for tree in trees]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A root file system with two toolkits, a link to one, a wrapper and a venv with wheels."""
    installer_tree(tmp_path / "usr/local/cuda-13.0")
    installer_tree(tmp_path / "usr/local/cuda-12.8", release="12.8", number=12080, full="12.8.90")
    (tmp_path / "usr/local/cuda").symlink_to("cuda-13.0")
    write(tmp_path, {"usr/local/bin/nvcc": '#!/bin/sh\nexec /usr/local/cuda-13.0/bin/nvcc "$@"\n'})
    write(tmp_path, {"usr/local/cuda-keyring/readme": "", "usr/local/cuda-notes.txt": ""})
    wheel_tree(tmp_path / SITE)
    return tmp_path


def test_a_link_and_a_wrapper_are_other_names_of_one_tree(image: Path) -> None:
    trees = find_trees(
        context(root=image, system_toolkits=True, environment={"PATH": "/usr/local/bin:/usr/bin"}),
        {"/usr/local": "nvcc on PATH", "/usr/local/cuda": "/usr/local/cuda"},
    )
    assert homes(trees) == ["/usr/local/cuda-13.0", "/usr/local/cuda-12.8"]
    assert set(trees[0].aliases) == {"/usr/local", "/usr/local/cuda"}
    assert trees[0].found_via == ["nvcc on PATH", "/usr/local/cuda", "/usr/local"]


def test_the_name_that_a_person_gave_is_the_trees_name(image: Path) -> None:
    trees = find_trees(context(root=image, system_toolkits=True, cuda_home="/usr/local/cuda/"), {})
    assert (trees[0].home, trees[0].base, trees[0].root) == (
        "/usr/local/cuda",
        "/usr/local/cuda",
        "/usr/local/cuda-13.0",
    )
    assert set(trees[0].aliases) == {"/usr/local/cuda/", "/usr/local/cuda-13.0"}
    named = only(toolkits_of(context(root=image, environment={"CUDA_HOME": "/usr/local/cuda"})))
    assert (named.home, named.real_home) == ("/usr/local/cuda", "/usr/local/cuda-13.0")


def test_the_option_overrides_both_variables(image: Path) -> None:
    made = context(
        root=image,
        cuda_home="/usr/local/cuda-12.8",
        environment={"CUDA_HOME": "/usr/local/cuda-13.0", "CUDA_PATH": "/usr/local/cuda-13.0"},
    )
    assert homes(find_trees(made, {})) == ["/usr/local/cuda-12.8"]


def test_hidden_system_toolkits(image: Path) -> None:
    environment = {"PATH": "/usr/local/bin:/usr/local/cuda-12.8/bin"}
    hidden = context(root=image, site_packages=[f"/{SITE}"], environment=environment)
    found = {"/usr/local": "nvcc on PATH", "/usr/local/cuda": "/usr/local/cuda"}
    assert homes(find_trees(hidden, found)) == [f"/{SITE}/nvidia/cu13"]
    variable = {"CUDA_HOME": "/usr/local/cuda-12.8", **environment}
    named = context(root=image, site_packages=[f"/{SITE}"], environment=variable)
    assert homes(find_trees(named, found)) == ["/usr/local/cuda-12.8", f"/{SITE}/nvidia/cu13"]
    by_consumer = {"/usr/local/cuda-13.0": "FLASHINFER_NVCC"}
    assert "/usr/local/cuda-13.0" in homes(find_trees(hidden, by_consumer))


def test_a_lone_link_to_nvcc_is_a_tree_of_its_own_without_a_profile(image: Path) -> None:
    (image / "opt/x/bin").mkdir(parents=True)
    (image / "opt/x/bin/nvcc").symlink_to("/usr/local/cuda-13.0/bin/nvcc")
    toolkit = toolkits_of(context(root=image, cuda_home="/opt/x"))[0]
    assert (toolkit.home, toolkit.real_home) == ("/opt/x", "/opt/x")
    assert toolkit.has_nvcc
    assert (toolkit.include_dirs, toolkit.library_dirs) == ((), ())
    assert toolkit.part("nvcc.profile") is None
    assert toolkit.part("runtime-headers") is None


def test_a_link_in_place_of_bin_leads_to_the_tree_behind_it(image: Path) -> None:
    (image / "opt/shadow").mkdir(parents=True)
    (image / "opt/shadow/bin").symlink_to("/usr/local/cuda-13.0/bin")
    tree = only(find_trees(context(root=image, cuda_home="/opt/shadow"), {}))
    assert (tree.home, tree.base, tree.root) == ("/opt/shadow", "/usr/local/cuda-13.0", "/usr/local/cuda-13.0")


def test_a_wrapper_outside_any_bin_folder_is_followed(image: Path) -> None:
    write(image, {"home/tools/nvcc": '#!/bin/sh\nexec /usr/local/cuda-12.8/bin/nvcc "$@"\n'})
    (image / "home/tools/nvcc").chmod(0o755)
    made = context(root=image, system_toolkits=True, environment={"PATH": "/home/tools"})
    assert find_trees(made, {})[0].home == "/usr/local/cuda-12.8"


def test_wrappers_that_call_each_other_end(tmp_path: Path) -> None:
    for here, there in (("a", "b"), ("b", "a")):
        write(tmp_path, {f"{here}/bin/nvcc": f'#!/bin/sh\nexec {tmp_path}/{there}/bin/nvcc "$@"\n'})
    assert len(find_trees(context(cuda_home=tmp_path / "a"), {})) == 1


@pytest.mark.parametrize("home", ["relative/cuda", "/missing", "/a\0b", "/\udcff", "/dev/null", ""])
def test_a_home_that_cannot_be_one_is_left_out(home: str) -> None:
    assert find_trees(context(environment={"CUDA_HOME": home}), {home: "CUDA_HOME"}) == ()


def test_a_venv_reached_by_two_names_is_one_tree(tmp_path: Path) -> None:
    home = wheel_tree(tmp_path / SITE)
    (tmp_path / "alias").symlink_to(tmp_path / "venv")
    site = tmp_path / "alias/lib/python3.12/site-packages"
    made = context(site_packages=[site], environment={"PATH": f"{home}/bin"}, system_toolkits=False)
    tree = only(find_trees(made, {str(home): "CUDA_HOME"}))
    assert tree.home == f"{site}/nvidia/cu13"
    assert tree.aliases == (str(home),)
