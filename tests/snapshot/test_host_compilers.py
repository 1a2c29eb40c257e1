"""Host compilers: by name in an image, by asking on a live target."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.host_compilers import read_host_compilers
from sm120kit.snapshot.types.snapshot import Target
from sm120kit.snapshot.types.toolkits import HostCompiler
from tests.programs import require_program
from tests.snapshot.image import Image

DEBIAN_GCC = "c++ (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.\n"
DEBIAN_CLANG = "Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\nInstalledDir: /usr/bin\n"


def live(path: str, **variables: str) -> Context:
    """A target of this machine with another PATH."""
    target = Target("interpreter", "/usr/bin/python3", "a test")
    return Context(Files(), {"PATH": path, **variables}, (), live=True, target=target)


def says(folder: Path, name: str, text: str) -> Path:
    """A program that prints a text whatever it is asked."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.txt").write_text(text)
    program = folder / name
    program.write_text(f'#!/bin/sh\nexec /bin/cat "{folder}/{name}.txt"\n')
    program.chmod(0o755)
    return program


def by_command(compilers: tuple[HostCompiler, ...]) -> dict[str, HostCompiler]:
    """Each under the name it is called by; none twice."""
    found = {compiler.command: compiler for compiler in compilers}
    assert len(found) == len(compilers)
    return found


def value(fact: Fact[str]) -> str:
    """The value; empty where it is unknown."""
    return fact.value if isinstance(fact, Known) else ""


def test_names_tell_versions_in_an_image(tmp_path: Path) -> None:
    image = Image(tmp_path)
    for program in ("x86_64-linux-gnu-g++-12", "x86_64-linux-gnu-gcc-12", "g++-13", "gcc-ar-12", "cloc"):
        image.program(f"/usr/bin/{program}")
    image.program("/usr/lib/llvm-14/bin/clang")
    image.link("/usr/bin/g++", "g++-12")
    image.link("/usr/bin/g++-12", "x86_64-linux-gnu-g++-12")
    image.link("/usr/bin/c++", "/etc/alternatives/c++")
    image.link("/etc/alternatives/c++", "/usr/bin/g++")
    image.link("/usr/bin/gcc", "x86_64-linux-gnu-gcc-12")
    image.link("/usr/bin/clang", "../lib/llvm-14/bin/clang")
    image.link("/bin", "usr/bin")
    found = by_command(read_host_compilers(image.context({"PATH": "/usr/bin:/bin"})))
    assert {name: (each.kind, value(each.version)) for name, each in found.items()} == {
        "c++": ("gcc", "12"),
        "g++": ("gcc", "12"),
        "gcc": ("gcc", "12"),
        "clang": ("clang", "14"),
        "g++-12": ("gcc", "12"),
        "g++-13": ("gcc", "13"),
    }
    assert value(found["g++-13"].path) == "/usr/bin/g++-13"


def test_c_plus_plus_that_is_clang(tmp_path: Path) -> None:
    image = Image(tmp_path)
    image.program("/usr/lib/llvm-19/bin/clang")
    image.link("/usr/bin/c++", "/usr/lib/llvm-19/bin/clang")
    found = by_command(read_host_compilers(image.context()))
    assert (found["c++"].kind, value(found["c++"].version)) == ("clang", "19")


def test_a_name_that_does_not_tell_is_unknown_in_an_image(tmp_path: Path) -> None:
    """As on Red Hat, where /usr/bin/g++ is the file itself."""
    image = Image(tmp_path)
    image.program("/usr/bin/c++")
    compiler = by_command(read_host_compilers(image.context()))["c++"]
    assert compiler.kind == "gcc"
    assert isinstance(compiler.version, Unknown)
    assert "/usr/bin/c++" in compiler.version.reason


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("/opt/gone/g++", "/opt/gone/g++ is not there or cannot be executed"),
        ("g++-99", "g++-99 is not on PATH"),
        ("ccache", "'ccache' names no compiler"),
        ("'g++", '"\'g++" names no compiler'),
    ],
)
def test_a_missing_compiler_that_a_variable_names(tmp_path: Path, command: str, reason: str) -> None:
    found = by_command(read_host_compilers(Image(tmp_path).context({"CC": command})))
    assert found[command].path == Unknown(reason)
    assert found["c++"].path == Unknown("c++ is not on PATH")


