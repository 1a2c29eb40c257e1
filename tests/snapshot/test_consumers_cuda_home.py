"""The CUDA home that each consumer takes, in the same environments side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sm120kit.snapshot.facts import Known, Source, Unknown
from sm120kit.snapshot.types.toolkits import Consumer
from tests.snapshot.image import VENV, Image

EVERYONE = ("torch.utils.cpp_extension", "flashinfer", "sglang", "tvm-ffi", "deep_gemm")


@dataclass(frozen=True)
class Place:
    """An environment and what the common rule makes of it. ``home`` ``None``: no CUDA home."""

    name: str
    variables: dict[str, str] = field(default_factory=dict)
    programs: tuple[str, ...] = ("/usr/bin/which",)
    folders: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    home: str | None = None
    found_via: str = ""
    otherwise: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    """Consumers that differ: their home and ``found_via``."""


WHICH = "/usr/bin/which"
PLACES = [
    Place("nothing at all", otherwise={"sglang": ("/usr/local/cuda", "/usr/local/cuda")}),
    Place("CUDA_HOME", {"CUDA_HOME": "/opt/cuda", "CUDA_PATH": "/opt/other"}, home="/opt/cuda", found_via="CUDA_HOME"),
    Place("CUDA_HOME with a slash", {"CUDA_HOME": "/opt/cuda/"}, home="/opt/cuda/", found_via="CUDA_HOME"),
    Place(
        "CUDA_HOME wins over nvcc on PATH",
        {"CUDA_HOME": "/opt/cuda"},
        programs=(WHICH, "/usr/bin/nvcc"),
        home="/opt/cuda",
        found_via="CUDA_HOME",
    ),
    Place("CUDA_PATH alone", {"CUDA_PATH": "/opt/other"}, home="/opt/other", found_via="CUDA_PATH"),
    Place(
        "an empty CUDA_HOME gives way to CUDA_PATH",
        {"CUDA_HOME": "", "CUDA_PATH": "/opt/other"},
        home="/opt/other",
        found_via="CUDA_PATH",
    ),
    Place(
        "an empty CUDA_HOME alone counts as unset",
        {"CUDA_HOME": ""},
        programs=(WHICH, "/usr/bin/nvcc"),
        home="/usr",
        found_via="nvcc on PATH",
    ),
    Place(
        "an empty CUDA_PATH is an answer", {"CUDA_PATH": ""}, programs=(WHICH, "/usr/bin/nvcc"), found_via="CUDA_PATH"
    ),
    Place("both empty", {"CUDA_HOME": "", "CUDA_PATH": ""}, folders=("/usr/local/cuda",), found_via="CUDA_PATH"),
    Place(
        "a wrapper in /usr/local/bin",
        programs=(WHICH, "/usr/local/bin/nvcc", "/usr/local/cuda/bin/nvcc"),
        home="/usr/local",
        found_via="nvcc on PATH",
    ),
    Place(
        "a link in the venv is not resolved",
        programs=(WHICH, "/usr/local/cuda-13.0/bin/nvcc"),
        links=((f"{VENV}/bin/nvcc", "/usr/local/cuda-13.0/bin/nvcc"),),
        home=VENV,
        found_via="nvcc on PATH",
    ),
    Place(
        "the distribution's nvcc comes first",
        {"PATH": "/usr/bin:/usr/local/cuda/bin"},
        programs=(WHICH, "/usr/bin/nvcc", "/usr/local/cuda/bin/nvcc"),
        home="/usr",
        found_via="nvcc on PATH",
    ),
    Place(
        "a dangling link is passed over",
        {"PATH": "/usr/local/bin:/usr/bin:/usr/local/cuda/bin"},
        programs=(WHICH, "/usr/local/cuda/bin/nvcc"),
        links=(("/usr/local/bin/nvcc", "/gone"),),
        home="/usr/local/cuda",
        found_via="nvcc on PATH",
    ),
    Place("the default exists", folders=("/usr/local/cuda",), home="/usr/local/cuda", found_via="/usr/local/cuda"),
    Place(
        "the default is a dangling link",
        links=(("/usr/local/cuda", "/usr/local/cuda-12.0"),),
        otherwise={"sglang": ("/usr/local/cuda", "/usr/local/cuda")},
    ),
    Place(
        "no program named which",
        programs=("/usr/local/bin/nvcc",),
        home="/usr/local",
        found_via="nvcc on PATH",
        otherwise={"flashinfer": (None, "")},
    ),
]


@pytest.fixture
def image(tmp_path: Path) -> Image:
    """All five consumers in their newest versions, and a torch for CUDA."""
    made = Image(tmp_path)
    made.install_torch()
    for name, version in (
        ("flashinfer-python", "0.7.2.post1"),
        ("sglang", "0.5.23"),
        ("apache-tvm-ffi", "0.1.11"),
        ("sgl-deep-gemm", "0.2.3.post2"),
    ):
        made.install(name, version)
    return made


def furnish(image: Image, place: Place) -> None:
    """Put the programs, folders and links of a place into the image."""
    for program in place.programs:
        image.program(program)
    for folder in place.folders:
        image.folder(folder)
    for path, text in place.links:
        image.link(path, text)


@pytest.mark.parametrize("name", EVERYONE)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_each_consumer_takes_its_home(image: Image, place: Place, name: str) -> None:
    furnish(image, place)
    consumer = image.consumers(place.variables)[name]
    home, found_via = place.otherwise.get(name, (place.home, place.found_via))
    assert consumer.found_via == found_via
    if home is None:
        assert isinstance(consumer.cuda_home, Unknown)
        return
    assert isinstance(consumer.cuda_home, Known)
    assert consumer.cuda_home.value == home
    assert consumer.nvcc == Known(f"{home.rstrip('/')}/bin/nvcc", consumer.cuda_home.source)


def reason(consumer: Consumer) -> str:
    """Why it has no CUDA home."""
    assert isinstance(consumer.cuda_home, Unknown)
    return consumer.cuda_home.reason


def test_the_reasons_say_what_was_looked_for(image: Image) -> None:
    consumers = image.consumers({"CUDA_PATH": ""})
    assert "CUDA_PATH is set and empty" in reason(consumers["torch.utils.cpp_extension"])
    consumers = image.consumers()
    assert "no nvcc is on PATH, and there is no /usr/local/cuda" in reason(consumers["tvm-ffi"])
    assert "runs the program which" in reason(consumers["flashinfer"])
    assert "set CUDA_HOME" in reason(consumers["flashinfer"])


def test_an_empty_home_makes_flashinfer_call_bin_nvcc(image: Image) -> None:
    """build.ninja says ``$cuda_home/bin/nvcc``; the others join paths, and theirs is relative to nowhere."""
    consumers = image.consumers({"CUDA_PATH": ""})
    nvcc = consumers["flashinfer"].nvcc
    assert isinstance(nvcc, Known)
    assert nvcc.value == "/bin/nvcc"
    assert isinstance(consumers["sglang"].nvcc, Unknown)


def test_the_option_is_called_by_its_name(image: Image) -> None:
    consumers = image.consumers({"CUDA_HOME": "/opt/cuda", "CUDA_PATH": "/opt/cuda"}, cuda_home="/opt/cuda")
    for name in EVERYONE:
        assert consumers[name].cuda_home == Known("/opt/cuda", Source("option", "--cuda-home"))
        assert consumers[name].found_via == "--cuda-home"


def test_hidden_system_toolkits_are_not_found_by_searching(image: Image) -> None:
    for program in (WHICH, "/usr/local/bin/nvcc", "/usr/local/cuda/bin/nvcc"):
        image.program(program)
    hidden = image.consumers(system_toolkits=False)
    assert isinstance(hidden["flashinfer"].cuda_home, Unknown)
    named = image.consumers({"CUDA_HOME": "/usr/local/cuda"}, system_toolkits=False)
    assert isinstance(named["flashinfer"].cuda_home, Known)
    image.program(f"{VENV}/bin/nvcc")
    own = image.consumers(system_toolkits=False)["flashinfer"].cuda_home
    assert isinstance(own, Known)
    assert own.value == VENV
