"""Lays out a toolkit view: a complete CUDA_HOME of links to the parts of a composition.

nvcc takes its own place from the path it is called by and does not resolve links, so a linked nvcc with its
linked nvcc.profile beside it finds include and lib64 in the view.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from sm120kit.repair.compose import Composition
from sm120kit.repair.paths import read_state
from sm120kit.repair.types import (
    Absent,
    Action,
    Dependency,
    FileState,
    LinkState,
    MakeDirectory,
    MakeLink,
    Step,
    WriteFile,
)
from sm120kit.snapshot.live_view import MANIFEST
from sm120kit.snapshot.types.toolkits import Toolkit
from sm120kit.snapshot.types.views import ViewManifest, ViewSource

CCCL_NAMES = ("nv", "cuda", "cub", "thrust")


_CUDA_TOOLS = re.compile(
    r"nvcc.*|__nvcc_device_query|cicc|ptxas|fatbinary|cudafe\+\+|nvlink|bin2c|cuobjdump|nvdisasm|nvprune|cu\+\+filt"
    r"|tileiras|crt"
)

Names = Callable[[str], Sequence[str]]
"""Lists a folder: its names, or none where it cannot be read."""


@dataclass(frozen=True)
class Layout:
    """A view, path by path below its root: folders, links (name → target) and files (name → bytes)."""

    folders: tuple[str, ...]
    links: dict[str, str]
    files: dict[str, bytes]
    reasons: dict[str, str]


def digest_of(layout: Layout, dependencies: Sequence[Dependency], target: str) -> str:
    """16 hexadecimal digits over all that the view will hold, the files behind its links, and whom it serves."""
    whole = [target, layout.folders, sorted(layout.links.items()), sorted(layout.files.items()), dependencies]
    return hashlib.sha256(msgspec.json.encode(whole)).hexdigest()[:16]


def lay_out(made: Composition, names: Names, stub: bytes) -> Layout:
    """The whole view as data. ``stub`` is the generated library's bytes, used where the composition names none."""
    links: dict[str, str] = {}
    files: dict[str, bytes] = {}
    reasons: dict[str, str] = {}

    def link(name: str, target: str, reason: str) -> None:
        if name not in links:
            links[name] = target
            reasons[name] = reason

    bin_dir = posixpath.dirname(made.nvcc.part.path)
    whole_bin = bin_dir == f"{made.nvcc.tree.home}/bin" and made.nvcc.tree.layout != "conda"
    for name in names(bin_dir):
        if whole_bin or _CUDA_TOOLS.fullmatch(name):
            link(f"bin/{name}", f"{bin_dir}/{name}", f"tool of {made.nvcc.origin}")
    link("nvvm", _up(made.cicc.part.path, 2), f"cicc and libdevice of {made.cicc.origin}")
    _include(made, names, link)
    _libraries(made, names, link)
    link("lib", "lib64", "CUDA libraries are looked for in lib and in lib64")
    if made.stub:
        link("lib64/stubs/libcuda.so", made.stub, "for -lcuda")
    else:
        files["lib64/stubs/libcuda.so"] = stub
        reasons["lib64/stubs/libcuda.so"] = f"stub for -lcuda, made from {made.cuda_h}"
    return Layout(_folders([*links, *files]), dict(sorted(links.items())), files, reasons)


def view_steps(layout: Layout, root: str, manifest: bytes) -> tuple[list[Step], dict[str, bytes]]:
    """Steps that build the view at ``root``, which must not be there yet, and the bytes they write, by SHA-256."""
    contents = {hashlib.sha256(content).hexdigest(): content for content in (*layout.files.values(), manifest)}
    steps = [_step(MakeDirectory(root), "the toolkit of links")]
    steps += [_step(MakeDirectory(f"{root}/{folder}"), "a folder of it") for folder in layout.folders]
    steps += [_step(MakeLink(f"{root}/{name}", to), layout.reasons[name]) for name, to in layout.links.items()]
    for name, content in layout.files.items():
        mode = 0o755 if name.endswith(".so") else 0o644
        action = WriteFile(f"{root}/{name}", hashlib.sha256(content).hexdigest(), mode)
        steps.append(_step(action, layout.reasons[name]))
    action = WriteFile(f"{root}/{MANIFEST}", hashlib.sha256(manifest).hexdigest())
    steps.append(_step(action, "what it was made of, so that a later change is noticed"))
    return steps, contents


def manifest_of(
    layout: Layout, made: Composition, dependencies: Sequence[Dependency], *, target: str, tool_version: str
) -> ViewManifest:
    """What the doctor later compares with the disk."""
    return ViewManifest(
        tool_version=tool_version,
        release=str(made.release),
        sources=tuple(ViewSource(each.path, each.size, each.modified_ns) for each in dependencies),
        homes=tuple(tree.home for tree in made.trees),
        parts={choice.part: choice.source for choice in made.choices},
        digest=digest_of(layout, dependencies, target),
        target=target,
        names=(*layout.links, *layout.files),
    )


