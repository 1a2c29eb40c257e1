"""Every CUDA tree that the target has or would take, with the release of each of its components."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from sm120kit.snapshot import crt_headers, nvcc_profile
from sm120kit.snapshot.cccl import cccl_copies
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.cuda_manifest import read_manifest
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.gone_files import gone_files, gone_headers
from sm120kit.snapshot.live_view import MANIFEST as VIEW_MANIFEST
from sm120kit.snapshot.nvcc_profile import SearchPaths
from sm120kit.snapshot.records import Distributions, RecordIndex
from sm120kit.snapshot.toolkit_homes import CU12_FOLDERS, Tree, find_trees
from sm120kit.snapshot.toolkit_parts import Places, ask_architectures, find_parts, read_part
from sm120kit.snapshot.types.toolkits import DEVELOPMENT_HEADERS, PART_NAMES, GoneFile, Layout, Part, Toolkit

_PROFILE_LIMIT = 64 << 10
_SHOWING = frozenset({"nvcc", "cicc", "ptxas", "crt", "runtime-headers", "libcudart", "libdevice"})
"""Parts one of which makes a folder a CUDA tree."""

_HOST_INCLUDES = ("/usr/local/include", "/usr/include")
"""What a host compiler searches by itself, last: where Debian's package puts CUDA's headers."""

_LIBS = ("lib64", "lib64/stubs", "lib", "lib/stubs")

_LINKABLE = frozenset(
    {
        "libcublas", "libcublasLt", "libcuda", "libcudadevrt", "libcudart", "libcudart_static", "libcufft", "libcurand",
        "libcusolver", "libcusparse", "libnvJitLink", "libnvrtc",
    }
)  # fmt: skip


def read_toolkits(context: Context, records: RecordIndex, extra_homes: Mapping[str, str]) -> tuple[Toolkit, ...]:
    """Find the CUDA trees and read each; ``extra_homes`` are folders that consumers named, with how.

    Nothing is raised for what cannot be read: it becomes unknown, or is not there.
    """
    read = (_read_tree(context, records, tree) for tree in find_trees(context, extra_homes))
    return tuple(toolkit for toolkit in read if toolkit is not None)


def _read_tree(context: Context, records: RecordIndex, tree: Tree) -> Toolkit | None:
    files, base = context.files, tree.base
    records = _records_of(context, tree, records)
    layout = _layout(files, tree)
    nvcc = f"{base}/bin/nvcc"
    has_nvcc = files.is_file(nvcc)
    profile, paths = _search_paths(context, base) if has_nvcc else _runtime_paths(files, base, layout)
    copies = cccl_copies(files, paths.include_dirs, records)
    found = find_parts(files, _places(files, base, paths), copies)
    if _SHOWING.isdisjoint(found):
        return None
    manifest = read_manifest(files, base, _environment_of(base))
    order = (name for name in PART_NAMES if name in found)
    parts = tuple(read_part(context, name, found[name], records, manifest, copies) for name in order)
    crt = posixpath.dirname(posixpath.dirname(found["crt"])) if "crt" in found else ""
    names = {folder: set(_names(files, folder)) for folder in paths.include_dirs}
    headers = _headers(files, names)
    owners = {part.owner for part in parts} | {copy.owner for copy in copies}
    owners |= {owned.owner for path in headers.values() for owned in records.owners(path)}
    no_crt = Unknown("no include folder of this tree holds crt/host_config.h")
    return Toolkit(
        home=tree.home,
        real_home=tree.root,
        layout=layout,
        found_via=tuple(tree.found_via),
        parts=parts,
        include_dirs=paths.include_dirs,
        library_dirs=paths.library_dirs,
        profile=profile,
        cccl_copies=copies,
        headers=tuple(headers),
        link_names=_link_names(files, tree.home, paths.library_dirs),
        host_compiler_limits=crt_headers.host_compiler_limits(files, crt) if crt else no_crt,
        glibc_guards=crt_headers.glibc_guards(files, crt) if crt else no_crt,
        architectures=_architectures(context, parts),
        crt_launch_arguments=crt_headers.launch_arguments(files, crt) if crt else no_crt,
        owners=tuple(sorted(owners - {""})),
        aliases=tree.aliases,
        gone_files=_gone(context, records, tree, names, crt) if has_nvcc else (),
    )


def _records_of(context: Context, tree: Tree, records: RecordIndex) -> RecordIndex:
    """Who owns this tree's files: the wheels it keeps the dist-info of, or those of the site-packages it lies in where
    that is not the target's (CUDA_HOME in another environment), else ``records``."""
    files = context.files
    if files.is_dir(f"{tree.base}/dist-info"):
        return RecordIndex.beside(files, tree.base)
    site, inside, _ = f"{tree.root}/".rpartition("/nvidia/")
    if not inside or site in {_real(files, folder) for folder in context.site_packages}:
        return records
    wheels = Distributions.read(files, (site,)).starting_with("nvidia-")
    return RecordIndex(files, wheels) if wheels else records


