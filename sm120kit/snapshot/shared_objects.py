"""Compiled libraries of the installed kernel packages: what they need of the loader and of torch, and what is missing.

Which file is loaded when was read in the packages: sgl_kernel/load_utils.py of sglang-kernel 0.4.10 and sgl-kernel
0.3.21 (sm90/ on compute capability 9.0, sm100/ on every other one), their __init__.py, vllm/platforms/cuda.py,
torchvision/extension.py and torchaudio/_extension. torch itself has loaded its libraries, and those of NVIDIA's wheels
beside them, before any of these.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from sm120kit.snapshot.elf import SharedLibrary, open_library, symbol_hash
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.loader import Loader
from sm120kit.snapshot.records import Distributions
from sm120kit.snapshot.types.packages import Distribution, Interpreter, SharedObject

Role = Literal["always", "hopper", "on-demand"]

OF_DRIVER = ("libcuda.so.1", "libnvidia-ml.so.1")
"""Libraries of the driver: where they are missing, the checks of the driver say so."""

_TORCH = (b"_ZN2at", b"_ZN3c10", b"_ZN5torch", b"_ZNK2at", b"_ZNK3c10", b"_ZNK5torch", b"aoti_torch_")
"""How symbols of torch begin: its namespaces at, c10 and torch, and the functions of its stable interface."""
_TORCH_LIBRARIES = (
    "libc10.so", "libtorch_cpu.so", "libc10_cuda.so", "libtorch_cuda.so", "libtorch_python.so", "libtorch.so",
    "libtorch_cuda_linalg.so",
)  # fmt: skip
_MOST_UNDEFINED = 20


class _Place(msgspec.Struct, frozen=True):
    """Where a wheel keeps a library, below site-packages."""

    distributions: tuple[str, ...]
    folder: str
    name: str
    role: Role


_SGL = ("sglang-kernel", "sgl-kernel")
_PLACES = (
    _Place(("torch",), "torch/lib", r"libtorch_cuda\.so", "always"),
    _Place(_SGL, "sgl_kernel/sm100", r"common_ops\..*so", "always"),
    _Place(_SGL, "sgl_kernel/sm90", r"common_ops\..*so", "hopper"),
    _Place(_SGL, "sgl_kernel", r"common_ops\..*so", "always"),
    _Place(_SGL, "sgl_kernel", r"(?:flash|flashmla)_ops\..*so", "on-demand"),
    _Place(("sgl-deep-gemm", "deep-gemm", *_SGL), "deep_gemm", r"(?:_C|deep_gemm_cpp)\..*so", "on-demand"),
    _Place(("vllm",), "vllm", r"(?:_C|_C_stable_libtorch|_moe_C)\..*so", "always"),
    _Place(("torchvision",), "torchvision", r"_C(?:\..*)?\.so", "always"),
    _Place(("torchaudio",), "torchaudio/lib", r"(?:lib|_)torchaudio\..*so", "on-demand"),
    _Place(("flash-attn",), ".", r"flash_attn_2_cuda\..*so", "on-demand"),
)


def read_shared_objects(
    loader: Loader,
    distributions: Distributions,
    folders: Callable[[], Mapping[str, frozenset[str]]],
    interpreter: Fact[Interpreter],
) -> tuple[SharedObject, ...]:
    """Those that are there. ``folders`` gives the library folders of NVIDIA's wheels, and is asked only if need be."""
    found = list(_installed(loader.files, distributions))
    if not found:
        return ()
    torch = distributions.first("torch")
    torch_dir = f"{posixpath.dirname(torch.path)}/torch/lib" if torch else ""
    search = _Search(loader, (torch_dir, *_prefix_dirs(interpreter)), folders())
    exports = _Exports(loader.files, torch_dir)
    return tuple(_read(path, owner, role, search, exports) for path, owner, role in found)


