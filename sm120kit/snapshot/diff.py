"""What changed between two snapshots. Pure. What changes by itself (free memory, the time) is no change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from sm120kit.snapshot.types.snapshot import Change, Snapshot

ABSENT = "absent"

Path = tuple[str, ...]


class _Entry(NamedTuple):
    """One value of a snapshot: how people call it, and the value. ``is_item`` = it only says that a thing is there."""

    label: str
    value: str | tuple[str, ...]
    is_item: bool = False
    is_unknown: bool = False


_IGNORED = frozenset(
    {
        "schema", "tool_version", "taken_at", "memory_available", "memory_free", "processes",
        "why", "rule", "output", "command", "profile", "age_s", "modified", "holders", "older", "undefined",
        "lacking",
    }
)  # fmt: skip
"""Fields that differ between two looks at the same thing: measures, wordings, and what other fields tell better."""

_LISTS = {
    "toolkits": ("toolkit", ("home",)),
    "parts": ("", ("name",)),
    "cccl_copies": ("CCCL in", ("include_dir",)),
    "consumers": ("consumer", ("name",)),
    "link_probes": ("link line of", ("cuda_home", "consumers")),
    "host_compilers": ("compiler", ("command",)),
    "nvcc_on_path": ("nvcc on PATH", ("path",)),
    "gpus": ("GPU", ("index",)),
    "lost_gpus": ("lost GPU", ("index",)),
    "slow_mounts": ("slow mount", ("path",)),
    "pci_paths": ("PCI path of", ("address",)),
    "shared_objects": ("library", ("path",)),
    "shared_files": ("file of two wheels", ("path",)),
    "shadows": ("library before the wheels'", ("path",)),
    "build_locks": ("lock", ("path",)),
    "built_modules": ("modules in", ("folder", "cuda_home")),
}
"""What an item of a list is called, and by which of its fields items are told apart."""

_NAMES = {"cuda_home": "CUDA home", "gpus": "GPUs", "libstdcxx": "libstdc++", "pci_gpus": "PCI GPUs",
          "shm_size": "/dev/shm"}  # fmt: skip

_TELLING = ("release", "version", "distribution", "name", "kind", "file_system", "error", "missing")
"""Fields that stand for a whole item when it came or went, the most telling first."""


def changes(before: Snapshot, after: Snapshot) -> tuple[Change, ...]:
    """Every difference that matters, in the order of the snapshot's fields.

    A thing that came or went is one change, whatever it holds; so is one that became unknown.
    """
    old, new = dict(_entries(before)), dict(_entries(after))
    closed: set[Path] = set()
    found: list[tuple[str, Change]] = []
    for path in [*old, *(path for path in new if path not in old)]:
        if any(path[:length] in closed for length in range(1, len(path))):
            continue
        one, other = old.get(path), new.get(path)
        if one == other or (one and other and one.is_item and other.is_item):
            continue
        if one and other and one.is_unknown and other.is_unknown:
            continue  # asked in another way (--gpu), or refused with another sentence: nothing is known of a change
        if one is None or other is None or one.is_unknown or other.is_unknown:
            closed.add(path)
        label = one.label if one else other.label if other else ""
        found.append((path[0], Change(label, *_shown(one, other))))
    order = Snapshot.__struct_fields__
    return tuple(change for _, change in sorted(found, key=lambda each: order.index(each[0])))


def _shown(one: _Entry | None, other: _Entry | None) -> tuple[str, str]:
    """Both values as text; of two lists only what the other does not hold, unless only their order differs."""
    if one and other and isinstance(one.value, tuple) and isinstance(other.value, tuple):
        gone = [each for each in one.value if each not in other.value]
        come = [each for each in other.value if each not in one.value]
        if gone or come:
            return _listed(gone, one.value), _listed(come, other.value)
    return _text(one), _text(other)


def _listed(items: list[str], of: tuple[str, ...]) -> str:
    return ", ".join(items) or (ABSENT if of else "none")


def _text(entry: _Entry | None) -> str:
    if entry is None:
        return ABSENT
    return entry.value if isinstance(entry.value, str) else ", ".join(entry.value) or "none"


def _entries(snapshot: Snapshot) -> Iterator[tuple[Path, _Entry]]:
    data = msgspec.to_builtins(snapshot)
    # Where the variables were taken from names a process; the variables themselves are compared.
    data["target"].pop("environment", None)
    for field, value in data.items():
        if field == "distributions" and value["state"] == "known":
            yield from _packages(value["value"])
        elif field == "environment":
            for name, text in sorted(value.items()):
                yield ("environment", name), _Entry(f"variable {name}", text)
        elif field not in _IGNORED:
            yield from _walk((), "", field, value)


def _packages(installed: list[dict[str, str]]) -> Iterator[tuple[Path, _Entry]]:
    """Versions by name; a name installed twice has both."""
    versions: dict[str, list[str]] = {}
    for each in installed:
        versions.setdefault(each["name"], []).append(each["version"])
    yield ("distributions",), _Entry("packages", f"{len(installed)} installed", is_item=True)
    for name, found in versions.items():
        yield ("distributions", name), _Entry(f"package {name}", " and ".join(sorted(found)))


def _walk(path: Path, label: str, field: str, value: Any) -> Iterator[tuple[Path, _Entry]]:
    path = (*path, field)
    own = f"{label} {_NAMES.get(field, field.replace('_', ' '))}".strip()
    if isinstance(value, dict) and value.get("state") == "unknown":
        yield path, _Entry(own, f"unknown: {value['reason']}", is_unknown=True)
        return
    if isinstance(value, dict) and value.get("state") == "known":
        value = value["value"]
        if field in _LISTS:
            yield path, _Entry(own, str(len(value)))
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _IGNORED:
                yield from _walk(path, own, key, item)
    elif isinstance(value, list | tuple) and field in _LISTS:
        yield from _items(path, label, field, value)
    elif isinstance(value, list | tuple):
        yield path, _Entry(own, tuple(str(item) for item in value))
    else:
        yield path, _Entry(own, {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value))


def _items(path: Path, label: str, field: str, items: Any) -> Iterator[tuple[Path, _Entry]]:
    word, keys = _LISTS[field]
    for item in items:
        name = " ".join(text for key in keys if (text := _key_text(item.get(key, ""))))
        own = " ".join(piece for piece in (label, word, name) if piece)
        yield (*path, name), _Entry(own, _telling(item), is_item=True)
        for key, value in item.items():
            if key not in keys and key not in _IGNORED:
                yield from _walk((*path, name), own, key, value)


def _key_text(value: Any) -> str:
    return f"({', '.join(value)})" if isinstance(value, list | tuple) and value else str(value or "")


def _telling(item: dict[str, Any]) -> str:
    """What says most about a thing that came or went: of a toolkit its compiler, of others a version or a name."""
    nvcc = next((part for part in item.get("parts", ()) if part["name"] == "nvcc"), None)
    if nvcc is not None:
        return f"nvcc {_telling(nvcc)}"
    for field in _TELLING:
        value = item.get(field)
        if isinstance(value, dict):
            value = value.get("value")
        if value and isinstance(value, str):
            return value
    return "present"
