"""nvcc.profile: every expectation below was printed by a real ``nvcc -dryrun`` (13.0.88 and 13.5.37)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sm120kit.snapshot.files import Files
from sm120kit.snapshot.nvcc_profile import evaluate, paths_without_profile, search_paths, target_dir
from tests.snapshot.toolkit_trees import PROFILE_130, PROFILE_132, PROFILE_CONDA, PROFILE_DEBIAN

ELF_HEAD = b"\x7fELF" + bytes(14)


def test_operators_set_prepend_append_and_set_if_unset() -> None:
    text = "A = one\nA += two\nA =+ zero\nB ?= first\nB ?= second\nC = $(UNDEFINED)x$(GIVEN)\nGIVEN += added\n"
    assert evaluate(text, "/h/bin", "", {"GIVEN": "envv"}) == {
        "A": "twoonezero",
        "B": "first",
        "C": "xenvv",
        "GIVEN": "addedenvv",
    }


def test_conditional_assignment_yields_to_the_environment() -> None:
    assert evaluate("INCLUDES ?= -Iinc\n", "/h/bin", "", {"INCLUDES": "-Ienv"}) == {}


def test_a_comment_begins_only_at_a_line_start() -> None:
    assert evaluate("# A = 1\n  # B = 2\nC = x # y\r\n", "/h/bin", "", {}) == {"C": "x # y"}


@pytest.mark.parametrize("line", ["garbage", "B := 3"])
def test_reading_ends_at_the_first_line_that_is_no_assignment(line: str) -> None:
    assert evaluate(f"A = 1\n{line}\nC = 4\n", "/h/bin", "", {}) == {"A": "1"}


def test_references_that_grow_without_end_are_cut_short() -> None:
    text = "A = xxxxxxxx\n" + "A = $(A)$(A)\n" * 200
    assert len(evaluate(text, "/h/bin", "", {})["A"]) <= 64 << 10


@pytest.mark.parametrize(
    ("text", "target", "include", "libraries"),
    [
        (PROFILE_130, "", ("/h/include", "/h/include/cccl"), ("/h/lib64/stubs", "/h/lib64")),
        (
            PROFILE_130,
            "targets/x86_64-linux",
            ("/h/targets/x86_64-linux/include", "/h/targets/x86_64-linux/include/cccl"),
            ("/h/targets/x86_64-linux/lib/stubs", "/h/targets/x86_64-linux/lib"),
        ),
        (PROFILE_132, "targets/x86_64-linux", ("/h/include", "/h/include/cccl"), ("/h/lib/stubs", "/h/lib")),
        (
            PROFILE_CONDA,
            "targets/sbsa-linux",
            ("/h/targets/sbsa-linux/include",),
            ("/h/targets/sbsa-linux/lib/stubs", "/h/targets/sbsa-linux/lib"),
        ),
        (PROFILE_DEBIAN, "", (), ("/usr/lib/x86_64-linux-gnu/stubs", "/usr/lib/x86_64-linux-gnu")),
    ],
)
def test_search_paths_of_real_profiles(
    text: str, target: str, include: tuple[str, ...], libraries: tuple[str, ...]
) -> None:
    paths = search_paths(Files(), text, "/h/bin", target, {})
    assert paths.include_dirs == include
    assert paths.library_dirs == libraries


def test_programs_and_libdevice() -> None:
    ours = search_paths(Files(), PROFILE_130, "/h/bin", "", {"PATH": "/usr/bin"})
    assert ours.program_dirs == ("/h/nvvm/bin", "/h/bin")
    assert ours.libdevice_dir == "/h/nvvm/libdevice"
    conda = search_paths(Files(), PROFILE_CONDA, "/h/bin", "targets/x86_64-linux", {})
    assert "/h/nvvm/bin" in conda.program_dirs
    assert conda.libdevice_dir == "/h/targets/x86_64-linux/nvvm/libdevice"


def test_flags_and_paths_of_the_environment_come_in_the_order_of_the_real_command_line() -> None:
    environment = {
        "NVCC_PREPEND_FLAGS": "-isystem /prepended-system -I/prepended",
        "NVCC_APPEND_FLAGS": "-I /appended,/two --include-path=/three -isystem=/appended-system",
        "CPATH": "/cpath:relative:",
        "CPLUS_INCLUDE_PATH": "/last",
        "INCLUDES": "-I/behind",
    }
    assert search_paths(Files(), PROFILE_132, "/h/bin", "", environment).include_dirs == (
        "/prepended",
        "/appended",
        "/two",
        "/three",
        "/h/include",
        "/behind",
        "/cpath",
        "/prepended-system",
        "/appended-system",
        "/h/include/cccl",
        "/last",
    )


def test_spaces_in_a_path_and_an_open_quote() -> None:
    assert search_paths(Files(), PROFILE_132, "/h h/bin", "", {}).include_dirs == ("/h h/include", "/h h/include/cccl")
    assert search_paths(Files(), 'INCLUDES = "-I/open -I/other', "/h/bin", "", {}).include_dirs == ("/other",)


def test_without_a_profile_nvcc_adds_nothing_of_its_own() -> None:
    paths = paths_without_profile(Files(), "/h/bin", {"NVCC_PREPEND_FLAGS": "-I/mine"})
    assert (paths.include_dirs, paths.library_dirs) == (("/mine",), ())


def test_two_dots_behind_a_link_lead_where_the_kernel_goes(tmp_path: Path) -> None:
    (tmp_path / "real/bin").mkdir(parents=True)
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow/bin").symlink_to(tmp_path / "real/bin")
    paths = search_paths(Files(), PROFILE_132, f"{tmp_path}/shadow/bin", "", {})
    assert paths.include_dirs[0] == f"{tmp_path}/real/include"


@pytest.mark.parametrize(
    ("machine", "folders", "expected"),
    [
        (62, ["sbsa-linux"], "targets/x86_64-linux"),
        (183, ["sbsa-linux", "aarch64-linux"], "targets/sbsa-linux"),
        (183, ["aarch64-linux", "x86_64-linux"], "targets/aarch64-linux"),
        (0, ["sbsa-linux"], "targets/sbsa-linux"),
        (62, [], ""),
    ],
)
def test_target_dir_is_named_by_the_architecture_of_nvcc(
    tmp_path: Path, machine: int, folders: list[str], expected: str
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/nvcc").write_bytes(ELF_HEAD + machine.to_bytes(2, "little"))
    for folder in folders:
        (tmp_path / "targets" / folder).mkdir(parents=True)
    assert target_dir(Files(), str(tmp_path)) == expected