def test_a_real_compiler_whose_name_does_not_tell_is_asked(tmp_path: Path) -> None:
    require_program("c++")
    real = shutil.which("c++")
    wrapper = tmp_path / "c++"
    wrapper.write_text(f'#!/bin/sh\nexec {real} "$@"\n')
    wrapper.chmod(0o755)
    compiler = by_command(read_host_compilers(live(f"{tmp_path}:{os.environ['PATH']}")))["c++"]
    assert compiler.kind in ("gcc", "clang")
    assert value(compiler.version).count(".") >= 1
    assert isinstance(compiler.version, Known)
    assert compiler.version.source.kind == "command"


@pytest.mark.parametrize(
    ("name", "text", "kind", "version"),
    [
        ("c++", DEBIAN_GCC, "gcc", "12.2.0"),
        ("c++", "c++ (GCC) 11.4.1 20231218 (Red Hat 11.4.1-3)\nCopyright (C) 2021\n", "gcc", "11.4.1"),
        ("c++", "x86_64-conda-linux-gnu-c++ (conda-forge gcc 13.3.0-1) 13.3.0\n", "gcc", "13.3.0"),
        ("c++", "c++ (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0\n", "gcc", "13.3.0"),
        ("c++", DEBIAN_CLANG, "clang", "14.0.6"),
        ("mpicc", DEBIAN_GCC, "other", "12.2.0"),
        ("icpx", "Intel(R) oneAPI DPC++/C++ Compiler 2024.0.0 (2024.0.0.20231017)\n", "other", ""),
        ("nvc++", "\nnvc++ 25.1-0 64-bit target on x86-64 Linux -tp znver3\n", "other", ""),
        ("c++", "", "gcc", ""),
        ("c++", "\x1b[31m\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), "gcc", ""),
    ],
)
def test_what_compilers_answer(tmp_path: Path, name: str, text: str, kind: str, version: str) -> None:
    program = says(tmp_path / "bin", name, text)
    found = by_command(read_host_compilers(live(str(program.parent), CXX=str(program))))
    assert (found[str(program)].kind, value(found[str(program)].version)) == (kind, version)


def test_arguments_and_launchers_are_kept(tmp_path: Path) -> None:
    says(tmp_path / "bin", "g++-new", "g++ (GCC) 15.1.0\n")
    launcher = tmp_path / "bin" / "ccache"
    launcher.write_text('#!/bin/sh\necho "$@" > "${0%/*}/arguments"\nexec "$@"\n')
    launcher.chmod(0o755)
    command = "ccache g++-new -m64"
    found = by_command(read_host_compilers(live(str(tmp_path / "bin"), CC=command)))
    assert value(found[command].version) == "15.1.0"
    assert value(found[command].path) == str(tmp_path / "bin" / "g++-new")
    assert (tmp_path / "bin" / "arguments").read_text().split() == ["g++-new", "-m64", "--version"]


def test_ccbin_of_nvccs_own_variables_and_a_folder(tmp_path: Path) -> None:
    says(tmp_path / "a", "gcc", "gcc (GCC) 14.2.0\n")
    says(tmp_path / "b", "g++", "g++ (GCC) 13.1.0\n")
    context = live(
        "/nowhere", NVCC_CCBIN=str(tmp_path / "a"), NVCC_APPEND_FLAGS=f"-O2 -ccbin={tmp_path}/b/g++ --threads 2"
    )
    found = by_command(read_host_compilers(context))
    assert value(found[str(tmp_path / "a")].version) == "14.2.0"
    assert value(found[f"{tmp_path}/b/g++"].version) == "13.1.0"


def test_only_what_would_be_called_is_started(tmp_path: Path) -> None:
    """g++, cc and clang are not; gcc, which nvcc calls by default, is, because its name tells nothing."""
    folder = tmp_path / "bin"
    for name in ("c++", "g++", "gcc", "cc", "clang", "clang++"):
        program = says(folder, name, "c++ (GCC) 12.2.0\n")
        program.write_text(program.read_text().replace("exec", f'echo {name} >> "{folder}/started"\nexec'))
    read_host_compilers(live(str(folder)))
    assert sorted((folder / "started").read_text().split()) == ["c++", "gcc"]


def test_gcc_is_not_started_where_its_name_tells(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    says(folder, "c++", "c++ (GCC) 12.2.0\n")
    program = says(folder, "x86_64-linux-gnu-gcc-12", "gcc (GCC) 12.2.0\n")
    program.write_text(f'#!/bin/sh\ntouch "{folder}/started"\n')
    (folder / "gcc").symlink_to(program.name)
    found = by_command(read_host_compilers(live(str(folder))))
    assert (value(found["gcc"].version), value(found["c++"].version)) == ("12", "12.2.0")
    assert not (folder / "started").exists()
