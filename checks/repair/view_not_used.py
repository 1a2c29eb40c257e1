"""This target was repaired, and this environment does not use the repair

## What it finds
A toolkit of links is live for the target, and CUDA_HOME of the examined environment does not lead to it.

## Why it matters
The repair lies beside the toolkit that was broken and changes nothing there: a process that is started without the
repair's variables takes the former toolkit, or finds none, and fails as it did before.

## How it is found
`targets/…/current` in sm120kit's data folder leads to a toolkit of links whose files are all there, and CUDA_HOME (else
CUDA_PATH) of the environment names another place or none. What is wrong with the toolkits that this environment takes
instead, or that it finds none, is then reported as notes only: using the repair cures it.

## Remedy
Source the env script in the shell or unit that starts the server, start it with `sm120kit run`, or take the repair
back with `sm120kit undo`.

## Sources
- FlashInfer 0.7.2 jit/cpp_ext.py, torch 2.13 utils/cpp_extension.py: both take CUDA_HOME before anything else
"""

import shlex
from collections.abc import Iterator

from sm120kit.diagnosis import CannotTell, Case, Finding, Manual, at, check, error, warning
from sm120kit.diagnosis.typed_again import data_dir_option, target_option


@check("repair.view-not-used", needs="repair")
def view_not_used(case: Case) -> Iterator[Finding | CannotTell]:
    view = case.unused_view
    if view is None:
        return
    environment = case.snapshot.environment
    named = next((name for name in ("CUDA_HOME", "CUDA_PATH") if environment.get(name)), "")
    says = f"{named} is {environment[named]}" if named else "neither CUDA_HOME nor CUDA_PATH is set"
    harmed = [consumer.name for consumer in case.snapshot.consumers if case.must_compile(consumer)]
    report = error if harmed or case.snapshot.target.cuda_home else warning
    yield report(
        view.current,
        f"this target was repaired (the toolkit of links {view.path}), and this environment does not use it: {says}",
        [at(f"leads to {view.path}", view.current), at(says, case.snapshot.target.environment)],
        [
            Manual(
                "Source its script where the server is started; what is noted here about other toolkits, or about a "
                "missing one, is cured by it",
                (f". {shlex.quote(view.env_script)}",),
            ),
            Manual(
                "Start the server through it",
                (f"sm120kit run {target_option(case)}{data_dir_option(case)} -- COMMAND",),
            ),
        ],
    )
