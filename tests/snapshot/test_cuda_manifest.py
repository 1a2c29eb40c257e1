from __future__ import annotations

import json
from pathlib import Path

import pytest

from sm120kit.snapshot.cuda_manifest import read_manifest
from sm120kit.snapshot.files import Files
from tests.snapshot.toolkit_trees import write


def versions(home: Path) -> dict[str, str]:
    return {part: known.value for part, known in read_manifest(Files(), str(home), str(home)).items()}


def test_version_json_of_13_tells_crt_and_nvvm_apart(tmp_path: Path) -> None:
    entries = {"cuda_nvcc": "13.2.86", "cuda_crt": "13.2.87", "libnvvm": "13.2.88", "cuda_cudart": "13.2.75"}
    write(tmp_path, {"version.json": json.dumps({key: {"name": key, "version": at} for key, at in entries.items()})})
    found = versions(tmp_path)
    assert (found["nvcc"], found["ptxas"], found["crt"], found["cicc"]) == ("13.2.86", "13.2.86", "13.2.87", "13.2.88")
    assert (found["libcudart"], found["runtime-headers"]) == ("13.2.75", "13.2.75")
    assert "nvrtc" not in found


def test_version_json_of_12_has_them_in_cuda_nvcc(tmp_path: Path) -> None:
    write(tmp_path, {"version.json": '{"cuda": {"version": "12.6.20241114"}, "cuda_nvcc": {"version": "12.6.85"}}'})
    found = versions(tmp_path)
    assert (found["crt"], found["cicc"], found["libdevice"]) == ("12.6.85", "12.6.85", "12.6.85")
    assert "libcudart" not in found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "null",
        '{"cuda_nvcc": 1}',
        '{"cuda_nvcc": {"version": 13}}',
        '{"cuda_nvcc": {"version": "new"}}',
        '{"cuda_nvcc": {"version": "' + "1." * 50_000 + '1"}}',
        "[" * 100_000,
        "\ud800",
    ],
)
def test_a_version_json_that_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "version.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert versions(tmp_path) == {}


def test_conda_meta_tells_by_its_file_names(tmp_path: Path) -> None:
    names = [
        "cuda-nvcc-tools-12.9.86-he02047a_1.json",
        "cuda-nvvm-tools-12.9.86-h4bc722e_1.json",
        "cuda-crt-dev_linux-64-12.9.86-ha770c72_1.json",
        "cuda-cudart-dev_linux-64-12.9.79-h3f2d84a_0.json",
        "cuda-cudart_linux-64-12.9.79-h3f2d84a_0.json",
        "cuda-nvrtc-12.9.86-h5888daf_0.json",
        "cuda-version-12.9-h4f385c5_3.json",
        "cuda-broken.json",
        "history",
    ]
    write(tmp_path, dict.fromkeys((f"conda-meta/{name}" for name in names), "{}"))
    found = versions(tmp_path)
    assert found["nvcc"] == found["cicc"] == found["crt"] == found["nvrtc"] == "12.9.86"
    assert found["libcudart"] == found["libcudart-static"] == "12.9.79"