def _real(files: Files, path: str) -> str:
    try:
        return files.real(path)
    except OSError:
        return path


def _search_paths(context: Context, base: str) -> tuple[Fact[str], SearchPaths]:
    """What an nvcc in ``base``/bin searches, by the nvcc.profile beside it."""
    files, bin_dir = context.files, f"{base}/bin"
    path = f"{bin_dir}/nvcc.profile"
    try:
        text = files.text(path, _PROFILE_LIMIT)
    except OSError as error:
        profile: Fact[str] = Unknown(f"{path} cannot be read: {error.strerror}")
        paths = nvcc_profile.paths_without_profile(files, bin_dir, context.environment)
    else:
        profile = Known(text, Source("file", path))
        target = nvcc_profile.target_dir(files, base)
        paths = nvcc_profile.search_paths(files, text, bin_dir, target, context.environment)
    return profile, replace(paths, include_dirs=paths.include_dirs + _host_includes(files, paths.include_dirs))


def _host_includes(files: Files, include_dirs: Sequence[str]) -> tuple[str, ...]:
    """The host compiler's own folders, as far as they hold CUDA headers that no folder before them holds."""
    found: list[str] = []
    for folder in _HOST_INCLUDES:
        for header in ("cuda_runtime_api.h", "nv/target"):
            if folder not in (*include_dirs, *found) and files.is_file(f"{folder}/{header}"):
                before = (f"{each}/{header}" for each in (*include_dirs, *found))
                if not any(map(files.is_file, before)):
                    found.append(folder)
    return tuple(found)


def _runtime_paths(files: Files, base: str, layout: Layout) -> tuple[Fact[str], SearchPaths]:
    """The include folders of a tree without nvcc."""
    if _is_cu12_set(files, base):
        include = tuple(f"{base}/{name}/include" for name in _names(files, base) if not name.startswith("_"))
    else:
        roots = [f"{base}/{target}" for target in _targets(files, base)] if layout == "conda" else [base]
        include = tuple(f"{root}/{name}" for root in roots for name in ("include", "include/cccl"))
    return Unknown("a tree without nvcc has no nvcc.profile"), SearchPaths(tuple(filter(files.is_dir, include)))


def _places(files: Files, base: str, paths: SearchPaths) -> Places:
    targets = [f"{base}/{target}/lib" for target in _targets(files, base)]
    linked = [folder for folder in paths.library_dirs if posixpath.basename(folder) != "stubs"]
    libraries = [f"{base}/lib64", f"{base}/lib", *targets, *linked]
    tools, libdevice = [f"{base}/nvvm/bin", f"{base}/bin"], [f"{base}/nvvm/libdevice", f"{base}/libdevice"]
    if _is_cu12_set(files, base):
        tools.append(f"{base}/cuda_nvcc/bin")
        libdevice.append(f"{base}/cuda_nvcc/nvvm/libdevice")
        libraries += [f"{base}/{name}/lib" for name in CU12_FOLDERS]
    return Places(
        tools=tuple(dict.fromkeys((*paths.program_dirs, *tools))),
        libdevice=tuple(filter(None, (paths.libdevice_dir, *libdevice))),
        include=paths.include_dirs,
        libraries=tuple(dict.fromkeys(libraries)),
        nvcc=f"{base}/bin/nvcc",
    )


