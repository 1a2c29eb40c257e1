"""A Debian root of this machine's own packages, small and whole enough to be entered by chroot, with the real wheels of
a CUDA toolkit and a FlashInfer in a virtual environment, and sm120kit beside them.

Files are hard links to this machine's: nobody may open one for writing, only put another in its place.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import distribution
from pathlib import Path

from tests.programs import give_up, require_program
from tests.wheels.trees import CACHE, add_link_names, add_missing, lay
from tests.wheels.variants import HEALTHY

PACKAGES = ("base-files", "base-passwd", "bash", "coreutils", "dash", "g++", "libc-bin", "make")
VENV = "/opt/venv"
SITE = f"{VENV}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
CUDA_HOME = f"{SITE}/nvidia/cu13"
FLASHINFER = "flashinfer-python==0.6.7.post2"
NINJA = "ninja==1.13.0"
ENVIRONMENT = {
    "PATH": f"{VENV}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "CUDA_HOME": CUDA_HOME,
    "VIRTUAL_ENV": VENV,
    "NVIDIA_VISIBLE_DEVICES": "all",
    "NVIDIA_REQUIRE_CUDA": "cuda>=13.0 brand=tesla,driver>=570,driver<571",
    "HOME": "/root",
}

_NEEDED = (
    "click", "jinja2", "markdown-it-py", "markupsafe", "mdurl", "msgspec", "nvidia-ml-py", "packaging", "psutil",
    "pyelftools", "pygments", "rich",
)  # fmt: skip
"""What sm120kit requires, with what that requires."""

_ROOT = Path(__file__).resolve().parents[2]
_NOT_OF_PYTHON = frozenset(
    {"__pycache__", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "site-packages", "test", "tests", "tkinter",
     "turtledemo"}
)  # fmt: skip


@contextlib.contextmanager
def debian_root() -> Iterator[Path]:
    """The whole root, gone afterwards."""
    require_program("dpkg-query", "ldd", "chroot", "gcc", "g++")
    base = CACHE / "trees"
    base.mkdir(parents=True, exist_ok=True)
    root = base / f"root-{os.getpid()}"
    root.mkdir()
    try:
        _lay_base(root)
        _lay_python(root)
        _lay_venv(root)
        _lay_sm120kit(root)
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextlib.contextmanager
def clone_of(root: Path) -> Iterator[Path]:
    """Another tree of the same files, gone afterwards."""
    clone = root.with_name(f"{root.name}-clone")
    subprocess.run(["cp", "-al", str(root), str(clone)], check=True)
    try:
        yield clone
    finally:
        shutil.rmtree(clone, ignore_errors=True)


def _lay_base(root: Path) -> None:
    for name in ("bin", "lib", "lib64", "sbin"):
        if (Path("/") / name).is_symlink():
            (root / "usr" / name).mkdir(parents=True, exist_ok=True)
            (root / name).symlink_to(f"usr/{name}")
    for folder in ("dev", "etc", "proc", "root", "tmp"):
        (root / folder).mkdir(exist_ok=True)
    (root / "dev/null").touch()
    for path in _files_of_packages():
        _place(root, path)
    for name in ("c++", "cc", "awk"):
        if os.path.lexists(f"/etc/alternatives/{name}"):
            _place(root, f"/etc/alternatives/{name}")
            _place(root, f"/usr/bin/{name}")
    for path in ("/etc/passwd", "/etc/group", "/etc/os-release", "/etc/ld.so.conf"):
        if os.path.lexists(path):
            _place(root, path)
    subprocess.run(["chroot", str(root), "/sbin/ldconfig"], check=True, capture_output=True)


def _files_of_packages() -> Iterator[str]:
    pending, seen = list(PACKAGES), set[str]()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        asked = subprocess.run(
            ["dpkg-query", "-W", "-f", "${db:Status-Abbrev}\t${Pre-Depends}, ${Depends}", name],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        status, _, depends = asked.stdout.partition("\t")
        if asked.returncode or not status.startswith("ii"):
            if name in PACKAGES:
                give_up(f"the Debian package {name} is not installed")
            continue
        pending += [
            re.sub(r"[:(\s].*", "", alternative.strip())
            for group in depends.split(",")
            for alternative in group.split("|")
            if alternative.strip()
        ]
        listed = subprocess.run(["dpkg-query", "-L", name], check=True, capture_output=True, text=True)
        yield from (path for path in listed.stdout.splitlines() if not path.startswith("/usr/share/"))


def _lay_python(root: Path) -> None:
    """The Python that runs the tests, where it is, with the libraries that it and its extensions load."""
    base = Path(sys.base_prefix)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    programs = [base / "bin" / version]
    for folder, folders, files in os.walk(sysconfig.get_path("stdlib")):
        folders[:] = [name for name in folders if name not in _NOT_OF_PYTHON and not name.startswith("config-")]
        for name in files:
            path = Path(folder) / name
            _place(root, str(path))
            if ".so" in name:
                programs.append(path)
    for name in (version, "python3"):
        _place(root, f"{base}/bin/{name}")
    _place(root, os.path.realpath(base / "bin" / version))
    header = Path(sysconfig.get_config_var("INCLUDEPY")) / "Python.h"
    if header.is_file():
        _place(root, str(header))
    _place_libraries(root, programs)


def _place_libraries(root: Path, programs: Iterable[Path]) -> None:
    asked = subprocess.run(["ldd", *map(str, programs)], check=False, capture_output=True, text=True)
    for path in set(re.findall(r"=> (/\S+)", asked.stdout)):
        _place(root, path)
        _place(root, os.path.realpath(path))


def _lay_venv(root: Path) -> None:
    site = root / SITE[1:]
    site.mkdir(parents=True)
    bin_folder = root / VENV[1:] / "bin"
    bin_folder.mkdir()
    (bin_folder / "python").symlink_to(f"{sys.base_prefix}/bin/python{sys.version_info[0]}.{sys.version_info[1]}")
    (root / VENV[1:] / "pyvenv.cfg").write_text(
        f"home = {sys.base_prefix}/bin\ninclude-system-site-packages = false\n"
        f"version = {'.'.join(map(str, sys.version_info[:3]))}\n"
    )
    for requirement in (*HEALTHY["13.0"].requirements(), FLASHINFER, NINJA):
        add_missing(lay(requirement), site)
    os.link(site / "bin/ninja", bin_folder / "ninja")
    add_link_names(root / CUDA_HOME[1:])


def _lay_sm120kit(root: Path) -> None:
    """What a person would install into an image to examine it from inside: apart from the environment it examines."""
    doctor = root / "opt/doctor"
    for name, place in (("sm120kit", ""), ("checks", "sm120kit/_data"), ("templates", "sm120kit/_data")):
        shutil.copytree(_ROOT / name, doctor / place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in _NEEDED:
        for file in distribution(name).files or ():
            source = Path(str(distribution(name).locate_file(file)))
            if not str(file).startswith("..") and source.is_file() and source.suffix != ".pyc":
                (doctor / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, doctor / file)


def inside(root: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """``sm120kit`` run in that root, as a process of a container of it would be."""
    return run_in(root, environment, f"{VENV}/bin/python", "-I", "-B", "-c", START, *arguments)


START = "import sys; sys.path.insert(0, '/opt/doctor'); from sm120kit.cli.main import run; run()"
"""Starts the sm120kit that lies beside the environment it examines."""


def run_in(root: Path, environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    """A command run in that root with these variables alone."""
    variables = [f"{name}={value}" for name, value in environment.items()]
    return subprocess.run(
        ["chroot", str(root), "/usr/bin/env", "-i", *variables, *command],
        check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def _place(root: Path, path: str) -> None:
    """Put what is at ``path`` on this machine there in the root: a folder empty, a link as it is, a file linked."""
    place = root / path.lstrip("/")
    if os.path.lexists(place) or not os.path.lexists(path):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if os.path.islink(path):
        place.symlink_to(os.readlink(path))
    elif os.path.isdir(path):
        place.mkdir()
    elif os.path.isfile(path):
        try:
            os.link(path, place)
        except OSError:
            shutil.copy2(path, place)


def members_below(root: Path) -> Sequence[Path]:
    """Everything in it, folders before what they hold."""
    return sorted(root.rglob("*"))
