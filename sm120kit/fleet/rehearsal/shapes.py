"""The shape of a JSON answer: the names of its fields and the types of their values, without the values.

A shape is a mapping of names to shapes, a list with the shape of its items (empty where none was seen), or the types
that a value had, in order: ``"int|null"``.
"""

from __future__ import annotations

from typing import Any

Shape = Any
"""``str``, ``dict[str, Shape]`` or ``list[Shape]``: recursive, which Python 3.10's typing cannot say in short."""

_BLANK = {"null": None, "bool": False, "int": 0, "float": 0.0, "str": ""}


def shape_of(value: object) -> Shape:
    """The shape of one value as :mod:`json` reads it."""
    if isinstance(value, dict):
        return {str(name): shape_of(each) for name, each in value.items()}
    if isinstance(value, list):
        items: list[Shape] = []
        for each in value:
            items = [merged(items[0], shape_of(each))] if items else [shape_of(each)]
        return items
    return "null" if value is None else type(value).__name__


def merged(one: Shape, other: Shape) -> Shape:
    """The shape that both fit. A field that only one of them has is in it, as one that may be missing."""
    alternatives: list[Shape] = []
    for each in (*_alternatives(one), *_alternatives(other)):
        place = next((number for number, known in enumerate(alternatives) if type(known) is type(each)), None)
        if place is None:
            alternatives.append(each)
        else:
            alternatives[place] = _merged_alike(alternatives[place], each)
    return alternatives[0] if len(alternatives) == 1 else {"either": alternatives}


def _merged_alike(one: Shape, other: Shape) -> Shape:
    """Two objects, two lists, or two with types alone."""
    if isinstance(one, dict):
        names = {**one, **other}
        return {name: merged(one.get(name, "missing"), other.get(name, "missing")) for name in names}
    if isinstance(one, list):
        return [merged(one[0], other[0])] if one and other else one or other
    return "|".join(sorted({*one.split("|"), *other.split("|")}))


def differences(wanted: Shape, seen: Shape, path: str = "") -> list[str]:
    """Where ``seen`` does not fit ``wanted``, as sentences; what is more in ``seen`` is named too."""
    if _either(seen):
        return [found for each in seen["either"] for found in differences(wanted, each, path)]
    if _either(wanted):
        tries = [differences(each, seen, path) for each in wanted["either"]]
        return min(tries, key=len)
    if isinstance(wanted, dict) and isinstance(seen, dict):
        found = [f"{path}{name}: missing" for name in wanted if name not in seen and not _may_miss(wanted[name])]
        found += [f"{path}{name}: not in the genuine answer" for name in seen if name not in wanted]
        for name in wanted:
            if name in seen:
                found += differences(wanted[name], seen[name], f"{path}{name}.")
        return found
    if isinstance(wanted, list) and isinstance(seen, list):
        return differences(wanted[0], seen[0], path) if wanted and seen else []
    if isinstance(wanted, str) and isinstance(seen, str):
        missing = set(seen.split("|")) - set(wanted.split("|"))
        return [f"{path.rstrip('.')}: {seen} instead of {wanted}"] if missing else []
    return [f"{path.rstrip('.')}: {_kind(seen)} instead of {_kind(wanted)}"]


def blank(shape: Shape) -> Any:
    """The emptiest value of that shape."""
    if _either(shape):
        return blank(shape["either"][0])
    if isinstance(shape, dict):
        return {name: blank(each) for name, each in shape.items()}
    if isinstance(shape, list):
        return []
    types = shape.split("|")
    return next(value for name, value in _BLANK.items() if name in types)


def fits(shape: Shape, value: object) -> bool:
    """Whether a value is one of that shape, fields within it not looked at."""
    if _either(shape):
        return any(fits(each, value) for each in shape["either"])
    if isinstance(shape, dict | list):
        return isinstance(value, dict if isinstance(shape, dict) else list)
    return shape_of(value) in shape.split("|") if not isinstance(value, dict | list) else False


def _either(shape: Shape) -> bool:
    return isinstance(shape, dict) and set(shape) == {"either"}


def _alternatives(shape: Shape) -> list[Shape]:
    return list(shape["either"]) if _either(shape) else [shape]


def _may_miss(shape: Shape) -> bool:
    if _either(shape):
        return any(_may_miss(each) for each in shape["either"])
    return isinstance(shape, str) and "missing" in shape.split("|")


def _kind(shape: Shape) -> str:
    return "an object" if isinstance(shape, dict) else "a list" if isinstance(shape, list) else str(shape)
