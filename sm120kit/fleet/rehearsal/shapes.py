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
    if isinstance(one, dict) and isinstance(other, dict):
        common = {name: merged(one[name], other[name]) for name in one if name in other}
        alone = {name: merged(shape, "missing") for name, shape in {**one, **other}.items() if name not in common}
        return {name: (common | alone)[name] for name in {**one, **other}}
    if isinstance(one, list) and isinstance(other, list):
        return [merged(one[0], other[0])] if one and other else one or other
    if isinstance(one, str) and isinstance(other, str):
        return "|".join(sorted({*one.split("|"), *other.split("|")}))
    return {"either": [each for part in (one, other) for each in (part["either"] if _either(part) else [part])]}


def differences(wanted: Shape, seen: Shape, path: str = "") -> list[str]:
    """Where ``seen`` does not fit ``wanted``, as sentences; what is more in ``seen`` is named too."""
    if _either(wanted):
        tries = [differences(each, seen, path) for each in wanted["either"]]
        return [] if any(not found for found in tries) else max(tries, key=len)
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


def _may_miss(shape: Shape) -> bool:
    if _either(shape):
        return any(_may_miss(each) for each in shape["either"])
    return isinstance(shape, str) and "missing" in shape.split("|")


def _kind(shape: Shape) -> str:
    return "an object" if isinstance(shape, dict) else "a list" if isinstance(shape, list) else str(shape)
