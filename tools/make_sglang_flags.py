"""Makes sm120kit/engines/sglang/flags.json, the flags of every SGLang version, from its wheels.

    python tools/make_sglang_flags.py FOLDER_OF_WHEELS

Run by hand when a new SGLang is out, with all wheels that the table names (it lists them) in one folder: the table is
made anew each time, and a difference outside the new version means that something is wrong. A flag that is the same in
consecutive versions is one row.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from packaging.version import Version

HERE = Path(__file__).parent
TABLE = HERE.parent / "sm120kit" / "engines" / "sglang" / "flags.json"
KINDS = {
    "_StoreAction": "value",
    "LoRAPathAction": "value",
    "DeprecatedAliasStoreAction": "value",
    "_StoreTrueAction": "switch",
    "DeprecatedStoreTrueAction": "switch",
    "DeprecatedStoreConstAction": "constant",
    "DeprecatedAction": "refused",
    "BooleanOptionalAction": "yes-no",
}


def main(folder: Path) -> None:
    """Read every wheel of ``folder`` and write the table."""
    wheels = sorted(folder.glob("sglang-*.whl"), key=lambda path: Version(path.name.split("-")[1]))
    versions = [path.name.split("-")[1] for path in wheels]
    rows: list[dict[str, Any]] = []
    for number, wheel in enumerate(wheels):
        for row in map(_row, _flags(wheel)):
            same = next((old for old in rows if old["last"] == number - 1 and _same(old, row)), None)
            if same:
                same["last"] = number
            else:
                rows.append({**row, "first": number, "last": number})
    _name_alike(rows)
    rows.sort(key=lambda row: (row["flags"][0], row["first"]))
    lines = [json.dumps({name: value for name, value in row.items() if value not in ("", [], None)}) for row in rows]
    head = json.dumps({"source": "argparse actions of ServerArgs.add_cli_args in the wheels", "versions": versions})
    TABLE.write_text(head[:-1] + ', "rows": [\n' + ",\n".join(lines) + "\n]}\n")
    print(f"{TABLE}: {len(versions)} versions, {len(rows)} rows")  # noqa: T201 - a program for people


def _flags(wheel: Path) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if name.endswith(".py")])
        reader = [sys.executable, str(HERE / "read_sglang_flags.py"), folder]
        answer = subprocess.run(reader, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    flags: list[dict[str, Any]] = json.loads(answer.stdout)["flags"]
    return flags


def _row(flag: dict[str, Any]) -> dict[str, Any]:
    kind = KINDS[flag["action"]]
    if kind == "refused" and not flag["refused"]:
        kind = "ignored"
    if kind == "constant" and flag["nargs"] != 0:
        kind = "value"
    return {
        "flags": flag["flags"],
        "dest": flag["dest"],
        "kind": kind,
        "nargs": flag["nargs"] if kind == "value" else None,
        "type": flag["type"] if kind == "value" else "",
        "choices": flag["choices"],
        "default": flag["default"] if flag["default"] is not False else None,
        "constant": flag["const"] if kind == "constant" else None,
        "deprecated": True if flag["deprecated"] else None,
        "instead": flag["new_flag"],
    }


def _name_alike(rows: list[dict[str, Any]]) -> None:
    """Give one setting the same ``dest`` in every version: the newest that any of its spellings had."""
    newest = {flag: row["dest"] for row in sorted(rows, key=lambda row: row["last"]) for flag in row["flags"]}
    for row in rows:
        row["dest"] = newest[row["flags"][0]]


def _same(old: dict[str, Any], new: dict[str, Any]) -> bool:
    return all(old[name] == value for name, value in new.items())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
