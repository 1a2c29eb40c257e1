"""A machine for the command lines of the pages: what they name is there, and programs of others are stood in for.

A page says ``/mnt/image``; here that is the same path below the folder. /srv/venv, /srv/models and the home folder are
folders whose paths are as long as those that pages print, so that lines break where they break there. Of a launch the
genuine servers become a rehearsal of two that load at once, on free ports, and replica 3 becomes replica 1; one whose
output the page shows runs as it stands there, on free ports. NAME in a path is whatever is there; ``...`` stands for
the words of the first launch, without its name and --detach.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import signal
import string
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.cli.rehearsals import free_ports, left_over
from tests.docs.command_lines import ROOT
from tests.fleet.target import make_environment, make_model
from tests.image_archives import docker_save, tar_of
from tests.planning import QWEN36_27B
from tests.snapshot.targets import install
from tests.tiny_toolkit import make_tiny_toolkit

LIMIT_S = 90.0

_PLACES = re.compile(r"(?<![\w.~])/(srv/fleet|models|mnt|opt|etc|usr/local/cuda-13\.2)\b")
_PRINTED = ("/srv/venv", "/srv/models", "/home/admin")
_VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
_PYTHON = f"python{_VERSION}"

_SUPPRESSIONS = """[[suppress]]
check = "toolkit.host-compiler-unsupported"
subject = "/usr/local/cuda-13.0"
reason = "the build uses CC=gcc-13, set in its own script"
expires = "2027-03-01"
"""

_STAND_INS = {
    "docker": 'case $1 in save) cp "$WORLD/image.tar" "$4" ;; run) shift 3; exec "$@" ;; *) exit 1 ;; esac',
    "journalctl": 'cat "$HOME/work/server.log"',
    "systemctl": "exit 0",
    "ssh": 'shift; exec "$@"',
    "systemd-analyze": 'grep -q "^ExecStart=" "$2"',
}
"""What needs a daemon, a service manager or another machine."""

_MOST_SERVERS = 8
_SHOWN_PORT, _SHOWN_NCCL_PORT = 30000, 29500
"""Where servers listen unless something else is asked for, which pages show."""

_READ_A_TARGET = ("doctor", "smoke", "fix", "prove", "snapshot", "env", "run", "plan", "launch")


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class World:
    """The folder, and the environment of its shell."""

    def __init__(self, base: Path, printed: Mapping[str, Path]) -> None:
        self.base = base
        self.printed = printed
        self.venv, self.models, self.home = (printed[name] for name in _PRINTED)
        self.work = self.home / "work"
        self._base_port = 0
        self._first_launch = ""
        self._ports: dict[int, int] = {}
        self.environment = {
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "PATH": f"{base}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "PYTHONPATH": f"{ROOT}:{base}/lib",
            "VIRTUAL_ENV": str(self.venv),
            "CUDA_HOME": str(self.venv / "lib" / _PYTHON / "site-packages/nvidia/cu13"),
            "WORLD": str(base),
            "XDG_STATE_HOME": str(self.home / ".local/state"),
        }

    def prepared(self, text: str, *, in_full: bool = False) -> str:
        """A command line as it is run here; ``in_full``: with as many servers and at the level that it asks for."""
        text = self._without_dots(text)
        for name, path in self.printed.items():
            text = text.replace(name, str(path))
        text = _PLACES.sub(rf"{self.base}/\1", text).replace("python3.12", _PYTHON)
        text = text.replace("/targets/NAME/", "/targets/*/").replace("--pid 4242", "--pid $$")
        text = text.replace("python -m tools.make_docs", "python -m tools.make_docs --check")
        if not in_full:
            text = re.sub(r"(--fault [\w-]+:|--replica )\d+", r"\g<1>1", text)
        if re.match(r"sm120kit launch (?!.*--(?:render|print-config))", text):
            words = [*self._on_free_ports(text), *(() if in_full else self._small(text))]
            text = text.replace("sm120kit launch", f"sm120kit launch {shlex.join(words)}", 1)
        text = text.replace("sm120kit verify", "sm120kit verify --level quick")
        for number, address in enumerate(("http://10.0.0.5:30000", "http://10.0.0.6:30000")):
            text = text.replace(address, f"http://127.0.0.1:{self._base_port + number}")
        return text

    def as_printed(self, text: str) -> str:
        """What a command printed, with the paths and ports of the pages, and without the option that is added here."""
        for name, path in self.printed.items():
            text = text.replace(str(path), name)
        text = re.sub(r"(?<![\d.])\d{5}(?![\d.])", lambda found: str(self._ports.get(int(found[0]), found[0])), text)
        text = text.replace(f"Python {_VERSION}", "Python 3.12")
        return text.replace(_PYTHON, "python3.12").replace(" --no-system-toolkits", "")

    def run(self, text: str, *, until_interrupted: bool, in_full: bool = False, both_streams: bool = False) -> Ended:
        """Run it in a shell; where it goes on until Ctrl-C, press that once it has said something.

        ``both_streams``: what goes to standard error is in ``out`` with the rest, in its order.
        """
        with (self.base / "out").open("w+b") as out, (self.base / "err").open("w+b") as err:
            process = subprocess.Popen(
                ["bash", "--noprofile", "--norc", "-o", "pipefail", "-c", self.prepared(text, in_full=in_full)],
                cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL, stdout=out,
                stderr=out if both_streams else err,
                start_new_session=True,
            )  # fmt: skip
            try:
                if until_interrupted:
                    self._wait_for_words(process, out.fileno(), err.fileno())
                    os.killpg(process.pid, signal.SIGINT)
                process.wait(LIMIT_S)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            if "--detach" in text and "--name" not in text:
                self.stop_all()
            return Ended(process.returncode, *(os.pread(file.fileno(), 1 << 24, 0).decode() for file in (out, err)))

    def stop_all(self) -> list[str]:
        """Stop every fleet; what is left of them."""
        for folder in (self.home / ".local/state/sm120kit/fleets").glob("*"):
            self.run(f"sm120kit stop {folder.name}", until_interrupted=False)
        return left_over(self.home / ".local/state")

    def _without_dots(self, text: str) -> str:
        if "--name qwen --detach" in text:
            self._first_launch = text
        if "launch ..." not in text:
            return text
        options, _, arguments = self._first_launch.partition(" --name qwen --detach ")
        return f"{text.replace('sm120kit launch ...', options)} {arguments}"

    def _on_free_ports(self, text: str) -> tuple[str, ...]:
        nccl, base = free_ports(_MOST_SERVERS)
        if "--name qwen" in text:
            self._base_port = base
        for number in range(_MOST_SERVERS):
            self._ports |= {base + number: _SHOWN_PORT + number, nccl + number: _SHOWN_NCCL_PORT + number}
        return "--base-port", str(base), "--base-nccl-port", str(nccl)

    def _small(self, text: str) -> Iterator[str]:
        if "--rehearse" not in text:
            yield "--rehearse"
        yield from ("--gpu", "rtx-pro-6000x2", "--load-s", "0.1", "--level", "quick", "--restart-delay", "0.1")

    def _wait_for_words(self, process: subprocess.Popen[bytes], out: int, err: int) -> None:
        limit = time.monotonic() + LIMIT_S
        while process.poll() is None and time.monotonic() < limit:
            if os.fstat(out).st_size or b"as long as this command does" in os.pread(err, 1 << 20, 0):
                return
            time.sleep(0.05)


@contextmanager
def world(base: Path, lay_packages: Callable[[Path], None]) -> Iterator[World]:
    """Make it, with these packages in its environment, and end what was left running in it."""
    with ExitStack() as stack:
        made = World(base, {name: stack.enter_context(_folder_as_long_as(name)) for name in _PRINTED})
        _programs(base)
        make_environment(made.venv, {})
        lay_packages(made.venv / "lib" / _PYTHON / "site-packages")
        _files(made)
        try:
            yield made
        finally:
            left = made.stop_all()
        assert not left, left
        assert set(os.listdir(made.home)) <= {"work", ".local", ".cache"}, "something was left in the home folder"


@contextmanager
def _folder_as_long_as(name: str) -> Iterator[Path]:
    letters = string.ascii_lowercase
    path = Path("/tmp") / "".join(random.choices(letters, k=len(name) - len("/tmp/")))
    path.mkdir()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def lay_broken_packages(site_packages: Path) -> None:
    """A toolkit as pip leaves it, and FlashInfer, which would take it."""
    _lay_toolkit(site_packages)
    install(site_packages, "flashinfer_python", "0.6.7.post2")


def lay_healthy_packages(site_packages: Path) -> None:
    """A toolkit with all names that linkers ask for; of SGLang and what belongs to it, the names."""
    home = _lay_toolkit(site_packages)
    (home / "lib64").symlink_to("lib")
    (home / "lib/libcudart.so").symlink_to("libcudart.so.13")
    (home / "lib/stubs").mkdir()
    functions = "".join(f"int cuFunction{number}(void) {{ return 34; }}\n" for number in range(120))
    subprocess.run(
        [
            "gcc",
            "-shared",
            "-nostdlib",
            "-x",
            "c",
            "-",
            "-Wl,-soname,libcuda.so.1",
            "-o",
            home / "lib/stubs/libcuda.so",
        ],
        input=f"{functions}int cuInit(unsigned flags) {{ return flags ? 1 : 34; }}\n",
        text=True,
        check=True,
    )
    for name, version in (("flashinfer_python", "0.7.2"), ("sglang", "0.5.23"), ("sglang_kernel", "0.4.9")):
        install(site_packages, name, version)


def _lay_toolkit(site_packages: Path) -> Path:
    made = make_tiny_toolkit(site_packages.parent / "made")
    for path in made.site_packages.iterdir():
        path.rename(site_packages / path.name)
    return site_packages / "nvidia/cu13"


def _programs(base: Path) -> None:
    folder = base / "bin"
    folder.mkdir(parents=True)
    patterns = "|".join(f'" {name} "*' for name in _READ_A_TARGET)
    ours = (
        f'case " $* " in *" --snapshot "*) ;; {patterns}) '
        'name=$1; shift; set -- "$name" --no-system-toolkits "$@" ;; esac\n'
    )
    scripts = {
        **_STAND_INS,
        "python": f'exec {sys.executable} "$@"',
        "sm120kit": f'{ours}exec {sys.executable} -m sm120kit "$@"',
    }
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)


def _files(made: World) -> None:
    base, work = made.base, made.work
    work.mkdir()
    make_model(made.models / "qwen3.6-27b", QWEN36_27B, gib=51)
    (base / "models").mkdir()
    (base / "models/qwen").symlink_to(made.models / "qwen3.6-27b")
    image = base / "mnt/image"
    (image / "etc").mkdir(parents=True)
    (image / "etc/os-release").write_text("PRETTY_NAME=Test\n")
    _planted_image(made)
    shutil.copy(base / "image.tar", work / "image.tar")
    (base / "etc/systemd/system").mkdir(parents=True)
    (base / "usr/local").mkdir(parents=True)
    (base / "usr/local/cuda-13.2").symlink_to(made.venv / "lib" / _PYTHON / "site-packages/nvidia/cu13")
    (base / "lib/sglang").mkdir(parents=True)
    (base / "lib/sglang/launch_server.py").write_text("")
    (base / "srv").mkdir()
    for place in (base / "srv", work):
        (place / "fleet.toml").write_text(f'model = "{base}/models/qwen"\nname = "from-file"\n')
    for name in ("service.env", "image.env"):
        (work / name).write_text("MAX_JOBS=2\n")
    (work / "suppressions.toml").write_text(_SUPPRESSIONS)
    (work / "mine").mkdir()
    for page in ("docs/adding-a-check.md", "docs/how-to-why.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        ((name, file),) = re.findall(r"`(mine/\w+\.py)`:\n\n```python\n(.*?)```", text, re.DOTALL)
        (work / name).write_text(file)
    shutil.copy(ROOT / "tests/logs/toolkit.cudart-unlinkable__flashinfer.log", work / "server.log")


def _planted_image(made: World) -> None:
    """image.tar: the environment again, without cicc, the compiler of device code."""
    image = made.base / "planted"
    shutil.copytree(made.venv, image / "opt/venv", symlinks=True)
    home = f"/opt/venv/lib/{_PYTHON}/site-packages/nvidia/cu13"
    (image / home.lstrip("/") / "nvvm/bin/cicc").unlink()
    (image / "etc").mkdir()
    (image / "etc/os-release").write_text("PRETTY_NAME=Test\n")
    docker_save(made.base / "image.tar", *tar_of(image), environment=(f"CUDA_HOME={home}",))
