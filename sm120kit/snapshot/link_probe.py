"""Asks the consumer's own linker whether its link line finds its libraries: about 10 ms each, nothing compiled.

``$CXX -shared -nostdlib`` without any object works with GNU ld, gold and lld. mold says "no input files" after it has
found all libraries, and stops at the first one that it does not find. Plain ld would be no witness: it knows neither
LIBRARY_PATH nor the folders of a conda compiler.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterator, Sequence

from sm120kit.patterns import pattern
from sm120kit.snapshot.compiler_command import words
from sm120kit.snapshot.consumers import RULES
from sm120kit.snapshot.consumers.cuda_home import choose
from sm120kit.snapshot.consumers.matching import tree_behind
from sm120kit.snapshot.consumers.visibility import visible
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.runner import RunFailure
from sm120kit.snapshot.types.toolkits import Consumer, LinkProbe, Toolkit

OUTPUT_LIMIT = 4 << 10
"""Characters kept of a linker's words."""

_MISSING = pattern(
    r"(?:cannot find|unable to find library) -l(:?[^\s:]+)"  # GNU ld and gold; lld
    r"|library not found: (\S+)"  # mold
)
_STOPS_AT_FIRST = "library not found: "
_NO_LINKER = pattern(r"fatal error: cannot find '\S*ld\S*'|unable to execute command: Executable \"\S*ld\S*\"")
"""gcc, clang."""
_SUMMARY = pattern("ld returned|linker command failed|compilation terminated")
_LINKER_DIRS = (
    "/usr/local/lib/{triplet}", "/lib/{triplet}", "/usr/lib/{triplet}", "/usr/local/lib64", "/lib64", "/usr/lib64",
    "/usr/local/lib", "/lib", "/usr/lib",
)  # fmt: skip
"""SEARCH_DIR of GNU ld's own script (``ld --verbose``), as Debian and Fedora build it."""
_TRIPLETS = ("x86_64-linux-gnu", "aarch64-linux-gnu")

_Question = tuple[str, tuple[str, ...]]
"""A CUDA home, and the command without its output file."""


def ask_linkers(context: Context, consumers: Sequence[Consumer], toolkits: Sequence[Toolkit]) -> tuple[LinkProbe, ...]:
    """One probe for each distinct link line of the consumers, and for a toolkit that is named or that nobody takes."""
    questions: dict[_Question, list[str]] = {}
    for question, consumer in _questions_of_consumers(context, consumers):
        questions.setdefault(question, []).append(consumer)
    for toolkit in _toolkits_to_ask(context, toolkits, nobody_links=not questions):
        questions.setdefault((toolkit.home, _default_line(context, toolkit.home)), [])
    answers: dict[_Question, LinkProbe] = {}
    for question in sorted(questions, key=lambda each: -len(each[1])):
        home, command = question
        told = (_told_by(context, question, answer) for answer in answers.values())
        known = next((missing for missing in told if missing is not None), None)
        if known is None:
            answers[question] = _probe(context, home, command, questions[question])
        else:
            answers[question] = LinkProbe(home, tuple(questions[question]), command, asked=True, missing=known)
    return tuple(answers[question] for question in questions)


def _told_by(context: Context, question: _Question, answer: LinkProbe) -> Fact[tuple[str, ...]] | None:
    """What a linker's answer to a longer line says about this one; ``None`` where it leaves that open.

    A library that the longer line misses is missed by this one too, which has fewer folders. One that it finds is
    found here unless it lies in one of the other folders alone.
    """
    home, command = question
    longer = answer.command
    if home != answer.cuda_home or not answer.asked or not isinstance(answer.missing, Known) or command == longer:
        return None
    rest = iter(longer)
    if not all(word in rest for word in command) or "skipping incompatible" in answer.output:
        return None
    others = [word[2:] for word in longer if word.startswith("-L") and word not in command]
    asked_for = [word[2:] for word in command if word.startswith("-l")]
    missing = tuple(name for name in asked_for if name in answer.missing.value)
    if any(_holds(context, folder, name) for name in asked_for if name not in missing for folder in others):
        return None
    return Known(missing, answer.missing.source)


def _questions_of_consumers(context: Context, consumers: Sequence[Consumer]) -> Iterator[tuple[_Question, str]]:
    for consumer in consumers:
        link_flags = RULES[consumer.name].link_flags
        if link_flags is None or isinstance(consumer.cuda_home, Unknown):
            continue
        home, version = consumer.cuda_home.value, consumer.distribution.rpartition(" ")[2]
        named = consumer.cuda_home.source.kind in ("variable", "option")
        if home.startswith("/") and context.files.is_dir(home) and (named or visible(context, home)):
            yield (home, _command(consumer.host_compiler, link_flags(context, home, version))), consumer.name


def _toolkits_to_ask(context: Context, toolkits: Sequence[Toolkit], *, nobody_links: bool) -> Iterator[Toolkit]:
    homes = [context.target.cuda_home] if context.target.cuda_home else []
    if nobody_links:
        nvcc = choose(context, "a JIT consumer").nvcc()
        homes += [tree_behind(context, nvcc.value, toolkits)] if isinstance(nvcc, Known) else []
    for toolkit in toolkits:
        if toolkit.has_nvcc and any(home in (toolkit.home, *toolkit.aliases) for home in homes):
            yield toolkit


