"""An image with the real wheels in it, healthy and with planted faults: examined as an unpacked root, as an archive in
both layouts, and from inside, it gets the same verdict."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sm120kit.smoke.render import HOME, render_ci
from tests.image_archives import REFERENCE
from tests.programs import give_up
from tests.smoke.test_render import runs_and_variables
from tests.wheels.debian_root import (
    CUDA_HOME,
    ENVIRONMENT,
    SITE,
    START,
    VENV,
    clone_of,
    debian_root,
    inside,
    members_below,
    run_in,
)
from tests.wheels.trees import TOOLKIT_WHEELS, lay

pytestmark = pytest.mark.wheels

GPU = ("--gpu", "rtx-5090")
DRIVER = "580.95.05"


@dataclass(frozen=True)
class Fault:
    """What is done to the healthy root, and which errors that must make."""

    errors: frozenset[str] = frozenset()
    remove: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    wheel: str = ""
    """A wheel whose files take the place of those of the same wheel in another version."""
    environment: Mapping[str, str] = field(default_factory=dict)
    driver: str = DRIVER
    breaks_proof: bool = True


FAULTS = {
    "healthy": Fault(breaks_proof=False),
    "a compiler part is missing": Fault(frozenset({"toolkit.incomplete"}), remove=(f"{CUDA_HOME}/nvvm/bin/cicc",)),
    "a part of another release": Fault(frozenset({"toolkit.release-mismatch"}), wheel=TOOLKIT_WHEELS["13.5"]["nvvm"]),
    "a stub on the loader's path": Fault(
        frozenset({"loader.stub-on-path"}),
        links={f"{CUDA_HOME}/lib/stubs/libcuda.so.1": "libcuda.so"},
        environment={"LD_LIBRARY_PATH": f"{CUDA_HOME}/lib/stubs"},
    ),
    "a driver that the base image does not take": Fault(
        frozenset({"container.require-cuda", "driver.too-old"}), driver="550.40.07", breaks_proof=False
    ),
}


@dataclass(frozen=True)
class Layer:
    """A layer on disk, as it is and behind gzip."""

    plain: Path
    gzipped: Path
    diff_id: str


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    if os.geteuid() != 0:
        give_up("not root: a root file system cannot be entered")
    with debian_root() as made:
        yield made


@pytest.fixture(scope="module")
def base(root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Layer]:
    """The healthy root as two layers: the system, and the virtual environment."""
    scratch = tmp_path_factory.mktemp("layers")
    everything = members_below(root)
    venv = root / VENV[1:]
    of_venv = [path for path in everything if path.is_relative_to(venv)]
    others = [path for path in everything if not path.is_relative_to(venv)]
    return [_layer(scratch, name, root, paths) for name, paths in (("system", others), ("venv", of_venv))]


@pytest.fixture(scope="module", params=FAULTS)
def planted(
    request: pytest.FixtureRequest, root: Path, base: list[Layer], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Planted]:
    """The root with one fault, and the layers of an image of it."""
    fault = FAULTS[request.param]
    with clone_of(root) as clone:
        before = set(members_below(clone))
        _plant(fault, clone)
        after = set(members_below(clone))
        changed = sorted((after - before) | (after & _replaced(fault, clone)))
        gone = sorted(path for path in before - after if path.parent in after)
        layers = (
            [*base, _layer(tmp_path_factory.mktemp("fault"), "fault", clone, changed, gone)]
            if changed or gone
            else base
        )
        yield Planted(fault, clone, layers, {**ENVIRONMENT, **fault.environment})


@dataclass(frozen=True)
class Planted:
    fault: Fault
    root: Path
    layers: list[Layer]
    environment: dict[str, str]


def test_the_same_verdict_from_everywhere(planted: Planted, tmp_path: Path) -> None:
    options = ("doctor", "--json", *GPU, "--driver", planted.fault.driver)
    variables = tmp_path / "env"
    variables.write_text("".join(f"{name}={value}\n" for name, value in planted.environment.items()))
    unpacked = _run(*options, "--root", str(planted.root), "--env-file", str(variables))
    docker = _run(*options, "--image-archive", str(_docker_save(tmp_path / "docker.tar", planted)))
    oci = _run(*options, "--image-archive", str(_oci_layout(tmp_path / "oci.tar", planted)))
    entered = _reported(inside(planted.root, planted.environment, *options, "--python", f"{VENV}/bin/python"))
    for code, report in (unpacked, docker, oci, entered):
        assert not [line["check"] for line in report["checks"] if line["outcome"] == "crashed"]
        assert _found(report, "error") == planted.fault.errors, report["findings"]
        assert code == (1 if planted.fault.errors else 0)
    assert _said(docker[1]) == _said(oci[1]) == _said(unpacked[1])
    assert _said(docker[1]) == _said(entered[1])


def test_smoke_says_it_with_its_exit_code(planted: Planted, tmp_path: Path) -> None:
    path = _docker_save(tmp_path / "docker.tar", planted)
    answer = _smoke("--image-archive", str(path), *GPU, "--driver", planted.fault.driver)
    assert answer.returncode == (1 if planted.fault.errors else 0), answer.stdout
    entered = inside(
        planted.root, planted.environment, "smoke", "--level", "prove", "--format", "json", *GPU,
        "--driver", planted.fault.driver, "--python", f"{VENV}/bin/python",
    )  # fmt: skip
    steps = {step["name"]: step["outcome"] for step in json.loads(entered.stdout)["steps"]}
    assert steps["prove"] == ("failed" if planted.fault.breaks_proof else "passed"), entered.stdout
    assert entered.returncode == (1 if planted.fault.errors else 0)


def test_a_repair_baked_into_an_image(root: Path, tmp_path: Path) -> None:
    """The RUN parts of the rendered stage over a broken toolkit, in the image; then that image from outside."""
    with clone_of(root) as clone:
        home = clone / CUDA_HOME[1:]
        (home / "lib64").unlink()
        (home / "lib/libcudart.so").unlink()
        shutil.rmtree(home / "lib/stubs")
        program = clone / HOME[1:] / "bin/sm120kit"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec {VENV}/bin/python -I -B -c "{START}" "$@"\n')
        program.chmod(0o755)
        python = f"{VENV}/bin/python"
        stage = render_ci("dockerfile", level="prove", gpu="rtx-5090", driver=DRIVER, python=python).text
        environment, said = dict(ENVIRONMENT), ""
        for word, rest in list(runs_and_variables(stage))[3:]:  # the RUN before installs from a network
            if word == "ENV":
                environment |= dict(pair.split("=", 1) for pair in rest.split())
            elif word == "RUN":
                done = run_in(clone, environment, "/bin/sh", "-c", rest)
                assert done.returncode == 0, done.stdout + done.stderr
                said = done.stdout
        assert "Smoke test at level prove passed" in said
        layers = [_layer(tmp_path, "all", clone, list(members_below(clone)))]
        archive = _docker_save(tmp_path / "image.tar", Planted(FAULTS["healthy"], clone, layers, environment))
        answer = _smoke("--image-archive", str(archive), *GPU, "--driver", DRIVER, "--format", "json")
        assert answer.returncode == 0, answer.stdout
        unbaked = Planted(FAULTS["healthy"], clone, layers, ENVIRONMENT)
        without = _smoke("--image-archive", str(_docker_save(archive, unbaked)), *GPU, "--driver", DRIVER)
        assert without.returncode == 1


def _plant(fault: Fault, root: Path) -> None:
    for path in fault.remove:
        (root / path[1:]).unlink()
    for path, text in fault.links.items():
        (root / path[1:]).symlink_to(text)
    if fault.wheel:
        site = root / SITE[1:]
        for record in site.glob(f"{_wheel_name(fault)}-*.dist-info/RECORD"):
            for line in record.read_text().splitlines():
                (site / line.rsplit(",", 2)[0]).unlink(missing_ok=True)
            shutil.rmtree(record.parent)
        subprocess.run(["cp", "-al", f"{lay(fault.wheel)}/.", str(site)], check=True)


def _wheel_name(fault: Fault) -> str:
    return fault.wheel.partition("==")[0].replace("-", "_")


def _replaced(fault: Fault, root: Path) -> set[Path]:
    """Files of the planted wheel that were there before under the same name."""
    if not fault.wheel:
        return set()
    laid = lay(fault.wheel)
    return {root / SITE[1:] / path.relative_to(laid) for path in laid.rglob("*")}


def _layer(scratch: Path, name: str, root: Path, paths: list[Path], gone: list[Path] | None = None) -> Layer:
    plain = scratch / f"{name}.tar"
    with tarfile.open(plain, "w") as archive:
        for path in paths:
            archive.add(path, str(path.relative_to(root)), recursive=False)
        for path in gone or ():
            archive.addfile(tarfile.TarInfo(str(path.relative_to(root).parent / f".wh.{path.name}")))
    gzipped = scratch / f"{name}.tar.gz"
    with plain.open("rb") as source, gzip.GzipFile(gzipped, "wb", 1, mtime=0) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    return Layer(plain, gzipped, _digest(plain))


def _digest(path: Path) -> str:
    made = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            made.update(piece)
    return f"sha256:{made.hexdigest()}"


def _configuration(planted: Planted) -> bytes:
    environment = [f"{name}={value}" for name, value in planted.environment.items() if name != "HOME"]
    return json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Env": environment},
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in planted.layers]},
        }
    ).encode()


def _docker_save(path: Path, planted: Planted) -> Path:
    config = _configuration(planted)
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    files = {f"{number}/layer.tar": layer.plain for number, layer in enumerate(planted.layers)}
    manifest = json.dumps([{"Config": name, "RepoTags": ["planted:1"], "Layers": list(files)}]).encode()
    return _write(path, files, {name: config, "manifest.json": manifest})


def _oci_layout(path: Path, planted: Planted) -> Path:
    config = _configuration(planted)
    blobs = {_digest(layer.gzipped): layer.gzipped for layer in planted.layers}
    layers = [{"digest": digest, "size": blob.stat().st_size} for digest, blob in blobs.items()]
    texts = [config]

    def described(text: bytes) -> dict[str, Any]:
        return {"digest": f"sha256:{hashlib.sha256(text).hexdigest()}", "size": len(text)}

    manifest = json.dumps({"schemaVersion": 2, "config": described(config), "layers": layers}).encode()
    texts.append(manifest)
    index = {"schemaVersion": 2, "manifests": [{**described(manifest), "annotations": {REFERENCE: "1"}}]}
    documents = {f"blobs/sha256/{hashlib.sha256(text).hexdigest()}": text for text in texts}
    documents |= {"index.json": json.dumps(index).encode(), "oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
    return _write(path, {f"blobs/sha256/{digest[7:]}": blob for digest, blob in blobs.items()}, documents)


def _write(path: Path, files: Mapping[str, Path], documents: Mapping[str, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, file in files.items():
            archive.add(file, name)
        for name, text in documents.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    return path


def _smoke(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sm120kit", "smoke", *options],
        check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def _run(*arguments: str) -> tuple[int, Any]:
    return _reported(
        subprocess.run(
            [sys.executable, "-m", "sm120kit", *arguments],
            check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
        )
    )  # fmt: skip


def _reported(done: subprocess.CompletedProcess[str]) -> tuple[int, Any]:
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout)


def _found(report: Any, severity: str) -> set[str]:
    return {finding["check"] for finding in report["findings"] if finding["severity"] == severity}


def _said(report: Any) -> set[tuple[str, str, str]]:
    """Every finding by what makes it the same one tomorrow."""
    return {(finding["check"], finding["severity"], finding["subject"]) for finding in report["findings"]}
