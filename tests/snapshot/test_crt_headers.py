from __future__ import annotations

from pathlib import Path

import pytest

from sm120kit.snapshot import crt_headers
from sm120kit.snapshot.facts import Known, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.types.toolkits import GlibcGuards, HostCompilerLimits
from tests.snapshot.toolkit_trees import crt, host_runtime, write


@pytest.mark.parametrize(
    ("release", "launch", "limits", "guards"),
    [
        ("12.8", 1, HostCompilerLimits(14, 19), GlibcGuards(False, False)),
        ("13.0", 2, HostCompilerLimits(15, 20), GlibcGuards(True, False)),
        ("13.2", 1, HostCompilerLimits(15, 21), GlibcGuards(True, True)),
        ("13.5", 1, HostCompilerLimits(16, 22), GlibcGuards(True, True)),
    ],
)
def test_what_the_headers_of_a_release_say(
    tmp_path: Path, release: str, launch: int, limits: HostCompilerLimits, guards: GlibcGuards
) -> None:
    write(tmp_path, crt(release))
    files = Files()
    arguments = crt_headers.launch_arguments(files, str(tmp_path))
    assert isinstance(arguments, Known)
    assert (arguments.value, arguments.source.line) == (launch, 2)
    compilers = crt_headers.host_compiler_limits(files, str(tmp_path))
    assert isinstance(compilers, Known)
    assert compilers.value == limits
    assert compilers.source.line == 4
    glibc = crt_headers.glibc_guards(files, str(tmp_path))
    assert isinstance(glibc, Known)
    assert glibc.value == guards


def test_a_distribution_that_patched_the_declaration_counts_as_guarded(tmp_path: Path) -> None:
    text = " double sinpi(double x) noexcept (true);\n double rsqrt(double x);\n"
    write(tmp_path, {"crt/math_functions.h": text})
    glibc = crt_headers.glibc_guards(Files(), str(tmp_path))
    assert isinstance(glibc, Known)
    assert glibc.value == GlibcGuards(sinpi_cospi=True, rsqrt=False)


@pytest.mark.parametrize(
    "text",
    ["", "#define __cudaLaunch(fun\n", host_runtime(1) + host_runtime(2), "#define __cudaLaunch(" * 50_000],
)
def test_an_unknown_form_of_launch_is_unknown(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"crt/host_runtime.h": text})
    assert isinstance(crt_headers.launch_arguments(Files(), str(tmp_path)), Unknown)


@pytest.mark.parametrize("text", ["", "#if __GNUC__ > " + "9" * 5000, "\n" * 1_000_000, "#if __GNUC__ >\n"])
def test_a_header_without_limits_is_unknown(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"crt/host_config.h": text})
    assert isinstance(crt_headers.host_compiler_limits(Files(), str(tmp_path)), Unknown)


def test_a_missing_header_is_unknown_with_its_path(tmp_path: Path) -> None:
    for read in (crt_headers.launch_arguments, crt_headers.host_compiler_limits, crt_headers.glibc_guards):
        fact = read(Files(), str(tmp_path))
        assert isinstance(fact, Unknown)
        assert f"{tmp_path}/crt/" in fact.reason
