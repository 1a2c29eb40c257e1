"""This SGLang does not take that argument: unknown, renamed, removed, not there yet, or with a wrong value

## What it finds
Flags on the launch line that the given or installed SGLang does not take as they are: renamed, removed, newer than it,
misspelt, ambiguous, with a value that it does not know, or without one. Flags that it still takes and that are on
their way out are warnings; a flag given twice is a note. The id names only the most frequent of these.

## Why it matters
The server ends with exit code 2 and "unrecognized arguments" or "ambiguous option", after the half minute that its
imports take, and does not say what the flag is called now. Between 0.5.12 and 0.5.23 thirty flags went away. Others
changed their default without a word.

## How it is found
The line is read as that version's own parser reads it, with all flags of the wheels from 0.5.9 on: abbreviations,
`--flag=value`, lists, choices, types. A version that is not in the table is read as the newest one before it, and then
nothing is called an error.

## Remedy
The name or the value that this version takes.

## Sources
- sm120kit/engines/sglang/flags.json: argparse actions of the sglang wheels
- checks/tables/sglang_renames.toml
- checks/tables/vllm_flags.toml
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
    Finding,
    LogRemedy,
    Manual,
    Remedy,
    Signature,
    at,
    check,
    error,
    note,
    warning,
)
from sm120kit.diagnosis.launch import ArgumentProblem, LaunchLine

SIGNATURES = [
    Signature(
        pattern=r"(?:sglang serve|launch_server\.py|http_server\.py|sglang): error: "
        r"(?:unrecognized arguments: (?P<flags>--.+)|(?:ambiguous option|argument --|the following arguments).+)",
        rank="cause",
        example="sglang serve: error: argument --attention-backend: invalid choice: 'nope' (choose from 'triton', "
        "'torch_native', 'flex_attention')",
        look_alike="sglang-router: error: argument --policy: invalid choice: 'nope'",
        source="sglang 0.5.23 on a CPU, started with --attention-backend nope",
        versions="sglang 0.5.9 to 0.5.23",
        message="SGLang does not take one of its arguments in this version",
        remedies=(
            LogRemedy(
                "Ask what this version calls it; pip show sglang tells the version",
                ("sm120kit doctor --sglang [[{sglang_version}|VERSION]] -- [[{flags}|ARGUMENTS]]",),
            ),
        ),
    ),
]

FROM_LINE = "the launch line"

_OF_VALUES = ("bad-value", "bad-choice")


@check("sglang.argument-renamed", needs="launch-line")
def argument_renamed(case: Case) -> Iterator[Finding | CannotTell]:
    line = case.request.launch
    if line is None:
        return
    if not line.exact and line.problems:
        names = ", ".join(dict.fromkeys(problem.flag for problem in line.problems))
        yield CannotTell(
            names, f"the flags of SGLang {line.version} are not known; {line.read_as} does not take them as they are"
        )
    elif not line.exact:
        yield CannotTell("the launch line", f"the flags of SGLang {line.version} are not known, only of {line.read_as}")
    else:
        yield from (_problem(problem, line) for problem in line.problems)
        yield from _on_their_way_out(line)
    yield from _repeated(line)


def _problem(problem: ArgumentProblem, line: LaunchLine) -> Finding:
    names = " or ".join(problem.instead)
    text = {
        "renamed": f"; it is {names} now",
        "unknown": f": did you mean {names}?" if names else "",
        "ambiguous": "",
        "bad-choice": f": did you mean {names}?" if names else "",
        "removed": f": see {names}" if names else "",
    }.get(problem.kind, "")
    said = (
        f"SGLang {line.version} does not take that value: {problem.text}"
        if problem.kind in _OF_VALUES
        else problem.text
    )
    return error(problem.flag, f"{said}{text}", _evidence(problem, line), _remedies(problem, line))


def _evidence(problem: ArgumentProblem, line: LaunchLine) -> list[Evidence]:
    typed = next((word for word in line.arguments if word.partition("=")[0] == problem.flag), problem.flag)
    return [at(typed, FROM_LINE), at(f"SGLang {line.version}", line.version_source), at(problem.text, problem.source)]


def _remedies(problem: ArgumentProblem, line: LaunchLine) -> list[Remedy]:
    if problem.kind == "too-new":
        return [Manual(f"Leave {problem.flag} out, or take an SGLang that has it")]
    if problem.kind in (*_OF_VALUES, "missing-value", "stray"):
        choices = f": {', '.join(problem.choices)}" if problem.choices else ""
        return [Manual(f"Give {problem.flag} a value that SGLang {line.version} takes{choices}")]
    if problem.instead:
        return [Manual(f"Write {' or '.join(problem.instead)}")]
    return [Manual(f"Leave {problem.flag} out")]


def _on_their_way_out(line: LaunchLine) -> Iterator[Finding]:
    for flag, instead in dict.fromkeys((each.flag, each.instead) for each in line.deprecations):
        use = f": use {instead}" if instead else ""
        yield warning(
            flag,
            f"SGLang {line.version} still takes {flag} and says that it will go{use}",
            [at(flag, FROM_LINE), at(f"SGLang {line.version}", line.version_source)],
            [Manual(f"Write {instead}" if instead else f"Leave {flag} out")],
        )


def _repeated(line: LaunchLine) -> Iterator[Finding]:
    for flag in dict.fromkeys(line.repeated):
        words = [word for word in line.arguments if word.partition("=")[0] == flag]
        yield note(
            flag,
            f"{flag} sets something that was set before on the same line: the last one counts",
            [at(f"{len(words)} times {flag}" if len(words) > 1 else flag, FROM_LINE)],
            [Manual(f"Leave one of them out: {flag}")],
        )