def _layout(files: Files, tree: Tree) -> Layout:
    root = tree.root
    if files.is_file(f"{root}/{VIEW_MANIFEST}"):
        return "view"
    parent, name = posixpath.split(root)
    if posixpath.basename(parent) == "nvidia" and re.fullmatch(r"cu1[3-9]|cu[2-9]\d", name):
        return "wheel-cu13"
    if (posixpath.basename(parent) == "nvidia" and name.startswith("cu")) or _is_cu12_set(files, root):
        return "wheel-cu12"
    if files.is_dir(f"{_environment_of(root)}/conda-meta"):
        return "conda"
    if root in ("/usr", "/") or root.startswith("/usr/lib"):
        return "distro"
    if files.is_dir(f"{root}/nvvm") or files.is_file(f"{root}/version.json"):
        return "system"
    return "unknown"


def _environment_of(home: str) -> str:
    """A conda environment, for itself or for its ``targets/x86_64-linux``."""
    above = posixpath.dirname(home)
    return posixpath.dirname(above) if posixpath.basename(above) == "targets" else home


def _is_cu12_set(files: Files, base: str) -> bool:
    return posixpath.basename(base) == "nvidia" and any(files.is_dir(f"{base}/{name}") for name in CU12_FOLDERS)


def _targets(files: Files, base: str) -> list[str]:
    return [f"targets/{name}" for name in _names(files, f"{base}/targets") if name.endswith("-linux")]


def _gone(
    context: Context, records: RecordIndex, tree: Tree, include_dirs: Mapping[str, Collection[str]], crt: str
) -> tuple[GoneFile, ...]:
    headers = tuple(gone_headers(context.files, records, include_dirs, crt))
    if not context.deep:
        return headers
    known = {each.path for each in headers}
    return headers + tuple(each for each in gone_files(context.files, records, tree.root) if each.path not in known)


def _headers(files: Files, include_dirs: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Development headers that the compiler finds, with the file it takes."""
    found: dict[str, str] = {}
    for folder, names in include_dirs.items():
        for header in DEVELOPMENT_HEADERS:
            if header in names and header not in found and files.is_file(f"{folder}/{header}"):
                found[header] = f"{folder}/{header}"
    return {header: found[header] for header in DEVELOPMENT_HEADERS if header in found}


def _link_names(files: Files, home: str, library_dirs: Sequence[str]) -> tuple[str, ...]:
    """Libraries below home that a linker can open; a dangling link is none."""
    folders = [f"{root}{name}" for root in ("", *(f"{each}/" for each in _targets(files, home))) for name in _LIBS]
    if _is_cu12_set(files, home):
        folders += [f"{name}/lib" for name in _names(files, home) if not name.startswith("_")]
    below = f"{home.rstrip('/')}/"
    folders += [folder[len(below) :] for folder in library_dirs if folder.startswith(below)]
    found = []
    for folder in dict.fromkeys(folders):
        names = filter(_is_linkable, _names(files, below + folder))
        found += [f"{folder}/{name}" for name in names if files.is_file(f"{below}{folder}/{name}")]
    return tuple(found)


def _is_linkable(name: str) -> bool:
    """``libcudart.so``, ``libcudart.so.13``, ``libcudart_static.a``."""
    stem, *rest = name.split(".")
    return stem in _LINKABLE and (rest == ["a"] or (rest[:1] == ["so"] and all(map(str.isdecimal, rest[1:]))))


def _architectures(context: Context, parts: Sequence[Part]) -> Fact[tuple[str, ...]]:
    """Asked only where nvcc had to be started anyway, or tells nothing else: its release tells them otherwise."""
    nvcc = next((part for part in parts if part.name == "nvcc"), None)
    if nvcc is None:
        return Unknown("this tree has no nvcc")
    if isinstance(nvcc.release, Known) and nvcc.release.source.kind != "command":
        return Unknown("nvcc was not asked: its release is known")
    return ask_architectures(context, nvcc.path)


def _names(files: Files, folder: str) -> list[str]:
    try:
        return files.names(folder)
    except OSError:
        return []
