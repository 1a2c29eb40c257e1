"""When a replica that died is started again, and when no more."""

from __future__ import annotations

from collections.abc import Sequence

from sm120kit.fleet.spec import RestartPolicy
from sm120kit.fleet.types import Death, Struct


class Next(Struct, frozen=True):
    """What follows a death."""

    delay_s: float | None
    """Seconds until it is started again; ``None`` = never."""
    reason: str
    """Why not, in words; empty where it is started again."""


def after_death(policy: RestartPolicy, deaths: Sequence[Death], *, now: float, ever_answered: bool) -> Next:
    """What follows the newest of ``deaths``. A server that ended twice for the same reason before it ever answered
    will do so a third time, after minutes of loading."""
    recent = [each for each in deaths if each.at > now - policy.window]
    if policy.most == 0:
        return Next(None, "it is not to be restarted")
    if len(recent) > policy.most:
        return Next(
            None,
            f"it ended {len(recent)} times within {policy.window:g} s, more often than --restarts {policy.most} allows",
        )
    if not ever_answered and len(recent) > 1 and _reason(recent[-1]) == _reason(recent[-2]) != ("", ""):
        return Next(None, "it ended twice for the same reason before it ever answered")
    return Next(min(policy.longest_delay, policy.first_delay * 2 ** (len(recent) - 1)), "")


def _reason(death: Death) -> tuple[str, str]:
    """How it ended and what its log shows for it; empty where the log shows nothing: then it may have been killed."""
    first = death.causes[0] if death.causes else None
    return (death.exit, f"{first.check} {first.message} {first.text}") if first else ("", "")
