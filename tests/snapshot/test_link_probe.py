"""Real linkers asked with the consumers' link lines, in every state of a toolkit's folders."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sm120kit.snapshot.consumers.flashinfer import link_flags
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Known, Source, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.link_probe import ask_linkers, missing_libraries
from sm120kit.snapshot.types.snapshot import Target
from sm120kit.snapshot.types.toolkits import Consumer, LinkProbe, Toolkit
from tests.builders import flashinfer, sglang, toolkit, torch_extensions
from tests.programs import require_program
from tests.snapshot.image import Image


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty shared library."""
    require_program("gcc", "c++")
    made = tmp_path_factory.mktemp("library") / "libempty.so"
    source = made.with_suffix(".c")
    source.write_text("int empty(void) { return 0; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-nostdlib", "-o", str(made), str(source)], check=True)
    return made


@dataclass(frozen=True)
class Machine:
    """A live target whose CUDA lies in ``home``."""

    folder: Path
    library: Path

    @property
    def home(self) -> Path:
        """The CUDA home."""
        return self.folder / "cuda"

    def put(self, *names: str) -> None:
        """Copy the library to these places below ``home``."""
        for name in names:
            place = self.home / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.library, place)

    def context(self, cuda_home: str = "", **variables: str) -> Context:
        """A context with this machine's PATH."""
        target = Target("interpreter", "/usr/bin/python3", "a test", cuda_home=cuda_home)
        return Context(Files(), {"PATH": os.environ["PATH"], **variables}, (), live=True, target=target)

    def ask(self, *consumers: Consumer, toolkits: tuple[Toolkit, ...] = (), **options: str) -> tuple[LinkProbe, ...]:
        """Ask, and see that nothing is left behind."""
        scratch = self.folder / "tmp"
        scratch.mkdir(exist_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TMPDIR", str(scratch))
            probes = ask_linkers(self.context(**options), consumers, toolkits)
        assert list(scratch.iterdir()) == []
        return probes

    def taker(self, make: Any, **changes: Any) -> Consumer:
        """A consumer that takes ``home``."""
        made: Consumer = make(home=str(self.home), **changes)
        return replace(made, cuda_home=Known(str(self.home), Source("variable", "CUDA_HOME")))


@pytest.fixture
def machine(tmp_path: Path, library: Path) -> Machine:
    """A CUDA home without any library."""
    made = Machine(tmp_path, library)
    made.home.mkdir()
    return made


def missing(probe: LinkProbe) -> tuple[str, ...]:
    """What the linker does not find."""
    assert isinstance(probe.missing, Known), probe
    return probe.missing.value


LINKERS = ("bfd", "gold", "lld", "mold")
ALL = ("lib64/libcudart.so", "lib64/stubs/libcuda.so")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ((), ("cudart", "cuda")),
        (("lib/libcudart.so.13",), ("cudart", "cuda")),
        (("lib64/libcudart.so.13",), ("cudart", "cuda")),
        (("lib64/libcudart.so",), ("cuda",)),
        (("lib64/libcudart.so", "lib64/stubs/libcuda.so.1"), ("cuda",)),
        (("lib64/stubs/libcuda.so",), ("cudart",)),
        (("lib/libcudart.so", "lib/stubs/libcuda.so"), ("cudart", "cuda")),
        (ALL, ()),
    ],
)
def test_flashinfers_line_in_every_state(machine: Machine, files: tuple[str, ...], expected: tuple[str, ...]) -> None:
    machine.put(*files)
    (probe,) = machine.ask(machine.taker(flashinfer))
    assert probe.asked
    assert missing(probe) == expected
    home = machine.home
    assert probe.command == (
        "c++",
        "-shared",
        "-nostdlib",
        f"-L{home}/lib64",
        f"-L{home}/lib64/stubs",
        "-lcudart",
        "-lcuda",
    )
    assert (probe.cuda_home, probe.consumers) == (str(home), ("flashinfer",))
    assert all(f"-l{name}" in probe.output for name in expected)


@pytest.mark.parametrize(
    ("version", "flags"),
    [
        ("0.3.1.post1", ("-L/c/lib64", "-lcudart")),
        ("0.4.1", ("-L/c/lib64", "-L/c/lib64/stubs", "-lcudart", "-lcuda")),
        ("0.7.2.post1", ("-L/c/lib64", "-L/c/lib64/stubs", "-lcudart", "-lcuda")),
    ],
)
def test_flashinfers_line_by_version(machine: Machine, version: str, flags: tuple[str, ...]) -> None:
    assert link_flags(machine.context(), "/c", version) == flags


