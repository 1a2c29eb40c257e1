"""Which checks run: ``--only`` and ``--skip``, globs over check ids."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

from sm120kit.diagnosis.registry import Check
from sm120kit.errors import Sm120kitError
from sm120kit.nearest import nearest


def select(checks: Mapping[str, Check], only: Sequence[str] = (), skip: Sequence[str] = ()) -> dict[str, Check]:
    """The checks that a glob of ``only`` matches (all of them without one) and none of ``skip`` does.

    Raises:
        Sm120kitError: a glob matches no check (the hint names the nearest ids), or no check is left.
    """
    for option, globs in (("--only", only), ("--skip", skip)):
        for glob in globs:
            if not any(fnmatchcase(check_id, glob) for check_id in checks):
                raise Sm120kitError(f"{option} {glob} matches no check", hint=nearest_ids(glob, checks))
    chosen = {
        check_id: check
        for check_id, check in checks.items()
        if (not only or _matches(check_id, only)) and not _matches(check_id, skip)
    }
    if not chosen:
        raise Sm120kitError("--only and --skip together leave no check to run", hint="Leave one of them out")
    return chosen


def _matches(check_id: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(check_id, glob) for glob in globs)


def matching(glob: str, ids: Collection[str]) -> list[str]:
    """The ids that ``glob`` matches; the name of a family stands for all of it.

    Raises:
        Sm120kitError: it matches none; the hint names the nearest ids.
    """
    found = [each for each in ids if fnmatchcase(each, glob) or each.startswith(f"{glob}.")]
    if not found:
        raise Sm120kitError(f"{glob} matches no check", hint=nearest_ids(glob, ids))
    return found


def nearest_ids(glob: str, checks: Collection[str]) -> str:
    """What to write in place of a glob that matches none of ``checks``."""
    families = {check_id.partition(".")[0] for check_id in checks}
    if glob in families:
        return f"For the whole family write: {glob}.*"
    family, _, name = glob.partition(".")
    if name.strip("*?") == "" and (near := nearest(family, families)):
        return f"Did you mean {' or '.join(f'{each}.*' for each in near)}?"
    within = [check_id for check_id in checks if glob.strip("*") in check_id.partition(".")[2]]
    near = list(dict.fromkeys([*nearest(glob, checks, most=3), *within]))[:3]
    return f"Did you mean {' or '.join(near)}?" if near else "List the checks with: sm120kit checks"
