"""What a server is asked to do, as given on the command line: ``--model DIR --sglang VERSION -- SGLANG ARGS``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from msgspec.structs import replace

from sm120kit.cli.text_option import text_option
from sm120kit.diagnosis.case import Request
from sm120kit.errors import Sm120kitError
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.types.snapshot import Snapshot

Function = TypeVar("Function", bound=Callable[..., Any])


def _launch_words(context: click.Context, _parameter: click.Parameter, words: Sequence[str]) -> Sequence[str]:
    """The words as they are, if they can be a launch line: a word too many elsewhere must not pass for one."""
    if words and not re.match(r"-|[A-Za-z_]\w*=|(?:.*/)?(?:python[\d.]*|sglang|env|exec|nohup)$", words[0]):
        raise click.UsageError(f"Got unexpected extra argument ({words[0]})", context)
    return words


_OPTIONS = (
    text_option("--model", metavar="DIR", help="Judge for this model: a folder with a config.json."),
    text_option("--sglang", metavar="VERSION", help="Judge for this SGLang; else the one installed."),
    click.argument("sglang_arguments", metavar="[-- SGLANG ARGS]", nargs=-1, type=click.UNPROCESSED,
                   callback=_launch_words),
)  # fmt: skip


def launch_options(function: Function) -> Function:
    """Add ``--model``, ``--sglang`` and the words after ``--`` (``sglang_arguments``) to a command."""
    decorated: Any = function
    for decorator in reversed(_OPTIONS):
        decorated = decorator(decorated)
    result: Function = decorated
    return result


def with_launch(
    request: Request, snapshot: Snapshot, *, model: str = "", sglang: str = "", arguments: Sequence[str] = ()
) -> Request:
    """The request with the launch line and the model read. What is not given is left out.

    The model is ``model``, else the folder that the launch line's ``--model-path`` names; for a target inside
    ``--root`` both are looked for there.

    Raises:
        Sm120kitError: ``sglang`` is no version, ``model`` cannot be read, or arguments were given and which SGLang is
            theirs is not known.
    """
    if sglang and not re.fullmatch(r"v?\d+(\.\d+)*([.+-]?\w+)*", sglang):
        raise Sm120kitError(f"--sglang {sglang} is no version", hint=f"Write it as {newest_version()}")
    if not (model or sglang or arguments):
        return request
    if sglang or arguments:
        from sm120kit.engines.sglang import read_launch_line

        version, source = sglang_version(snapshot, sglang)
        request = replace(request, launch=read_launch_line(arguments, version, source))
    path = model or (request.launch.model_path if request.launch else "")
    if model or path.startswith("/"):
        from sm120kit.snapshot.model_dir import read_model
        from sm120kit.snapshot.target_files import open_files

        fact = read_model(open_files(snapshot.target.root, archive=bool(snapshot.target.image)), path)
        if model and not isinstance(fact, Known):
            raise Sm120kitError(
                f"--model {model}: {fact.reason}", hint="Name the folder of a checkpoint, which holds its config.json"
            )
        if isinstance(fact, Known):  # a launch line may name a folder of another machine
            request = replace(request, model=fact)
    return request


def newest_version() -> str:
    """The newest SGLang whose flags are known."""
    from sm120kit.engines.sglang.flags import versions

    return versions()[-1]


def sglang_version(snapshot: Snapshot, given: str) -> tuple[str, str]:
    """The SGLang that the arguments are for, and where that was read."""
    if given:
        return given.removeprefix("v"), f"--sglang {given}"
    known = snapshot.distributions
    installed = (
        next((each for each in known.value if each.name == "sglang"), None) if isinstance(known, Known) else None
    )
    if installed is None:
        raise Sm120kitError(
            "no SGLang is installed here" if isinstance(known, Known) else f"which SGLang is installed: {known.reason}",
            hint=f"Name its version, as in --sglang {newest_version()}",
        )
    return installed.version, installed.path
