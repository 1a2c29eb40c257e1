"""``--image-archive``: the same report as of the unpacked root, from archives of both layouts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.image_archives import docker_save, gzipped, oci_layout, tar_of
from tests.programs import require_program
from tests.snapshot.image import SITE, Image
from tests.snapshot.shared_libraries import library
from tests.tiny_toolkit import make_tiny_toolkit

ENVIRONMENT = {"PATH": "/venv/bin:/usr/bin:/bin", "CUDA_HOME": f"{SITE}/nvidia/cu13", "HOME": "/root"}
Write = Callable[..., Path]


def broken_root(folder: Path) -> Path:
    """A virtual environment with torch, a toolkit of wheels as pip leaves it, and kernels built for another CUDA."""
    require_program("gcc")
    image = Image(folder / "root")
    image.install_torch()
    image.install("sglang-kernel", "0.4.10")
    kernels = image.root / SITE[1:] / "sgl_kernel/sm100"
    library(kernels / "common_ops.abi3.so", takes=["some_symbol"], needs=["libcudart.so.12"])
    shutil.rmtree(kernels / "link")
    made = make_tiny_toolkit(folder / "laid")
    for path in sorted(made.site_packages.rglob("*")):
        if path.is_file():
            place = f"{SITE}/{path.relative_to(made.site_packages)}"
            image.file(place, path.read_bytes(), path.stat().st_mode & 0o777)
    image.program("/usr/bin/python3.12")
    image.program("/bin/sh", b"\x7fELF\2\1\1" + bytes(11) + b"\x3e\0")
    image.link("/venv/bin/python3", "/usr/bin/python3.12")
    image.file("/venv/pyvenv.cfg", "home = /usr/bin\n")
    image.file("/etc/os-release", "PRETTY_NAME='Test 1'\n")
    image.file("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
    return image.root


def told(report: Any) -> Any:
    """What a report says, the sentence about the target left out."""
    return {key: value for key, value in report.items() if key != "target"}


@pytest.mark.parametrize("write", [docker_save, oci_layout])
def test_as_from_the_unpacked_root(write: Write, sm120kit: Command, tmp_path: Path) -> None:
    root = broken_root(tmp_path)
    (tmp_path / "env").write_text("".join(f"{name}={value}\n" for name, value in ENVIRONMENT.items()))
    asked = ("--json", "-v", "--gpu", "rtx-5090", "--cuda-home", ENVIRONMENT["CUDA_HOME"])
    unpacked = sm120kit("doctor", *asked, "--root", str(root), "--env-file", str(tmp_path / "env"))
    assert unpacked.code == 1
    path = write(
        tmp_path / "i.tar", *tar_of(root), environment=[f"{name}={value}" for name, value in ENVIRONMENT.items()],
        stored=gzipped,
    )  # fmt: skip
    answer = sm120kit("doctor", *asked, "--image-archive", str(path))
    assert (answer.code, answer.err) == (1, "")
    was, now = json.loads(unpacked.out), json.loads(answer.out)
    assert told(now) | {"looked_at": 0} == told(was) | {"looked_at": 0}
    assert {finding["check"] for finding in now["findings"]} >= {
        "toolkit.cudart-unlinkable",
        "wheels.kernel-package-wrong-cuda",
    }
    rows = {row["label"]: row for row in now["looked_at"][0]["facts"]}
    assert rows["image archive"]["value"] == str(path)
    assert now["target"].startswith(f"{path} (named by --image-archive: ")
    assert "linux/amd64" in now["target"]


def test_a_file_of_variables_comes_on_top(sm120kit: Command, tmp_path: Path) -> None:
    path = docker_save(tmp_path / "i.tar", *tar_of(broken_root(tmp_path)), environment=["CUDA_HOME=/a", "TMPDIR=/b"])
    (tmp_path / "env").write_text("CUDA_HOME=/c\n")
    answer = sm120kit("snapshot", "--image-archive", str(path), "--env-file", str(tmp_path / "env"))
    taken = json.loads(answer.out)
    target, variables = taken["target"], taken["environment"]
    assert (variables["CUDA_HOME"], variables["TMPDIR"], variables["HOME"]) == ("/c", "/b", "/root")
    assert target["environment"].startswith("the image's own (Env of its configuration), with --env-file")
    assert not target["live"]


@pytest.mark.parametrize("command", ["fix", "prove", "run"])
def test_commands_that_run_something_refuse_it(command: str, sm120kit: Command, tmp_path: Path) -> None:
    path = docker_save(tmp_path / "i.tar", *tar_of(broken_root(tmp_path)))
    words = ["--", "true"] if command == "run" else []
    answer = sm120kit(command, "--image-archive", str(path), *words)
    assert answer.code == 2
    assert "--image-archive does not go with this command" in answer.err


@pytest.mark.parametrize("other", [("--root", "/x"), ("--pid", "1")])
def test_what_it_does_not_go_with(other: tuple[str, str], sm120kit: Command, tmp_path: Path) -> None:
    path = docker_save(tmp_path / "i.tar", *tar_of(broken_root(tmp_path)))
    answer = sm120kit("doctor", "--image-archive", str(path), *other)
    assert answer.code == 2
    assert "contradict each other" in answer.err


def test_a_broken_archive_is_one_line(sm120kit: Command, tmp_path: Path) -> None:
    (tmp_path / "i.tar").write_bytes(b"nothing")
    answer = sm120kit("doctor", "--image-archive", str(tmp_path / "i.tar"))
    assert (answer.code, answer.out) == (4, "")
    assert answer.err.startswith(f"sm120kit: the image archive {tmp_path}/i.tar cannot be read: ")


def test_the_environment_of_an_image(sm120kit: Command, tmp_path: Path) -> None:
    path = docker_save(tmp_path / "i.tar", *tar_of(broken_root(tmp_path)), environment=["CUDA_HOME=/usr/local/cuda"])
    answer = sm120kit("env", "--shell", "docker", "--image-archive", str(path), "--gpu", "rtx-5090")
    assert answer.code == 0
    assert "ENV" in answer.out


def test_a_snapshot_of_an_image_is_compared_with_the_image_now(sm120kit: Command, tmp_path: Path) -> None:
    root = broken_root(tmp_path)
    path = docker_save(tmp_path / "i.tar", *tar_of(root))
    assert sm120kit("snapshot", "--image-archive", str(path), "-o", str(tmp_path / "old.json")).code == 0
    Image(root).install("sglang", "0.5.12")
    docker_save(path, *tar_of(root))
    answer = sm120kit("diff", str(tmp_path / "old.json"), "--json")
    assert answer.code in (0, 1)
    assert "sglang" in answer.out
