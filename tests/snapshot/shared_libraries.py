"""Small shared libraries built for tests, and folders of site-packages that hold them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path


def library(
    path: Path,
    *,
    defines: Sequence[str] = (),
    takes: Sequence[str] = (),
    weakly: Sequence[str] = (),
    needs: Sequence[str] = (),
    runpath: str = "",
    rpath: str = "",
) -> Path:
    """Build a library: symbols that it has and takes, sonames that it asks for, and where it looks for them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    code = [f"int {name}(void) {{ return 1; }}" for name in defines]
    code += [f"extern int {name}(void); int use_{name}(void) {{ return {name}(); }}" for name in takes]
    code += [
        f"extern int {name}(void) __attribute__((weak)); int use_{name}(void) {{ return {name} ? {name}() : 0; }}"
        for name in weakly
    ]
    flags = ["-shared", "-nostdlib", "-fPIC", f"-Wl,-soname,{path.name}", "-Wl,--hash-style=gnu", "-Wl,--no-as-needed"]
    for soname in needs:
        empty = path.parent / "link" / soname
        if not empty.exists():
            empty.parent.mkdir(exist_ok=True)
            _gcc("", ["-shared", "-nostdlib", f"-Wl,-soname,{soname}"], empty)
        flags.append(str(empty))
    if runpath:
        flags.append(f"-Wl,--enable-new-dtags,-rpath,{runpath}")
    if rpath:
        flags.append(f"-Wl,--disable-new-dtags,-rpath,{rpath}")
    _gcc("\n".join(code), flags, path)
    return path


def _gcc(code: str, flags: Sequence[str], path: Path) -> None:
    # The libraries named among the flags come behind the code, or the linker would leave them out.
    subprocess.run(["gcc", "-x", "c", "-", "-x", "none", *flags, "-o", str(path)], input=code.encode(), check=True)