def _default_line(context: Context, home: str) -> tuple[str, ...]:
    """FlashInfer's line, which asks for most."""
    flags = (f"-L{home}/lib64", f"-L{home}/lib64/stubs", "-lcudart", "-lcuda")
    return _command(context.environment.get("CXX", "c++"), flags)


def _command(host_compiler: str, flags: tuple[str, ...]) -> tuple[str, ...]:
    return (*words(host_compiler), "-shared", "-nostdlib", *flags)


def _probe(context: Context, home: str, command: tuple[str, ...], consumers: Sequence[str]) -> LinkProbe:
    if command[0].startswith("-"):
        why = Unknown("CXX is set, but names no program, and it is what would link")
        return LinkProbe(home, tuple(consumers), command, asked=False, missing=why)
    program = context.which(command[0])
    if not context.live or program is None:
        return _by_names(context, home, command, consumers, "" if program else f"{command[0]} is not on PATH")
    try:
        missing, output = _ask(context, (program, *command[1:]), command)
    except RunFailure as failure:
        return LinkProbe(home, tuple(consumers), command, asked=True, missing=Unknown(str(failure)))
    if isinstance(missing, Unknown) and _NO_LINKER.search(output):
        return _by_names(context, home, command, consumers, output)
    return LinkProbe(home, tuple(consumers), command, asked=True, missing=missing, output=output[:OUTPUT_LIMIT])


def _ask(context: Context, arguments: tuple[str, ...], command: tuple[str, ...]) -> tuple[Fact[tuple[str, ...]], str]:
    """What the linker misses, and its words.

    Raises:
        RunFailure: it could not be started, or did not end in time.
    """
    missing: tuple[str, ...] = ()
    output, left = "", arguments
    with _scratch_file() as scratch:
        while True:
            ran = context.run((*left, "-o", scratch), extra_environment={"LC_ALL": "C"})
            if not ran.stderr:
                break
            output += ran.stderr
            more = tuple(name for name in missing_libraries(ran.stderr) if name not in missing)
            missing += more
            if not more or _STOPS_AT_FIRST not in ran.stderr:
                break
            left = tuple(word for word in left if word not in {f"-l{name}" for name in more})
    source = Source("command", shlex.join(command))
    if unfit := next(filter(None, (_unfit(name, output) for name in missing)), ""):
        return Unknown(f"the linker says: {unfit}"), output
    if missing or ran.returncode == 0 or "no input files" in ran.stderr:
        return Known(missing, source), output
    return Unknown(f"the linker ended with {ran.returncode}: {_first_error(output)}"), output


def _unfit(library: str, output: str) -> str:
    """The line that says that a file of that name is there and was made for another machine."""
    pattern = rf".*lib{re.escape(library)}\.(?:so|a)\b.*"
    lines = (line for line in output.splitlines() if "skipping incompatible" in line)
    return next((line.strip() for line in lines if re.fullmatch(pattern, line)), "")


def missing_libraries(output: str) -> tuple[str, ...]:
    """Names after ``-l`` that a linker says it cannot find, each once, in its order."""
    return tuple(dict.fromkeys(match[1] or match[2] for match in _MISSING.finditer(output)))


def _first_error(output: str) -> str:
    """The line that says why, not the compiler driver's summary below it."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not _SUMMARY.search(line)]
    telling = next((line for line in lines if re.search("error|fatal|invalid|cannot|not ", line)), "")
    return (telling or (lines[0] if lines else "it printed nothing"))[:500]


def _by_names(
    context: Context, home: str, command: tuple[str, ...], consumers: Sequence[str], output: str
) -> LinkProbe:
    """Look through the folders that the linker would: -L, LIBRARY_PATH, its own."""
    folders = [word[2:] for word in command if word.startswith("-L")]
    folders += [folder for folder in context.environment.get("LIBRARY_PATH", "").split(":") if folder]
    folders += dict.fromkeys(folder.format(triplet=triplet) for triplet in _TRIPLETS for folder in _LINKER_DIRS)
    wanted = [word[2:] for word in command if word.startswith("-l")]
    missing = tuple(name for name in wanted if not any(_holds(context, folder, name) for folder in folders))
    source = Source("file", ":".join(folders))
    return LinkProbe(home, tuple(consumers), command, False, Known(missing, source), output[:OUTPUT_LIMIT])


def _holds(context: Context, folder: str, name: str) -> bool:
    names = (name[1:],) if name.startswith(":") else (f"lib{name}.so", f"lib{name}.a")
    return any(context.files.is_file(f"{folder.rstrip('/')}/{each}") for each in names)


@contextlib.contextmanager
def _scratch_file() -> Iterator[str]:
    """A file name in a new folder of our own that is gone afterwards. (The module tempfile costs 3 ms to import.)"""
    folder = f"{os.environ.get('TMPDIR') or '/tmp'}/sm120kit-{os.getpid()}-{os.urandom(8).hex()}"
    try:
        os.mkdir(folder, 0o700)
    except OSError as error:
        raise RunFailure(f"no temporary folder can be made at {folder}: {error.strerror}") from error
    scratch = f"{folder}/probe.so"
    try:
        yield scratch
    finally:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        with contextlib.suppress(OSError):
            os.rmdir(folder)
