"""Crash reports: a private file that holds what is needed to find a fault of our own, and nothing else."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Iterable, Sequence

from sm120kit.diagnosis.types import CheckResult
from sm120kit.redaction import REDACTED, redacted
from sm120kit.version import __version__


def write_crash_report(arguments: Sequence[str], error: BaseException) -> str:
    """Write the traceback of ``error`` into a new file that only its owner reads; return the file's path."""
    return _write(arguments, ["".join(traceback.format_exception(type(error), error, error.__traceback__))])


def write_check_crashes(arguments: Sequence[str], results: Iterable[CheckResult]) -> str:
    """Write the tracebacks of checks that crashed into a new private file; return the file's path."""
    return _write(arguments, [f"check {result.check}\n{result.traceback}" for result in results])


def _without_secrets(arguments: Sequence[str]) -> list[str]:
    """What is a secret by its own form, or by the option that it belongs to, replaced."""
    shown: list[str] = []
    secret_follows = False
    for word in arguments:
        option, equals, _ = word.partition("=")
        names_secret = option.startswith("-") and redacted(f"{option} Value1") != f"{option} Value1"
        if secret_follows:
            shown.append(REDACTED)
        else:
            shown.append(f"{option}={REDACTED}" if names_secret and equals else redacted(word))
        secret_follows = names_secret and not equals
    return shown


def _write(arguments: Sequence[str], parts: Sequence[str]) -> str:
    head = [
        f"sm120kit {__version__}",
        f"Python {platform.python_version()} ({sys.executable})",
        f"{platform.system()} {platform.release()} {platform.machine()}",
        "arguments: " + " ".join(map(repr, _without_secrets(arguments))),
    ]
    descriptor, path = tempfile.mkstemp(prefix="sm120kit-crash-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write("\n".join([*head, "", *parts]) + "\n")
    return path
