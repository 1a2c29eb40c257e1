"""After sourcing, a plain c++ finds libcudart and libcuda; what it links is not tied to the stub's folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sm120kit.diagnosis import Case
from sm120kit.environment import compute, render
from tests import builders as made
from tests.environment.readers import FISH, run_shell
from tests.programs import require_program

_USER = "int cudaFree(void *); int cuInit(unsigned); int both(void) { return cudaFree(0) + cuInit(0); }"


def compile_shared(text: str, path: Path, soname: str) -> None:
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{soname}", "-x", "c", "-", "-o", str(path)],
        input=text.encode(),
        check=True,
        timeout=30,
    )


@pytest.fixture
def view(tmp_path: Path) -> Path:
    """The link folders of a toolkit view, below a name that needs quoting."""
    home = tmp_path / "it's a $view"
    stubs = home / "lib64" / "stubs"
    stubs.mkdir(parents=True)
    compile_shared("int cudaFree(void *p) { return 0; }", home / "lib64" / "libcudart.so.13", "libcudart.so.13")
    (home / "lib64" / "libcudart.so").symlink_to("libcudart.so.13")
    compile_shared("int cuInit(unsigned f) { return 34; }", stubs / "libcuda.so", "libcuda.so.1")
    return home


@pytest.mark.parametrize("shell", ["dash", "bash", FISH])
def test_a_plain_link_line_works_after_sourcing(shell: str, view: Path, tmp_path: Path) -> None:
    require_program("gcc", "c++", "readelf", shell)
    part, module = tmp_path / "x.o", tmp_path / "x.so"
    subprocess.run(
        ["gcc", "-fPIC", "-x", "c", "-c", "-", "-o", str(part)], input=_USER.encode(), check=True, timeout=30
    )
    link = ["c++", str(part), "-shared", "-o", str(module), "-lcudart", "-lcuda"]
    base = {"PATH": os.environ["PATH"]}
    before = subprocess.run(link, env=base, capture_output=True, text=True, timeout=30, check=False)
    assert before.returncode != 0
    assert "cannot find -lcuda" in before.stderr

    script = tmp_path / "script"
    environment = compute(Case(made.snapshot()), str(view))
    script.write_bytes(os.fsencode(render(environment, "fish" if shell == FISH else "sh")))
    source = "source $argv[1]" if shell == FISH else '. "$1"'
    (seen,) = run_shell(shell, f"{source}; dump; {' '.join(link)}", base, script)
    assert "LD_LIBRARY_PATH" not in seen
    assert shutil.which("c++", path=seen["PATH"])
    needed = subprocess.run(["readelf", "-d", str(module)], capture_output=True, text=True, timeout=30, check=True)
    assert "libcudart.so.13" in needed.stdout
    assert "libcuda.so.1" in needed.stdout
    assert "RUNPATH" not in needed.stdout