def test_a_dangling_link_is_not_found(machine: Machine) -> None:
    machine.put("lib64/stubs/libcuda.so")
    (machine.home / "lib64" / "libcudart.so").symlink_to("libcudart.so.13")
    (probe,) = machine.ask(machine.taker(flashinfer))
    assert missing(probe) == ("cudart",)


def test_library_path_counts(machine: Machine) -> None:
    machine.put("elsewhere/libcudart.so", "elsewhere/libcuda.so")
    (probe,) = machine.ask(machine.taker(flashinfer), LIBRARY_PATH=f"/nowhere:{machine.home}/elsewhere")
    assert missing(probe) == ()


def test_flashinfers_extra_flags_count(machine: Machine) -> None:
    machine.put("lib/libcudart.so", "b/libcuda.so")
    flags = f"-L{machine.home}/lib -L {machine.home}/b -Wl,-Map={machine.folder}/written -O2"
    (probe,) = machine.ask(machine.taker(flashinfer), FLASHINFER_EXTRA_LDFLAGS=flags)
    assert missing(probe) == ()
    assert probe.command[-2:] == (f"-L{machine.home}/lib", f"-L{machine.home}/b")
    assert not (machine.folder / "written").exists()


@pytest.mark.parametrize(
    ("files", "folder", "expected"),
    [
        (("lib/libcudart.so",), "lib", ()),
        (("lib/libcudart.so", "lib64/other"), "lib64", ("cudart",)),
        ((), "lib64", ("cudart",)),
    ],
)
def test_torch_looks_into_lib_only_without_lib64(
    machine: Machine, files: tuple[str, ...], folder: str, expected: tuple[str, ...]
) -> None:
    machine.put(*files)
    (probe,) = machine.ask(machine.taker(torch_extensions))
    assert probe.command[3:] == (f"-L{machine.home}/{folder}", "-lcudart")
    assert missing(probe) == expected


def test_equal_lines_are_asked_once(machine: Machine) -> None:
    machine.put(*ALL)
    probes = machine.ask(machine.taker(sglang), machine.taker(flashinfer), machine.taker(torch_extensions))
    assert [(probe.consumers, missing(probe)) for probe in probes] == [
        (("sglang", "torch.utils.cpp_extension"), ()),
        (("flashinfer",), ()),
    ]


def test_another_linker_is_another_question(machine: Machine) -> None:
    machine.put(*ALL)
    probes = machine.ask(machine.taker(sglang), machine.taker(torch_extensions, host_compiler="g++ -m64"))
    assert [probe.command[:2] for probe in probes] == [("c++", "-shared"), ("g++", "-m64")]


def test_consumers_without_a_home_or_with_one_that_is_no_folder(machine: Machine) -> None:
    absent = replace(flashinfer(), cuda_home=Known(str(machine.folder / "gone"), Source("variable", "CUDA_HOME")))
    relative = replace(flashinfer(), cuda_home=Known("cuda", Source("variable", "CUDA_HOME")))
    assert machine.ask(absent, relative, flashinfer(home=None)) == ()


def test_a_named_toolkit_is_asked_as_a_jit_consumer_would(machine: Machine) -> None:
    machine.put("lib64/libcudart.so")
    named = toolkit(str(machine.home))
    home = str(machine.home)
    (alone,) = machine.ask(toolkits=(named, toolkit("/opt/other")), cuda_home=home)
    assert (alone.cuda_home, alone.consumers, missing(alone)) == (home, (), ("cuda",))
    (merged,) = machine.ask(machine.taker(flashinfer), toolkits=(named,), cuda_home=home)
    assert merged.consumers == ("flashinfer",)
    both = machine.ask(machine.taker(torch_extensions), toolkits=(named,), cuda_home=home)
    assert [probe.consumers for probe in both] == [("torch.utils.cpp_extension",), ()]
    assert machine.ask(toolkits=(toolkit(home, drop=("nvcc",)),), cuda_home=home) == ()


