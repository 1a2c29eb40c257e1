"""Where one interpreter keeps its packages, in its own words.

Our own process calls :func:`describe`. Another interpreter runs this file as ``python -I -S interpreter_child.py``:
isolated, and without site, which would execute the ``import`` lines of its .pth files. It runs under any Python
since 3.6. Fields go out between NUL bytes: importing json would double what the question costs.
"""

import os
import site
import sys

MARK = "sm120kit.interpreter/1"


def describe():  # type: () -> list[str]
    """Mark, executable, version, prefix, base prefix, folder of the standard library, include folder, SOABI, folder
    of the user's packages (empty where switched off), then the site folders in order, existing or not."""
    import _imp

    suffix = _imp.extension_suffixes()[0] if _imp.extension_suffixes() else ""
    return [
        MARK,
        sys.executable or "",
        sys.version.split()[0],
        sys.prefix,
        sys.base_prefix,
        os.path.dirname(os.__file__),
        f"{sys.base_prefix}/include/python{sys.version_info[0]}.{sys.version_info[1]}{getattr(sys, 'abiflags', '')}",
        suffix[1:-3] if suffix.endswith(".so") else "",
        "" if site.ENABLE_USER_SITE is False else site.getusersitepackages(),
        *site.getsitepackages(site.PREFIXES),
    ]


def _find_venv():  # type: () -> None
    """Let site find the virtual environment by its own rule, without reading .pth files."""
    site.addsitedir = lambda *_, **__: None
    site.venv(set())


if __name__ == "__main__":
    _find_venv()
    os.write(1, os.fsencode("\0".join(describe())))
