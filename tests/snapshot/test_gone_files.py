"""Files that a RECORD lists and that are gone, over trees of tiny files."""

from __future__ import annotations

from pathlib import Path

import pytest

from sm120kit.snapshot.types.toolkits import GoneFile
from tests.snapshot.toolkit_trees import WHEEL_FILES, context, only, toolkits_of, wheel_tree

WHEELS = {
    **WHEEL_FILES,
    "nvidia_cuda_runtime-13.0.96": {
        **WHEEL_FILES["nvidia_cuda_runtime-13.0.96"],
        "include/cuda_fp16.h": "",
        "include/cuda_pipeline.h": "",
    },
    "nvidia_cuda_crt-13.0.88": {**WHEEL_FILES["nvidia_cuda_crt-13.0.88"], "include/crt/host_defines.h": ""},
}


def gone(site: Path, *, deep: bool = False) -> tuple[GoneFile, ...]:
    return only(toolkits_of(context(site_packages=[site], deep=deep))).gone_files


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("include/cuda_fp16.h", "nvidia-cuda-runtime 13.0.96"),
        ("include/crt/host_defines.h", "nvidia-cuda-crt 13.0.88"),
    ],
)
def test_a_header_that_every_compile_reads_is_always_missed(tmp_path: Path, name: str, owner: str) -> None:
    home = wheel_tree(tmp_path, WHEELS)
    assert gone(tmp_path) == gone(tmp_path, deep=True) == ()
    (home / name).unlink()
    assert gone(tmp_path) == gone(tmp_path, deep=True) == (GoneFile(str(home / name), owner, True),)


def test_any_other_file_is_missed_with_deep_alone(tmp_path: Path) -> None:
    home = wheel_tree(tmp_path, WHEELS)
    (home / "include/cuda_pipeline.h").unlink()
    assert gone(tmp_path) == ()
    assert gone(tmp_path, deep=True) == (
        GoneFile(str(home / "include/cuda_pipeline.h"), "nvidia-cuda-runtime 13.0.96"),
    )


def test_a_header_that_no_wheel_listed_is_not_gone(tmp_path: Path) -> None:
    wheel_tree(tmp_path)
    assert gone(tmp_path, deep=True) == ()