@pytest.mark.parametrize("how", ["CUDA_HOME", "PATH"])
def test_without_consumers_the_toolkit_that_one_would_take(machine: Machine, how: str) -> None:
    nvcc = machine.home / "bin" / "nvcc"
    nvcc.parent.mkdir()
    nvcc.write_bytes(b"\x7fELF")
    nvcc.chmod(0o755)
    variables = {"CUDA_HOME": str(machine.home)}
    if how == "PATH":
        variables = {"PATH": f"{nvcc.parent}:{os.environ['PATH']}"}
    toolkits = (toolkit("/opt/other"), toolkit(str(machine.home)))
    (probe,) = machine.ask(toolkits=toolkits, **variables)
    assert (probe.cuda_home, probe.consumers) == (str(machine.home), ())
    assert missing(probe) == ("cudart", "cuda")


def test_a_library_for_another_machine_is_no_missing_one(machine: Machine) -> None:
    machine.put(*ALL)
    header = bytearray(machine.library.read_bytes())
    header[18:20] = (0xF3).to_bytes(2, "little")  # EM_RISCV
    (machine.home / "lib64" / "libcudart.so").write_bytes(header)
    (probe,) = machine.ask(machine.taker(flashinfer))
    assert probe.asked
    assert isinstance(probe.missing, Unknown)
    assert f"{machine.home}/lib64/libcudart.so" in probe.missing.reason


def test_a_library_that_is_cut_short(machine: Machine) -> None:
    machine.put(*ALL)
    (machine.home / "lib64" / "libcudart.so").write_bytes(b"\x7fELF\x02\x01\x01")
    (probe,) = machine.ask(machine.taker(flashinfer))
    assert isinstance(probe.missing, Unknown)
    assert "libcudart.so" in probe.missing.reason


@pytest.mark.parametrize("linker", [name for name in LINKERS if shutil.which(f"ld.{name}")])
def test_every_linker_that_is_here(machine: Machine, linker: str) -> None:
    """What the others print is below, as they printed it."""
    flags = f"-fuse-ld={linker}"
    (probe,) = machine.ask(machine.taker(flashinfer), FLASHINFER_EXTRA_LDFLAGS=flags)
    assert missing(probe) == ("cudart", "cuda")
    machine.put(*ALL)
    (probe,) = machine.ask(machine.taker(flashinfer), FLASHINFER_EXTRA_LDFLAGS=flags)
    assert probe.asked
    assert missing(probe) == ()


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        # GNU ld 2.40, 2.30; gold 2.40; lld 14; mold 1.10
        ("/usr/bin/ld: cannot find -lcudart: No such file or directory\n", ("cudart",)),
        ("/usr/bin/ld: cannot find -lcudart\n/usr/bin/ld: cannot find -lcuda\n", ("cudart", "cuda")),
        (
            "/usr/bin/ld.gold: error: cannot find -lcudart\n/usr/bin/ld.gold: error: cannot find -lcuda\n",
            ("cudart", "cuda"),
        ),
        (
            "ld.lld: error: unable to find library -lcudart\nld.lld: error: unable to find library -lcuda\n",
            ("cudart", "cuda"),
        ),
        ("mold: fatal: library not found: cudart\n", ("cudart",)),
        ("/usr/bin/ld: cannot find -lcuda: No such file\n/usr/bin/ld: cannot find -lcuda: No such file\n", ("cuda",)),
        ("/usr/bin/ld: cannot find -l:libcudart.so.13: No such file or directory\n", (":libcudart.so.13",)),
        ("/usr/bin/ld: cannot find crti.o: No such file or directory\n", ()),
        ("", ()),
    ],
)
def test_what_linkers_print(output: str, expected: tuple[str, ...]) -> None:
    assert missing_libraries(output) == expected


def script(machine: Machine, text: str) -> str:
    """A stand-in for c++."""
    path = machine.folder / "cxx"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


MOLD = """for flag; do case $flag in -l*)
    [ -e "{home}/lib64/lib${{flag#-l}}.so" ] || {{ echo "mold: fatal: library not found: ${{flag#-l}}" >&2; exit 1; }}
esac; done; echo "mold: fatal: no input files" >&2; exit 1"""


