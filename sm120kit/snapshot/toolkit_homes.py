"""Every folder of the target that holds a CUDA tree, each tree once, with all its names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

import msgspec

from sm120kit.patterns import pattern
from sm120kit.snapshot.consumers.visibility import visible
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.nvcc_wrapper import HEAD, executed_by

CU12_FOLDERS = ("cuda_nvcc", "cuda_runtime", "cuda_cccl", "cuda_nvrtc")
"""Below site-packages/nvidia: the cu12 wheels give each component a folder of its own."""

_EXPLICIT = pattern(r"--cuda-home|[A-Z][A-Z0-9_]*")
"""How a folder was found that somebody named: by the option, or by a variable. No option of ours hides it."""
_SYSTEM_FOLDERS = ("/usr/local", "/opt")
_DISTRO_HOMES = ("/usr/lib/nvidia-cuda-toolkit", "/usr/lib/cuda")
_CUDA_NAME = pattern(r"cuda(-\d+(\.\d+)*)?")
_MOST_WRAPPERS = 4


class Tree(msgspec.Struct):
    """One CUDA tree. ``home`` as in :class:`sm120kit.snapshot.types.toolkits.Toolkit`."""

    home: str
    base: str
    """The folder whose ``bin/nvcc`` really runs: ``home``, or another one where a wrapper script stands between."""
    root: str
    """``base``, symbolic links resolved."""
    found_via: list[str] = msgspec.field(default_factory=list)
    names: list[str] = msgspec.field(default_factory=list)
    """Every name under which it was found."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Its names, ``home`` left out."""
        return tuple(dict.fromkeys(name for name in self.names if name != self.home))


class _Place(msgspec.Struct, frozen=True):
    name: str
    via: str
    spelled: bool = False
    """Whether this very spelling is worth keeping; else the resolved one is the better name."""
    inside: bool = False
    """Whether it was found in the target itself, so that no option hides it."""


def find_trees(context: Context, extra_homes: Mapping[str, str]) -> tuple[Tree, ...]:
    """Look where toolkits lie and where variables, PATH and ``extra_homes`` (home to how it was found) point.

    With ``system_toolkits`` off, trees outside the target's own folders count only where a variable or
    ``--cuda-home`` names them.
    """
    trees: dict[str, Tree] = {}
    for place in _places(context, extra_homes):
        resolved = _resolve(context, place.name)
        if resolved is None:
            continue
        base, root = resolved
        if not (place.inside or visible(context, place.name)):
            continue
        tree = trees.get(root)
        if tree is None:
            home = _tidy(place.name) if place.spelled else root
            tree = trees[root] = Tree(home, base if place.spelled else root, root)
        if place.via not in tree.found_via:
            tree.found_via.append(place.via)
        tree.names.append(place.name)
        if not place.spelled:
            tree.names.append(root)
    return tuple(trees.values())


def _places(context: Context, extra_homes: Mapping[str, str]) -> Iterator[_Place]:
    if named := context.target.cuda_home:
        yield _explicit(named, "--cuda-home")
    else:
        for variable in ("CUDA_HOME", "CUDA_PATH"):
            if value := context.environment.get(variable):
                yield _explicit(value, variable)
    yield from _in_site_packages(context)
    for home, via in extra_homes.items():
        yield _explicit(home, via) if _EXPLICIT.fullmatch(via) else _Place(home, via)
    for nvcc in context.which_all("nvcc"):
        # A consumer goes two folders up, whatever the first is called; only a script elsewhere leads to a tree.
        in_bin = posixpath.basename(posixpath.dirname(nvcc)) == "bin"
        called = nvcc if in_bin else executed_by(_head(context, nvcc), context.environment)
        if called:
            yield _Place(posixpath.dirname(posixpath.dirname(called)), "nvcc on PATH")
    if context.target.system_toolkits:
        for folder in _SYSTEM_FOLDERS:
            names = _names(context, folder)
            yield from (_Place(f"{folder}/{name}", folder) for name in names if _CUDA_NAME.fullmatch(name))
        yield from (_Place(home, "the distribution's package") for home in _DISTRO_HOMES)


def _explicit(home: str, via: str) -> _Place:
    return _Place(home, via, spelled=True, inside=True)


def _in_site_packages(context: Context) -> Iterator[_Place]:
    prefixes = []
    for site in context.site_packages:
        names = _names(context, f"{site}/nvidia")
        for name in names:
            if re.fullmatch(r"cu\d\d", name):
                yield _Place(f"{site}/nvidia/{name}", "site-packages", spelled=True, inside=True)
        if any(name in names for name in CU12_FOLDERS):
            yield _Place(f"{site}/nvidia", "site-packages", spelled=True, inside=True)
        if prefix := _prefix(site):
            prefixes.append(prefix)
    for prefix in dict.fromkeys(prefixes):
        if context.files.is_dir(f"{prefix}/conda-meta"):
            yield _Place(prefix, "conda environment", spelled=True, inside=True)


def _prefix(site: str) -> str:
    """The environment that a site-packages folder belongs to; empty for one of the system's."""
    match = re.fullmatch(r"(/.+)/lib(?:64)?/python[\d.]+t?/(?:site|dist)-packages", site)
    return match[1] if match and match[1] not in ("/usr", "/usr/local") else ""


def _resolve(context: Context, home: str) -> tuple[str, str] | None:
    """The folder whose nvcc runs when ``home``'s is called, and the same with links resolved.

    nvcc takes its own place from the name it was called by: a link to nvcc in a real ``bin`` stays there, a link
    in place of ``bin`` itself leads away. ``None`` where there is no such folder.
    """
    home = _tidy(home)
    if not home or not context.files.is_dir(home):
        return None
    base = home
    for _ in range(_MOST_WRAPPERS):
        target = executed_by(_head(context, f"{base}/bin/nvcc"), context.environment)
        if posixpath.basename(posixpath.dirname(target)) != "bin":
            break
        base = posixpath.dirname(posixpath.dirname(target))
    real_bin = _real(context, f"{base}/bin") if context.files.is_file(f"{base}/bin/nvcc") else ""
    root = posixpath.dirname(real_bin) if real_bin else _real(context, base)
    if not root:
        return None
    return (base if _real(context, base) == root else root), root


def _tidy(home: str) -> str:
    """Absolute, without a trailing slash; empty for what can be no path, or is relative to nowhere."""
    return posixpath.normpath(home) if home.startswith("/") and "\0" not in home else ""


def _head(context: Context, path: str) -> bytes:
    try:
        return context.files.read(path, HEAD)
    except OSError:
        return b""


def _names(context: Context, folder: str) -> list[str]:
    try:
        return context.files.names(folder)
    except OSError:
        return []


def _real(context: Context, path: str) -> str:
    try:
        return context.files.real(path)
    except (OSError, ValueError):
        return ""