def _installed(files: Files, distributions: Distributions) -> Iterator[tuple[str, Distribution, Role]]:
    names: dict[str, list[str]] = {}
    for place in _PLACES:
        owner = next((each for name in place.distributions if (each := distributions.first(name))), None)
        if owner is None:
            continue
        folder = posixpath.normpath(f"{posixpath.dirname(owner.path)}/{place.folder}")
        if folder not in names:
            names[folder] = _names(files, folder)
        for name in names[folder]:
            if re.fullmatch(place.name, name):
                yield f"{folder}/{name}", owner, place.role


def _read(path: str, owner: Distribution, role: Role, search: _Search, exports: _Exports) -> SharedObject:
    distribution = f"{owner.name} {owner.version}"
    try:
        library = open_library(search.files, path)
        needed = library.needed
        missing = search.missing(library)
    except (OSError, ValueError) as error:
        return SharedObject(path, distribution, role, Unknown(_words(error)))
    own = Unknown("it is torch's own") if owner.name == "torch" else exports.undefined(library)
    return SharedObject(path, distribution, role, Known(needed, Source("file", path)), missing, own)


class _Search:
    """Where a library's needs can be met."""

    def __init__(self, loader: Loader, beside: Sequence[str], folders: Mapping[str, frozenset[str]]) -> None:
        self.files = loader.files
        self._loader = loader
        self._beside = tuple(folder for folder in beside if folder)
        self._of_wheels = frozenset[str]().union(*folders.values())
        self._known: dict[str, bool] = {}

    def missing(self, library: SharedLibrary) -> tuple[str, ...]:
        """Its sonames that are nowhere, those of the driver left out."""
        origin = posixpath.dirname(library.path)
        own = [folder.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for folder in library.search_dirs]
        return tuple(
            soname
            for soname in library.needed
            if soname not in OF_DRIVER and not self._somewhere(soname) and not self._in(own, soname)
        )

    def _somewhere(self, soname: str) -> bool:
        if soname not in self._known:
            self._known[soname] = (
                soname in self._of_wheels or self._in(self._beside, soname) or self._loader.holds(soname)
            )
        return self._known[soname]

    def _in(self, folders: Sequence[str], soname: str) -> bool:
        return any(self.files.is_file(f"{folder}/{soname}") for folder in folders)


class _Exports:
    """The symbols that the libraries of the installed torch have."""

    def __init__(self, files: Files, folder: str) -> None:
        self._files = files
        self._folder = folder
        self._known: set[int] = set()
        self._libraries: dict[str, SharedLibrary] = {}

    def undefined(self, library: SharedLibrary) -> Fact[tuple[str, ...]]:
        """Symbols of torch that ``library`` takes and torch does not have.

        Unknown where a library of torch that it needs is not there: that one alone is what is wrong then.
        """
        try:
            for name in _TORCH_LIBRARIES:
                path = f"{self._folder}/{name}"
                if name in library.needed and not self._files.is_file(path):
                    return Unknown(f"{path} is not there, which it needs")
            taken = {symbol_hash(name): name for name in library.undefined(_TORCH)}
            left = taken.keys() - self._known
            for name in _TORCH_LIBRARIES if left else ():
                left -= self._exported_by(name, left)
            self._known |= taken.keys() - left
        except (OSError, ValueError) as error:
            return Unknown(_words(error))
        names = sorted(taken[value].decode("utf-8", "replace") for value in left)
        return Known(tuple(names[:_MOST_UNDEFINED]), Source("file", self._folder))

    def _exported_by(self, name: str, hashes: set[int]) -> frozenset[int]:
        path = f"{self._folder}/{name}"
        if name not in self._libraries:
            if not self._files.is_file(path):
                return frozenset()
            self._libraries[name] = open_library(self._files, path)
        return self._libraries[name].exports(hashes)


def _prefix_dirs(interpreter: Fact[Interpreter]) -> tuple[str, ...]:
    """The library folders that a conda interpreter searches for everything it loads."""
    if isinstance(interpreter, Unknown):
        return ()
    value = interpreter.value
    return tuple(dict.fromkeys(f"{prefix.rstrip('/')}/lib" for prefix in (value.prefix, value.base_prefix) if prefix))


def _names(files: Files, folder: str) -> list[str]:
    try:
        return files.names(folder)
    except OSError:
        return []


def _words(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    return str(error)
