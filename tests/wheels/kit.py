"""Runs the commands that repair and prove, as subprocesses, over one tree with a data folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.wheels.doctor import env_file
from tests.wheels.trees import TOOLKIT_WHEELS, add_missing, lay
from tests.wheels.variants import Made


@dataclass(frozen=True)
class Answer:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """Its standard output, read as JSON."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Kit:
    """One target: options that name it, and where what is written goes."""

    data_dir: Path
    target: tuple[str, ...]
    environment: Mapping[str, str]

    def run(self, *arguments: str) -> Answer:
        """One command with ``--data-dir`` alone. It leaves nothing in the folder for temporary files."""
        scratch = self.data_dir.with_name("tmp")
        scratch.mkdir(exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-m", "sm120kit", *arguments, "--data-dir", str(self.data_dir)],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            env={**os.environ, "TMPDIR": str(scratch), **self.environment},
        )
        assert not os.listdir(scratch)
        assert done.returncode != 3, done.stderr
        return Answer(done.returncode, done.stdout, done.stderr)

    def fix(self, *arguments: str) -> Answer:
        """``fix`` for the target."""
        return self.run("fix", *arguments, *self.target)

    def prove(self, *arguments: str) -> dict[str, dict[str, Any]]:
        """``prove`` for the target: every rung by its name; of several consumers' one that failed, if one did."""
        answer = self.run("prove", "--json", *arguments, *self.target)
        proofs = answer.data["proofs"]
        assert answer.code == (1 if any(proof["outcome"] == "failed" for proof in proofs) else 0), answer.err
        return {proof["rung"]: proof for proof in sorted(proofs, key=lambda each: each["outcome"] == "failed")}

    def smoke(self, *target: str) -> tuple[int, dict[str, str]]:
        """``smoke --level prove``: its exit code, and what became of each step."""
        hardware = ("--gpu", "rtx-5090")
        answer = self.run("smoke", "--level", "prove", "--format", "json", *hardware, *(target or self.target))
        return answer.code, {step["name"]: step["outcome"] for step in answer.data["steps"]}

    def using(self, view: str) -> tuple[str, ...]:
        """The same target as a server meets it that was started with the variables of the repair."""
        path = str(self.data_dir.with_name("used.env"))
        assert self.run("env", "--shell", "systemd", "-o", path, *self.target).code == 0
        changed = {"--env-file": path, "--cuda-home": view}
        return tuple(changed.get(before, word) for before, word in zip(("", *self.target), self.target, strict=False))


def kit_for(made: Made, scratch: Path, *, named: bool = True, **variables: str) -> Kit:
    """The target of a tree, by ``--cuda-home`` where ``named``, else by CUDA_HOME of its environment."""
    if not named:
        variables["CUDA_HOME"] = str(made.cuda_home)
    environment = env_file(scratch, **variables)
    target = ["--no-system-toolkits", "--site-packages", str(made.site_packages), "--env-file", str(environment)]
    if named:
        target += ["--cuda-home", str(made.cuda_home)]
    return Kit(scratch / "data", tuple(target), {"XDG_CACHE_HOME": str(scratch / "cache")})


def plant(path: Path, content: bytes | str, mode: int = 0o644) -> None:
    """Put a file in the place of whatever stands there: the trees are hard links, so nothing is written through."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)


def install(site_packages: Path, requirement: str) -> None:
    """What ``pip install --no-deps`` does in an environment: the files of another version go by its RECORD first."""
    name = requirement.partition("==")[0].replace("-", "_")
    for record in site_packages.glob(f"{name}-*.dist-info/RECORD"):
        for line in record.read_text().splitlines():
            (site_packages / line.rsplit(",", 2)[0]).unlink(missing_ok=True)
        shutil.rmtree(record.parent, ignore_errors=True)
    add_missing(lay(requirement), site_packages)


def packages_in(commands: Sequence[str]) -> list[str]:
    """Exact requirements of pip commands; ``cuda-toolkit[nvcc,cccl]==X`` stands for that release's five wheels."""
    found: list[str] = []
    for command in commands:
        words = shlex.split(command)
        for word in words[words.index("install") + 1 :]:
            name, _, version = word.partition("==")
            if name == "cuda-toolkit[nvcc,cccl]":
                found += TOOLKIT_WHEELS[".".join(version.split(".")[:2])].values()
            elif not word.startswith("-"):
                assert version, f"{word} has no exact version"
                found.append(word)
    return found
