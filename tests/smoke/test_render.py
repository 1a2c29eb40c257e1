"""The CI files: valid by the schemas of their systems, and their shell parts do what they say."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import parse

import pytest
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema.validators import validator_for
from ruamel.yaml import YAML

from sm120kit.errors import Sm120kitError
from sm120kit.smoke import render
from sm120kit.smoke.own_source import RELEASE, requirement_in
from sm120kit.smoke.render import HOME, Kind, render_ci
from sm120kit.smoke.types import Level
from tests.image_archives import docker_save, file, tar
from tests.programs import require_program
from tests.tiny_toolkit import make_tiny_toolkit

SCHEMAS = {"github": "vendor.github-workflows", "gitlab": "vendor.gitlab-ci"}
LEVELS: tuple[Level, ...] = ("static", "prove", "serve")


def valid(kind: str, text: str) -> bool:
    """Whether the schema that check-jsonschema brings takes the file."""
    schema = get_builtin_schema(SCHEMAS[kind])
    return bool(validator_for(schema)(schema).is_valid(YAML(typ="safe").load(io.StringIO(text))))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_files_fit_the_schemas_of_their_systems(kind: Kind, level: Level) -> None:
    text = render_ci(kind, level=level, gpu="rtx-pro-6000x8", driver="580.95.05", image="registry/name:1").text
    assert valid(kind, text)
    assert not valid(kind, text.replace("script:", "scripts:").replace("runs-on:", "runs_on:"))


@pytest.mark.parametrize("kind", ["github", "gitlab", "dockerfile"])
def test_what_was_given_stands_in_the_file(kind: Kind) -> None:
    python = "/opt/venv/bin/python"
    text = render_ci(kind, level="static", gpu="b200x7", driver="590", image="some/image:2", python=python).text
    for piece in ("--gpu b200x7", "--driver 590", "some/image:2"):
        assert piece in text
    assert (python in text) == (kind == "dockerfile")
    assert "--driver 5" not in render_ci(kind, level="static").text
    assert "--gpu rtx-pro-6000" in render_ci(kind, level="static").text
    assert max(map(len, text.splitlines())) < 240


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", ["github", "gitlab", "dockerfile"])
def test_what_nobody_asked_for_is_said_in_the_file(kind: Kind, level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "own_requirement", lambda: "")
    made = render_ci(kind, level=level)
    inside = kind == "dockerfile" or level != "static"
    names = ["--gpu", "--driver", *(["--image"] if kind == "dockerfile" else []), *(["--python"] if inside else [])]
    assert [re.findall(r"--\w+|SM120KIT", text)[0] for text in made.assumed] == [*names, "SM120KIT"]
    assert [line for line in made.text.splitlines() if line.startswith("# Assumed ")] == [
        f"# Assumed {text}." for text in made.assumed
    ]
    monkeypatch.setattr(render, "own_requirement", lambda: "git+https://example.org/kit@1234")
    told = render_ci(kind, level=level, gpu="b200", driver="590", image="i", python="/opt/venv/bin/python")
    assert not told.assumed
    assert "# Assumed" not in told.text
    assert re.search(r"SM120KIT[:=] ?git\+https://example\.org/kit@1234$", told.text, re.MULTILINE)


@pytest.mark.parametrize(
    ("recorded", "requirement"),
    [
        (None, RELEASE),
        (
            '{"url": "https://example.org/kit.git", "vcs_info": {"vcs": "git", "commit_id": "12ab"}}',
            "git+https://example.org/kit.git@12ab",
        ),
        ('{"url": "https://example.org/kit-1.whl", "archive_info": {}}', "https://example.org/kit-1.whl"),
        ('{"url": "file:///root/kit", "dir_info": {"editable": true}}', ""),
        ('{"url": "https://user:secret@example.org/kit.whl", "archive_info": {}}', ""),
        ('{"url": "https://example.org/$(harm)", "archive_info": {}}', ""),
        ('{"url": "https://[", "archive_info": {}}', ""),
        ("no JSON", ""),
    ],
)
def test_a_ci_installs_what_this_one_was_installed_from(recorded: str | None, requirement: str) -> None:
    assert requirement_in(recorded) == requirement


@pytest.mark.parametrize(
    "given",
    [
        *({"image": name} for name in ("a b", "x\ny: z", "a;rm", "'x'")),
        *({"python": path} for path in ("/a b", "venv", "/x\nRUN harm", "/$(harm)")),
    ],
)
@pytest.mark.parametrize("kind", ["github", "gitlab", "dockerfile"])
def test_names_that_mean_something_to_a_shell_or_yaml_are_refused(kind: Kind, given: dict[str, str]) -> None:
    with pytest.raises(Sm120kitError):
        render_ci(kind, level="static", **given)


@pytest.fixture
def stand_ins(tmp_path: Path) -> Path:
    """Programs in the place of those that need a network or a daemon. Each writes down what it was called with."""
    folder = tmp_path / "bin"
    folder.mkdir()
    torch = file(
        "opt/venv/lib/python3.12/site-packages/torch-2.13.0.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n",
    )
    image = docker_save(tmp_path / "prepared.tar", tar(file("etc/os-release", "PRETTY_NAME=Test\n"), torch))
    scripts = {
        "python3": '[ "$1 $2 $3" = "-m pip install" ]',
        "apt-get": "true",
        "docker": f'case $1 in save) cp {image} "$3" ;; run) shift 3; echo "<ran/>" ;; esac',
        "skopeo": f'for last; do :; done; cp {image} "${{last#oci-archive:}}"',
        "sm120kit": f'exec {sys.executable} -m sm120kit "$@" $EXTRA',
    }
    for name, script in scripts.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\nset -e\necho "{name} $*" >> {tmp_path}/calls\n{script}\n')
        path.chmod(0o755)
    return folder


def shell_parts(kind: Kind, level: Level) -> Iterator[tuple[str, dict[str, str]]]:
    """Every command of the file, with the variables it gets."""
    read: Any = YAML(typ="safe").load(
        io.StringIO(render_ci(kind, level=level, gpu="rtx-5090", driver="580.95.05").text)
    )
    if kind == "github":
        job = read["jobs"]["smoke"]
        yield from ((step["run"], job["env"]) for step in job["steps"] if "run" in step)
    else:
        yield from ((command, read["smoke"]["variables"]) for command in read["smoke"]["script"])


@pytest.mark.parametrize(("extra", "code"), [("", 0), ("--fail-on unknown", 1)])
@pytest.mark.parametrize(("kind", "level"), [("github", "static"), ("github", "prove"), ("gitlab", "static")])
def test_their_shell_parts_run(
    kind: Kind, level: Level, extra: str, code: int, stand_ins: Path, tmp_path: Path
) -> None:
    require_program("bash")
    codes = []
    for command, variables in shell_parts(kind, level):
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
            check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, cwd=tmp_path,
            env={**os.environ, **variables, "PATH": f"{stand_ins}:/usr/bin:/bin", "EXTRA": extra,
                 "PYTHONPATH": os.getcwd(), "CI_REGISTRY_USER": "me", "CI_REGISTRY_PASSWORD": "secret"},
        )  # fmt: skip
        assert done.returncode == 0 or "sm120kit smoke" in command, done.stderr
        codes.append(done.returncode)
    assert max(codes) == code
    assert parse(tmp_path / "smoke.xml").getroot().tag == "testsuites"
    calls = (tmp_path / "calls").read_text()
    assert "sm120kit smoke --image-archive image.tar --gpu rtx-5090 --driver 580.95.05 --format junit" in calls
    assert (tmp_path / "prove.xml").exists() == (level == "prove")


def runs_and_variables(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Each instruction with what follows it, lines that go on joined."""
    for line in dockerfile.replace("\\\n", "").splitlines():
        word, _, rest = line.partition(" ")
        if word.isupper() and word.isalpha():
            yield word, rest