def dependencies_of(made: Composition) -> Iterator[str]:
    """Files whose change would make the view another one: each chosen part, and the CCCL's version headers."""
    for located in (made.nvcc, made.cicc, made.crt, made.headers, made.libcudart):
        yield located.part.path
    for tool in ("nvcc.profile", "ptxas", "fatbinary", "cudafe++", "nvlink"):
        part = made.nvcc.tree.part(tool)
        if part is not None:
            yield part.path
    libdevice = made.cicc.tree.part("libdevice")
    if libdevice is not None:
        yield libdevice.path
    yield made.cuda_h
    yield f"{made.cccl.nv}/target"
    yield f"{made.cccl.cuda}/std/__cccl/version.h"
    yield f"{made.cccl.cub}/version.cuh"
    yield f"{made.cccl.thrust}/version.h"


def _include(made: Composition, names: Names, link: Callable[[str, str, str], None]) -> None:
    folder = posixpath.dirname(made.headers.part.path)
    folders = [folder, *(f for f in map(_include_dir, made.trees) if f != folder)]
    for name, source in made.cccl.folders.items():
        link(f"include/cccl/{name}", source, f"CCCL {made.cccl.version} of {made.cccl.origin}")
    if searches_cccl(made.nvcc.tree):
        link("include/nv", "cccl/nv", "for compilers that search include alone")
    else:
        for name in CCCL_NAMES:
            link(f"include/{name}", f"cccl/{name}", "this compiler searches include alone")
    link("include/crt", posixpath.dirname(made.crt.part.path), f"crt headers of {made.crt.origin}")
    for each in folders:
        for name in names(each):
            if name not in (*CCCL_NAMES, "cccl", "crt"):
                link(f"include/{name}", f"{each}/{name}", f"headers beside those of {made.headers.origin}")


def _libraries(made: Composition, names: Names, link: Callable[[str, str, str], None]) -> None:
    first = posixpath.dirname(made.libcudart.part.path)
    shared = {_library_dir(tree) for tree in made.trees if tree.layout == "conda"}
    folders = [first, *(f for f in map(_library_dir, made.trees) if f and f != first)]
    versioned: dict[str, str] = {}
    for folder in folders:
        # A conda environment keeps CUDA's libraries among all others: only they belong into the view.
        wanted = r"lib(cu|nv|np).*" if folder in shared else r"lib.+"
        for name in names(folder):
            match = re.fullmatch(rf"({wanted}\.so)(\.\d+)*|{wanted}\.a", name)
            if match:
                link(f"lib64/{name}", f"{folder}/{name}", f"library beside {made.libcudart.origin}")
                if match[1] and match[2]:
                    versioned[match[1]] = min(versioned.get(match[1], name), name, key=len)
    for unversioned, name in versioned.items():
        link(f"lib64/{unversioned}", name, "the unversioned name that the linker looks for")


def _include_dir(tree: Toolkit) -> str:
    part = tree.part("runtime-headers")
    return posixpath.dirname(part.path) if part else f"{tree.home}/include"


def _library_dir(tree: Toolkit) -> str:
    part = tree.part("libcudart") or tree.part("libcudart-static")
    return posixpath.dirname(part.path) if part else ""


def searches_cccl(tree: Toolkit) -> bool:
    """Whether this compiler looks into include/cccl, as those from 13.0 on do."""
    return any(folder.endswith("/cccl") for folder in tree.include_dirs)


def _step(action: Action, reason: str) -> Step:
    return Step(action, Absent(), reason)


def _folders(names: Sequence[str]) -> tuple[str, ...]:
    found: set[str] = set()
    for name in names:
        while name := posixpath.dirname(name):
            found.add(name)
    return tuple(sorted(found))


def _up(path: str, levels: int) -> str:
    for _ in range(levels):
        path = posixpath.dirname(path)
    return path


def list_names(folder: str) -> Sequence[str]:
    """Names in a folder of this machine, sorted, without links that lead nowhere; none where it cannot be read."""
    try:
        with os.scandir(folder) as found:
            return sorted(each.name for each in found if not each.is_symlink() or os.path.exists(each.path))
    except OSError:
        return ()


def free_root(layout: Layout, root: str) -> str:
    """Where the view is built, or stands already as it was laid out: ``root``, unless something else stands there, such
    as the same view without one of its links; then the first of ``root-2``, ``root-3``, …"""
    path, number = root, 1
    while os.path.lexists(path) and not _stands(layout, path):
        number += 1
        path = f"{root}-{number}"
    return path


def _stands(layout: Layout, root: str) -> bool:
    states = ((read_state(f"{root}/{name}"), LinkState(target)) for name, target in layout.links.items())
    files = ((f"{root}/{name}", content) for name, content in layout.files.items())
    return all(now == wanted for now, wanted in states) and all(_holds(path, content) for path, content in files)


def _holds(path: str, content: bytes) -> bool:
    state = read_state(path)
    return isinstance(state, FileState) and state.sha256 == hashlib.sha256(content).hexdigest()
