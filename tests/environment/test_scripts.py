"""Scripts sourced by real shells: what programs see afterwards, after a second time, and after taking it back."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from sm120kit.environment import Environment, Variable, applied, render
from sm120kit.environment.render import Shell
from tests.environment.readers import FISH, POSIX_SHELLS, run_shell

SHELLS = (*POSIX_SHELLS, FISH)
HARD = "a b'c\"d$e`f\\g\nh\té"

VARIABLES = (
    Variable("CUDA_HOME", "set", "Where it is.", f"/opt/{HARD}"),
    Variable("CUDA_PATH", "set", "The same.", f"/opt/{HARD}"),
    Variable("PATH", "prepend", "First.", parts=(f"/venv/{HARD}/bin", "/opt/bin"), otherwise="/usr/bin:/bin"),
    Variable("LIBRARY_PATH", "prepend", "To link.", parts=("/opt/lib64", "/opt/lib64/stubs")),
    Variable("LD_LIBRARY_PATH", "remove", "Too old.", parts=("/old/lib64", "/old/lib")),
    Variable("MAX_JOBS", "set-if-unset", "By memory.", "4"),
    Variable("CC", "set-if-unset", "Fits.", "/usr/bin/gcc-13"),
)

SITUATIONS = {
    "nothing set": {"PATH": "/usr/bin:/bin"},
    "all set": {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "CUDA_HOME": "/usr/local/cuda $x",
        "CUDA_PATH": "/elsewhere\n",
        "LIBRARY_PATH": "/mine::/opt/lib64:/theirs",
        "LD_LIBRARY_PATH": "/old/lib64:/mine:/old/lib",
        "MAX_JOBS": "2",
        "CC": "mine",
    },
    "set and empty": {"PATH": "/usr/bin:/bin", "LIBRARY_PATH": "", "MAX_JOBS": "", "CUDA_HOME": ""},
    "there already, but last": {"PATH": "/usr/bin:/bin:/opt/bin", "LIBRARY_PATH": "/opt/lib64/stubs"},
    "only what goes": {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "/old/lib:/old/lib"},
}


def write(tmp_path: Path, shell: str, variables: tuple[Variable, ...] = VARIABLES, name: str = "script") -> Path:
    dialect: Shell = "fish" if shell == FISH else "sh"
    path = tmp_path / name
    path.write_bytes(os.fsencode(render(Environment("/venv/bin/python", "/opt", variables, {}), dialect)))
    return path


def source(shell: str, argument: int = 1) -> str:
    return f"source $argv[{argument}]" if shell == FISH else f'. "${argument}"'


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("shell", SHELLS)
def test_sourced_twice_then_restored(shell: str, situation: str, tmp_path: Path) -> None:
    base = SITUATIONS[situation]
    options = () if shell == FISH else ("-eu",)
    script = write(tmp_path, shell)
    again = f"dump; {source(shell)}; dump; {source(shell)}; dump; sm120kit_restore; dump; {source(shell)}; dump"
    before, once, twice, restored, anew = run_shell(shell, again, base, script, options=options)
    expected = applied(Environment("", "", VARIABLES, {}), base)
    assert before == base
    assert once == expected
    assert twice == expected
    assert restored == before
    assert anew == expected


@pytest.mark.parametrize("shell", POSIX_SHELLS)
def test_a_variable_that_was_set_and_not_exported_is_so_again(shell: str, tmp_path: Path) -> None:
    script = write(tmp_path, shell)
    commands = f'MAX_JOBS=3; {source(shell)}; dump; sm120kit_restore; dump; test "$MAX_JOBS" = 3'
    sourced, restored = run_shell(shell, commands, {"PATH": "/usr/bin:/bin"}, script)
    assert sourced["MAX_JOBS"] == "3"
    assert restored == {"PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize("shell", POSIX_SHELLS)
def test_allexport_lets_no_helper_out(shell: str, tmp_path: Path) -> None:
    base = SITUATIONS["all set"]
    commands = f"set -a; {source(shell)}; dump; after=1; dump"
    sourced, later = run_shell(shell, commands, base, write(tmp_path, shell))
    assert sourced == applied(Environment("", "", VARIABLES, {}), base)
    assert later["after"] == "1"


@pytest.mark.parametrize("shell", SHELLS)
def test_nothing_of_ours_is_left_behind(shell: str, tmp_path: Path) -> None:
    names = "set; functions -an" if shell == FISH else "set; typeset -f" if shell in ("bash", "zsh") else "set"
    look = f"begin; {names}; end" if shell == FISH else f"{{ {names}; }}"
    sourced, restored = tmp_path / "sourced", tmp_path / "restored"
    commands = f"{source(shell)}; {look} >'{sourced}'; sm120kit_restore; {look} >'{restored}'; dump"
    run_shell(shell, commands, {"PATH": "/usr/bin:/bin"}, write(tmp_path, shell))
    ours = re.compile(rb"^_*sm120kit", re.MULTILINE)
    assert ours.search(sourced.read_bytes())
    assert not ours.search(restored.read_bytes())


@pytest.mark.parametrize("shell", SHELLS)
def test_what_was_changed_since_is_kept_when_sourced_again(shell: str, tmp_path: Path) -> None:
    change = "set -gx PATH /mine $PATH; set -gx MAX_JOBS 1" if shell == FISH else "PATH=/mine:$PATH; MAX_JOBS=1"
    commands = f"{source(shell)}; {change}; {source(shell)}; dump; sm120kit_restore; dump"
    sourced, restored = run_shell(shell, commands, {"PATH": "/usr/bin:/bin"}, write(tmp_path, shell))
    assert sourced["PATH"] == f"/venv/{HARD}/bin:/opt/bin:/mine:/usr/bin:/bin"
    assert sourced["MAX_JOBS"] == "1"
    assert restored == {"PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_newer_script_takes_over_and_restore_goes_back_to_the_very_first(shell: str, tmp_path: Path) -> None:
    older = write(tmp_path, shell)
    newer = write(
        tmp_path,
        shell,
        (
            Variable("CUDA_HOME", "set", "Another.", "/new"),
            Variable("MAX_JOBS", "set-if-unset", "More memory.", "8"),
            Variable("TRITON_PTXAS_PATH", "set", "Newer.", "/new/bin/ptxas"),
        ),
        "newer",
    )
    base = {"PATH": "/usr/bin:/bin", "CUDA_HOME": "/first"}
    other = f"source '{newer}'" if shell == FISH else f". '{newer}'"
    commands = f"{source(shell)}; {other}; dump; sm120kit_restore; dump"
    sourced, restored = run_shell(shell, commands, base, older)
    assert (sourced["CUDA_HOME"], sourced["MAX_JOBS"], sourced["TRITON_PTXAS_PATH"]) == ("/new", "8", "/new/bin/ptxas")
    assert restored == base


def test_an_unset_path_keeps_the_system_reachable(tmp_path: Path) -> None:
    script = write(tmp_path, "dash")
    (sourced,) = run_shell("dash", f"unset PATH; {source('dash')}; dump", {}, script)
    assert sourced["PATH"] == f"/venv/{HARD}/bin:/opt/bin:/usr/bin:/bin"


def test_odd_separators_and_no_globbing_do_not_matter(tmp_path: Path) -> None:
    base = SITUATIONS["all set"]
    for shell in ("dash", "bash"):
        (sourced,) = run_shell(shell, f"IFS=/:a; set -fC; {source(shell)}; dump", base, write(tmp_path, shell))
        assert sourced == applied(Environment("", "", VARIABLES, {}), base)
