"""Compare a wheel with the tree it was built from, file by file: nothing lost on the way, nothing slipped in."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path


def tracked(root: Path, folder: str) -> list[str]:
    """Paths of the tracked files below ``folder``."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--", folder]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [path for path in listed.split("\0") if path]


def main(wheel: str, checkout: str) -> int:
    """Print each difference; 0 where there is none."""
    root = Path(checkout)
    expected = {path: root / path for path in tracked(root, "sm120kit")}
    for tree in ("checks", "templates"):
        expected |= {f"sm120kit/_data/{path}": root / path for path in tracked(root, tree)}
    differences = []
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("sm120kit/")}
        differences += [f"only in the tree: {name}" for name in sorted(expected.keys() - held)]
        differences += [f"only in the wheel: {name}" for name in sorted(held - expected.keys())]
        for name in sorted(held & expected.keys()):
            if archive.read(name) != expected[name].read_bytes():
                differences.append(f"not the same: {name}")
    sys.stdout.writelines(f"{line}\n" for line in differences)
    sys.stdout.write(f"{Path(wheel).name}: {len(held)} files compared, {len(differences)} differences\n")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
