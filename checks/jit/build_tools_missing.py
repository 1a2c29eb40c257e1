"""ninja or a host compiler is not on PATH, and something that compiles at run time calls it by name

## What it finds
A target in which FlashInfer, SGLang or Triton must compile, without `ninja`, `c++` or `gcc` on PATH.

## Why it matters
The first kernel ends in `FileNotFoundError: [Errno 2] No such file or directory: 'ninja'`, or in `ninja: command not
found`. The package `ninja` puts its program into the environment's own bin folder; a service that is started by the
full path of its interpreter, as systemd units are, does not have that folder on PATH.

## How it is found
The target's PATH is searched, then the environment's own bin folder. A ninja that is only there is a warning where the
variables of a real service were given (`--pid`, `--env-file`), else a note: another shell may have it on PATH. Of a
bare site-packages folder it is not known which programs go with it.

## Remedy
Install ninja into the environment and put its bin folder on PATH; install the system's compiler.

## Sources
- flashinfer-python 0.7.2.post1 jit/cpp_ext.py (run_ninja); apache-tvm-ffi 0.1.11 cpp/extension.py; triton 3.8.0
  runtime/build.py
- NX-AI/xlstm#13; unslothai/unsloth-zoo#1099
"""

import shlex
from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Known,
    LogRemedy,
    Manual,
    NotApplicable,
    Severity,
    Signature,
    at,
    check,
    error,
    finding,
)
from sm120kit.diagnosis.serving import builders, consumer, engine, listed
from sm120kit.snapshot.types.toolkits import Consumer

SIGNATURES = [
    Signature(
        pattern=r"ninja: (?:command )?not found|No such file or directory: 'ninja'"
        r"|Ninja is required to load C\+\+ extensions",
        rank="cause",
        example="RuntimeError: Ninja is required to load C++ extensions (pip install ninja to get it)",
        look_alike="ninja: build stopped: subcommand failed.",
        source="torch 2.13.0 utils/cpp_extension.py; NX-AI/xlstm#13",
        message="ninja, which runs the compilations, is not on PATH",
        remedies=(
            LogRemedy("Install it into the environment of the server", ("python3 -m pip install ninja",)),
            LogRemedy(
                "If it is there: put the bin folder of that environment on the PATH of the server, which a unit or a "
                "container does not do by itself",
                ("export PATH=VENV/bin:$PATH",),
            ),
        ),
    ),
    Signature(
        pattern=r"Failed to find C compiler\. Please specify via CC environment variable",
        rank="cause",
        example="RuntimeError: Failed to find C compiler. Please specify via CC environment variable or set "
        "triton.knobs.build.impl.",
        look_alike="nvcc fatal   : Failed to preprocess host compiler properties.",
        source="triton 3.8.0 runtime/build.py",
        message="Triton finds no C compiler, with which it builds what starts its kernels",
        remedies=(
            LogRemedy("Install one", ("apt-get install gcc", "dnf install gcc")),
            LogRemedy("If there is one under another name, name it", ("export CC=COMPILER",)),
        ),
    ),
]


@check("jit.build-tools-missing")
def build_tools_missing(case: Case) -> Iterator[Finding | CannotTell]:
    compiling, triton = builders(case), consumer(case, "triton") if engine(case) else None
    if not compiling and triton is None:
        raise NotApplicable("nothing installed must compile at run time")
    if compiling:
        yield from _ninja(case, [each.name for each in compiling])
        yield from _host_compiler(case, compiling)
    if triton:
        yield from _c_compiler(case, triton)


def _ninja(case: Case, who: list[str]) -> Iterator[Finding | CannotTell]:
    tools, target = case.snapshot.build_tools, case.snapshot.target
    if isinstance(tools.ninja, Known):
        return
    path = case.snapshot.environment.get("PATH", "")
    if tools.own_ninja:
        folder = tools.own_ninja.rpartition("/")[0]
        serious = target.environment != "this process"
        yield finding(
            Severity.WARNING if serious else Severity.NOTE,
            "ninja",
            f"ninja is in {folder}, which is not on PATH: {listed(who)} will not find it there",
            [at("there, not on PATH", tools.own_ninja), at(f"PATH={path}", target.environment)],
            [Manual("Put the environment's own programs on PATH", (f"export PATH={shlex.quote(folder)}:$PATH",))],
        )
    elif target.kind == "site-packages" or "not looked for" in tools.ninja.reason:
        yield CannotTell("ninja", f"it is not known which programs go with these packages: {tools.ninja.reason}")
    else:
        yield finding(
            Severity.ERROR if target.live else Severity.WARNING,
            "ninja",
            f"there is no ninja, neither on PATH nor beside the interpreter: {listed(who)} cannot compile",
            [at(f"{tools.ninja.reason}: {path}", target.environment)],
            [Manual("Install it into the environment", ("pip install ninja",))],
        )


def _host_compiler(case: Case, compiling: tuple[Consumer, ...]) -> Iterator[Finding | CannotTell]:
    for command in dict.fromkeys(each.host_compiler for each in compiling if each.host_compiler):
        known = next((each for each in case.snapshot.host_compilers if each.command == command), None)
        if known is None or isinstance(known.path, Known):
            continue
        who = [each.name for each in compiling if each.host_compiler == command]
        if case.snapshot.target.kind == "site-packages":
            yield CannotTell(command, f"it is not known which compiler goes with these packages: {known.path.reason}")
            continue
        yield error(
            command,
            f"{listed(who)} {'links' if len(who) == 1 else 'link'} with {command}, and {known.path.reason}",
            [at(known.path.reason, f"PATH={case.snapshot.environment.get('PATH', '')}")],
            [Manual("Install a C++ compiler, or name one by CXX", ("apt-get install g++",))],
        )


def _c_compiler(case: Case, triton: Consumer) -> Iterator[Finding | CannotTell]:
    there = [each for each in case.snapshot.host_compilers if isinstance(each.path, Known)]
    named = case.snapshot.environment.get("CC")
    wanted = (named,) if named else ("gcc", "clang")
    if any(each.command in wanted for each in there) or case.snapshot.target.kind == "site-packages":
        return
    if any(each.command.startswith(("c++", "cc", "g++")) for each in there) and not named:
        # A system that has one of these has gcc or clang by one name or another; that name alone was not listed.
        return
    yield error(
        triton.distribution,
        f"Triton builds its launchers with {named or 'gcc or clang'}, and there is none on PATH: no kernel can start",
        [at("no C compiler", f"PATH={case.snapshot.environment.get('PATH', '')}")],
        [Manual("Install a C compiler, or name one by CC", ("apt-get install gcc",))],
    )
