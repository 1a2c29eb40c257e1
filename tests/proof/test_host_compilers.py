"""A host compiler that is not there is said as such, and not as a fault of the toolkit."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from sm120kit.diagnosis.case import Case
from sm120kit.proof.execute import prove
from sm120kit.proof.host_compilers import absent_compiler
from sm120kit.proof.ladder import ladder
from sm120kit.proof.types import ProofReport, Rung
from sm120kit.report.proof import render_proof
from sm120kit.snapshot.types.toolkits import LinkProbe
from tests.builders import CU13, flashinfer, known, snapshot, toolkit

BY_NVCC = Rung("compile", (), "a kernel compiles", ("/opt/cuda/bin/nvcc",), host_compilers=("nvcc",))
BY_LINK = Rung("link", (), "the linker finds it", ("c++",), host_compilers=("link",))


@pytest.fixture
def programs(tmp_path: Path) -> str:
    for name in ("gcc", "c++", "ccache", "gcc-14"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("rung", "variables", "reason"),
    [
        (BY_NVCC, {}, ""),
        (BY_LINK, {}, ""),
        (Rung("load", (), "", ("python3",)), {"PATH": ""}, ""),
        (BY_NVCC, {"PATH": ""}, "no gcc/c++ on PATH"),
        (BY_LINK, {"PATH": ""}, "no gcc/c++ on PATH"),
        (BY_LINK, {"CXX": "g++-14"}, "no g++-14, which CXX names, on PATH"),
        (BY_NVCC, {"CXX": "g++-14"}, ""),
        (BY_LINK, {"CXX": "ccache c++ -m64"}, ""),
        (BY_LINK, {"CXX": "ccache g++-14"}, "no g++-14, which CXX names, on PATH"),
        (BY_LINK, {"CXX": "distcc c++"}, "no distcc, which CXX names, on PATH"),
        (BY_NVCC, {"NVCC_CCBIN": "gcc-14"}, ""),
        (BY_NVCC, {"NVCC_CCBIN": "/opt/gcc"}, "/opt/gcc, which NVCC_CCBIN names, is not there or cannot be run"),
        (BY_NVCC, {"NVCC_APPEND_FLAGS": "-G -ccbin=gcc-13"}, "no gcc-13, which NVCC_APPEND_FLAGS names, on PATH"),
    ],
)
def test_which_compiler_is_absent(programs: str, rung: Rung, variables: dict[str, str], reason: str) -> None:
    found = absent_compiler(rung, {"PATH": programs, **variables})
    assert (found.reason if found else "") == reason
    assert found is None or found.remedy


def test_the_folder_of_a_compiler_may_be_named(programs: str) -> None:
    assert absent_compiler(BY_NVCC, {"PATH": "", "NVCC_CCBIN": programs}) is None


def case() -> Case:
    link = LinkProbe(CU13, ("flashinfer",), ("ccache", "c++", "-shared", "-nostdlib", "-lcuda"), False, known(()))
    return Case(snapshot(toolkits=(toolkit(),), consumers=(flashinfer(),), link_probes=(link,)))


def proved_without_path() -> ProofReport:
    return prove(case(), case().toolkits[0], (), {"PATH": ""})


def test_without_a_compiler_nothing_is_proved_and_nothing_failed() -> None:
    report = proved_without_path()
    outcomes = {proof.rung: proof.outcome for proof in report.proofs if proof.rung != "load"}
    assert set(outcomes.values()) == {"not-run"}
    assert {"link", "compile", "cub"} <= outcomes.keys()
    assert not report.passed
    tried = tuple(proof for proof in report.proofs if proof.rung != "load")
    text = render_proof(replace(report, proofs=tried), width=110, colour=False)
    assert "Not proved: no gcc/c++ on PATH." in text
    assert text.count("Install gcc and g++") == 1
    assert "FAILED" not in text


def test_the_words_of_a_compiler_stay_together() -> None:
    link = next(rung for rung in ladder(case(), case().toolkits[0]) if rung.name == "link")
    assert link.command[:3] == ("ccache", "c++", "-shared")