@pytest.mark.parametrize(
    ("files", "expected"),
    [((), ("cudart", "cuda")), (("lib64/libcudart.so",), ("cuda",)), (("lib64/libcudart.so", "lib64/libcuda.so"), ())],
)
def test_mold_stops_at_the_first_and_wants_an_object(
    machine: Machine, files: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    machine.put(*files)
    (probe,) = machine.ask(machine.taker(flashinfer, host_compiler=script(machine, MOLD.format(home=machine.home))))
    assert probe.asked
    assert missing(probe) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "echo 'first words' >&2; echo 'cxx: error: unrecognized option' >&2; exit 1",
            "cxx: error: unrecognized option",
        ),
        ("exit 3", "the linker ended with 3: it printed nothing"),
        (r"printf '\377\376\033[31m broken' >&2; exit 1", "the linker ended with 1: "),
    ],
)
def test_another_failure_is_unknown(machine: Machine, text: str, says: str) -> None:
    (probe,) = machine.ask(machine.taker(flashinfer, host_compiler=script(machine, text)))
    assert isinstance(probe.missing, Unknown)
    assert says in probe.missing.reason


def test_many_words_are_cut(machine: Machine) -> None:
    text = "i=0; while [ $i -lt 999 ]; do echo 'ld: cannot find -lcudart' >&2; i=$((i+1)); done; exit 1"
    (probe,) = machine.ask(machine.taker(flashinfer, host_compiler=script(machine, text)))
    assert missing(probe) == ("cudart",)
    assert len(probe.output) == 4096


def test_the_linker_speaks_english(machine: Machine) -> None:
    text = '[ "$LC_ALL" = C ] || exit 9; echo "ld: cannot find -lcuda" >&2; exit 1'
    taker = machine.taker(flashinfer, host_compiler=script(machine, text))
    (probe,) = machine.ask(taker, LC_ALL="de_DE.UTF-8")
    assert missing(probe) == ("cuda",)


@pytest.mark.parametrize("host_compiler", ["/nowhere/g++", "no-such-compiler -m64"])
def test_without_a_compiler_names_are_judged(machine: Machine, host_compiler: str) -> None:
    machine.put("lib64/libcudart.so")
    (probe,) = machine.ask(machine.taker(flashinfer, host_compiler=host_compiler))
    assert not probe.asked
    assert missing(probe) == ("cuda",)
    assert f"{host_compiler.split()[0]} is not on PATH" in probe.output


def test_a_compiler_without_a_linker_lets_names_be_judged(machine: Machine) -> None:
    machine.put(*ALL)
    text = "echo \"collect2: fatal error: cannot find 'ld'\" >&2; echo 'compilation terminated.' >&2; exit 1"
    (probe,) = machine.ask(machine.taker(flashinfer, host_compiler=script(machine, text)))
    assert not probe.asked
    assert missing(probe) == ()


def test_an_empty_cxx_links_nothing(machine: Machine) -> None:
    (probe,) = machine.ask(machine.taker(flashinfer, host_compiler=""))
    assert isinstance(probe.missing, Unknown)
    assert "CXX" in probe.missing.reason


@pytest.mark.parametrize(
    ("files", "variables", "expected"),
    [
        ((), {}, ("cudart", "cuda")),
        (("/opt/cuda/lib64/libcudart.so",), {}, ("cuda",)),
        (("/opt/cuda/lib64/libcudart.a", "/usr/lib/x86_64-linux-gnu/libcuda.so"), {}, ()),
        (("/opt/cuda/lib64/libcudart.so.13", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"), {}, ("cudart", "cuda")),
        (("/s/libcudart.so", "/s/libcuda.so"), {"LIBRARY_PATH": ":/s"}, ()),
        (("/opt/cuda/lib/libcudart.so", "/usr/lib64/libcuda.so"), {"FLASHINFER_EXTRA_LDFLAGS": "-L/opt/cuda/lib"}, ()),
    ],
)
def test_an_image_is_judged_by_names(
    tmp_path: Path, files: tuple[str, ...], variables: dict[str, str], expected: tuple[str, ...]
) -> None:
    image = Image(tmp_path)
    image.install("flashinfer-python", "0.7.2")
    image.folder("/opt/cuda")
    for path in files:
        image.file(path)
    environment = {"CUDA_HOME": "/opt/cuda", **variables}
    (probe,) = ask_linkers(image.context(environment), tuple(image.consumers(environment).values()), ())
    assert not probe.asked
    assert missing(probe) == expected
    assert probe.command[:3] == ("c++", "-shared", "-nostdlib")


def test_no_place_for_a_scratch_file(machine: Machine) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(machine.folder / "gone"))
        (probe,) = ask_linkers(machine.context(), (machine.taker(flashinfer),), ())
    assert isinstance(probe.missing, Unknown)
    assert "no temporary folder can be made" in probe.missing.reason