def test_the_dockerfile_stage_repairs_and_bakes_in(tmp_path: Path) -> None:
    """Its RUN parts over an environment with a broken toolkit, in a folder that stands in for the image's /opt."""
    require_program("gcc", "g++", "as")
    made = make_tiny_toolkit(tmp_path)
    prefix = tmp_path / "venv"
    site = prefix / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    site.parent.mkdir(parents=True)
    made.site_packages.rename(site)
    (site / "flashinfer_python-0.6.7.post2.dist-info").mkdir()
    (prefix / "bin").mkdir()
    (prefix / "bin/python").symlink_to(sys.executable)
    (prefix / "pyvenv.cfg").write_text(
        f"home = {os.path.dirname(os.path.realpath(sys.executable))}\ninclude-system-site-packages = false\n"
        f"version = {'.'.join(map(str, sys.version_info[:3]))}\n"
    )
    opt = tmp_path / "opt"
    (opt / "bin").mkdir(parents=True)
    (opt / "bin/sm120kit").write_text(f'#!/bin/sh\nexec {sys.executable} -m sm120kit "$@" --no-system-toolkits\n')
    (opt / "bin/sm120kit").chmod(0o755)
    text = render_ci("dockerfile", level="prove", gpu="rtx-5090", python=f"{prefix}/bin/python").text
    variables = {
        "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": os.getcwd(),
        "CUDA_HOME": f"{site}/nvidia/cu13", "XDG_CACHE_HOME": f"{tmp_path}/cache",
    }  # fmt: skip
    instructions = list(runs_and_variables(text.replace(HOME, str(opt))))
    assert [word for word, _ in instructions] == ["FROM", "ARG", "RUN", "RUN", "ENV", "RUN", "RUN", "ENTRYPOINT", "RUN"]
    last = ""
    for word, rest in instructions[3:]:  # the RUN before installs from a network
        if word == "ENV":
            variables |= dict(pair.split("=", 1) for pair in rest.split())
        elif word == "RUN":
            done = subprocess.run(
                ["sh", "-c", rest], check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=60, env=variables,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
            last = done.stdout
    assert "Smoke test at level prove passed" in last
    entered = subprocess.run(
        [str(opt / "enter"), "sh", "-c", "echo $CUDA_HOME; command -v nvcc"],
        check=True, capture_output=True, text=True, env=variables,
    )  # fmt: skip
    assert entered.stdout.split() == [variables["CUDA_HOME"], f"{variables['CUDA_HOME']}/bin/nvcc"]


def test_the_dockerfile_stage_says_when_there_was_nothing_to_repair(tmp_path: Path) -> None:
    runs = [rest for word, rest in runs_and_variables(render_ci("dockerfile", level="static").text) if word == "RUN"]
    done = subprocess.run(
        ["sh", "-c", next(run for run in runs if run.startswith("test -x"))],
        check=False, capture_output=True, text=True, env={"CUDA_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 1
    assert "nothing had to be repaired, and this stage can be left out" in done.stderr
