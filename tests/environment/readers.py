"""The real readers of what we write: each gives back the environment that a program would see."""

from __future__ import annotations

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.programs import MISSING_PROGRAM, give_up, require_program

POSIX_SHELLS = ("sh", "dash", "bash", "zsh")
FISH = "fish"

_ENV = shutil.which("env") or "env"

_QUIET = {"fish": ("--no-config",), "bash": ("--norc", "--noprofile"), "zsh": ("-f",)}
_KEPT = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "LC_ALL")
_OF_THE_SHELL = frozenset({"USER", "LOGNAME", "PWD", "OLDPWD", "SHLVL", "_", *_KEPT})

_LOAD_ENV_FILE = r"""
import ctypes, json, sys
read = ctypes.CDLL(sys.argv[1]).load_env_file
read.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.POINTER(ctypes.c_char_p))]
found = ctypes.POINTER(ctypes.c_char_p)()
code = read(None, sys.argv[2].encode(), ctypes.byref(found))
pairs, place = [], 0
while code >= 0 and found and found[place]:
    pairs.append(found[place].decode("utf-8", "surrogateescape").partition("="))
    place += 1
print(json.dumps({"code": code, "variables": {name: value for name, _, value in pairs}}))
"""


def run_shell(
    shell: str, commands: str, environment: Mapping[str, str], script: Path, *, options: tuple[str, ...] = ()
) -> list[dict[str, str]]:
    """Run ``commands`` in a real shell; each ``dump`` among them gives one environment. ``$1`` is the script.

    HOME and the XDG folders are the test's own, since shells write there.
    """
    require_program(shell)
    folder = Path(tempfile.mkdtemp(dir=script.parent))
    pieces = commands.split("dump")
    files = [folder / str(number) for number in range(len(pieces) - 1)]
    text = "".join(f"{piece}{_ENV} -0 >'{file}'" for piece, file in zip(pieces, files, strict=False)) + pieces[-1]
    ran = subprocess.run(
        [shutil.which(shell) or shell, *_QUIET.get(shell, ()), *options, "-c", text]
        + ([str(script)] if shell == FISH else [shell, str(script)]),
        env={name: os.environ[name] for name in _KEPT} | dict(environment),
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert ran.stderr == b"", ran.stderr.decode("utf-8", "replace")
    assert ran.returncode == 0
    return [_environment(file.read_bytes()) for file in files]


def read_systemd(file: Path) -> dict[str, str]:
    """What systemd's own function for EnvironmentFile= makes of a file."""
    libraries = glob.glob("/usr/lib/*/systemd/libsystemd-shared-*.so") + glob.glob(
        "/usr/lib/systemd/libsystemd-shared-*.so"
    )
    if not libraries:
        give_up(MISSING_PROGRAM + "systemd")
    ran = subprocess.run(
        [sys.executable, "-c", _LOAD_ENV_FILE, libraries[0], str(file)], capture_output=True, timeout=30, check=True
    )
    assert ran.stderr == b"", ran.stderr.decode("utf-8", "replace")
    answer = json.loads(ran.stdout)
    assert answer["code"] == 0
    variables: dict[str, str] = answer["variables"]
    return variables


def _environment(dumped: bytes) -> dict[str, str]:
    pairs = (os.fsdecode(each).partition("=") for each in dumped.split(b"\0") if each)
    return {name: value for name, _, value in pairs if name not in _OF_THE_SHELL}
