"""Asks all questions of preflight."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.preflight.doctor import ask_doctor
from sm120kit.fleet.preflight.gpus import ask_gpus
from sm120kit.fleet.preflight.host import ask_host
from sm120kit.fleet.preflight.model import ask_model
from sm120kit.fleet.preflight.plan import ask_plan, server_plans
from sm120kit.fleet.preflight.ports import ask_ports
from sm120kit.fleet.preflight.stage import ask_stage
from sm120kit.fleet.preflight.types import Answer, Preflight
from sm120kit.fleet.preparation.prepare import Prepared
from sm120kit.nearest import did_you_mean

Question = Callable[[Prepared, Mapping[str, str]], Answer]

QUESTIONS: tuple[tuple[str, Question], ...] = (
    ("model", ask_model),
    ("ports", ask_ports),
    ("gpus", ask_gpus),
    ("plan", ask_plan),
    ("stage", ask_stage),
    ("host", ask_host),
    ("doctor", ask_doctor),
)


def run_preflight(prepared: Prepared, environment: Mapping[str, str] | None = None) -> Preflight:
    """Every question with its answer. ``environment``: the caller's, else that of this process.

    Raises:
        Sm120kitError: ``--force`` names an id that there is not; exit code 2.
    """
    check_forced(prepared.order.force)
    caller = dict(os.environ if environment is None else environment)
    answers = tuple(_asked(name, question, prepared, caller) for name, question in QUESTIONS)
    return Preflight(answers, server_plans(prepared), prepared.order.force)


def check_forced(ids: tuple[str, ...]) -> None:
    """Refuse an id that no finding can have.

    Raises:
        Sm120kitError: with the nearest ids; exit code 2.
    """
    if not ids:
        return
    known = read_catalogue().entries
    for each in ids:
        if each in known:
            continue
        raise Sm120kitError(
            f"--force {each}: there is no such finding",
            hint=did_you_mean(each, known, otherwise="Give the id that stands under the finding"),
        )


def _asked(name: str, question: Question, prepared: Prepared, environment: Mapping[str, str]) -> Answer:
    """What cannot be looked at stops nothing: it is said."""
    try:
        return question(prepared, environment)
    except Sm120kitError as error:
        return Answer(name, f"could not be looked at: {error.message}")
    except OSError as error:
        return Answer(name, f"could not be looked at: {error.filename or ''}: {error.strerror}".replace(": : ", ": "))
