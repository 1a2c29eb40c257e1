"""Where each component of a CUDA tree lies, in every layout, and of which release it is."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from sm120kit.patterns import pattern
from sm120kit.snapshot import crt_headers
from sm120kit.snapshot.cccl import version_header
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.records import Owned, RecordIndex
from sm120kit.snapshot.runner import RunFailure
from sm120kit.snapshot.types.toolkits import CcclCopy, Part

_TOOLS = ("cicc", "ptxas", "fatbinary", "cudafe++", "nvlink")
_HEADERS = {"crt": "crt/host_config.h", "runtime-headers": "cuda_runtime_api.h", "driver-header": "cuda.h"}
_ARCHIVES = {"libcudart-static": "libcudart_static.a", "libcudadevrt": "libcudadevrt.a"}
_LIBRARIES = {"libcudart": "libcudart", "nvrtc": "libnvrtc"}
_MACROS = {"runtime-headers": b"CUDART_VERSION", "driver-header": b"CUDA_VERSION"}
_BINARIES = ("nvcc", "cicc", "ptxas")
_RELEASE = pattern(rb"release (\d{1,4}\.\d{1,4}), V(\d{1,6}(?:\.\d{1,6}){1,4})")
_WHOLE_BINARY = 512 << 20

_WITNESSES = {"crt": ("host_config.h", "host_runtime.h", "math_functions.h")}
"""Files beside a part that must have their recorded sizes too: host_config.h of 13.0.88 and of 13.5.37 are of one
size."""


class Places(msgspec.Struct, frozen=True):
    """The folders in which the components of one tree are looked for, in order."""

    tools: tuple[str, ...]
    libdevice: tuple[str, ...]
    include: tuple[str, ...]
    libraries: tuple[str, ...]
    nvcc: str
    """Path that it would have."""


def find_parts(files: Files, places: Places, cccl_copies: Sequence[CcclCopy]) -> dict[str, str]:
    """Paths by name of part, for the parts that are there, in the order of ``PART_NAMES``."""
    found = {
        "nvcc": _first(files, (places.nvcc,)),
        "nvcc.profile": _first(files, (f"{places.nvcc}.profile",)),
        **{tool: _first(files, (f"{folder}/{tool}" for folder in places.tools)) for tool in _TOOLS},
        "libdevice": _first(files, (f"{folder}/libdevice.10.bc" for folder in places.libdevice)),
        **{part: _first(files, (f"{folder}/{name}" for folder in places.include)) for part, name in _HEADERS.items()},
    }
    whole = next((copy for copy in cccl_copies if copy.has_cuda_std), next(iter(cccl_copies), None))
    found["cccl"] = version_header(files, whole) if whole else ""
    for part, stem in _LIBRARIES.items():
        found[part] = next(filter(None, (_versioned(files, folder, stem) for folder in places.libraries)), "")
    for part, name in _ARCHIVES.items():
        found[part] = _first(files, (f"{folder}/{name}" for folder in places.libraries))
    return {part: path for part, path in found.items() if path}


def read_part(
    context: Context,
    name: str,
    path: str,
    records: RecordIndex,
    manifest: Mapping[str, Known[str]],
    cccl_copies: Sequence[CcclCopy],
) -> Part:
    """One component with its release, by the rule that :class:`sm120kit.snapshot.types.toolkits.Part` states."""
    owner, fits = _owner(context.files, name, path, records)
    if owner and fits:
        version = owner.owner.rpartition(" ")[2]
        release: Fact[str] = Known(version, Source("wheel", owner.owner))
        return Part(name, path, release, owner.owner, links_to=_link_target(context.files, name, path))
    release = _by_itself(context, name, path, cccl_copies)
    word = manifest.get(name)
    if word and isinstance(release, Unknown) and not owner and not _is_contradicted(name, word.value):
        release = word
    if isinstance(release, Unknown) and name in ("nvcc", "ptxas"):
        release = ask_release(context, path)
    if isinstance(release, Unknown) and owner:
        release = Unknown(f"{path} was changed after {owner.owner} brought it: its size is not the recorded one")
    return Part(
        name,
        path,
        release,
        owner.owner if owner else "",
        altered=owner is not None,
        links_to=_link_target(context.files, name, path),
    )


def _link_target(files: Files, name: str, path: str) -> str:
    """Where an nvcc leads to that is a symbolic link."""
    try:
        return files.real(path) if name == "nvcc" and files.is_link(path) else ""
    except OSError:
        return ""


def ask_release(context: Context, program: str) -> Fact[str]:
    """What ``nvcc --version`` or ``ptxas --version`` answers: 5 to 15 ms."""
    command = (program, "--version")
    try:
        ran = context.run(command)
    except RunFailure as failure:
        return Unknown(f"no wheel and no version.json tells its release; {failure}")
    match = _RELEASE.search(ran.stdout.encode())
    if ran.returncode or not match:
        return Unknown(f"{program} --version ended with {ran.returncode} and told no release")
    return Known(match[2].decode(), Source("command", " ".join(command)))


def ask_architectures(context: Context, nvcc: str) -> Fact[tuple[str, ...]]:
    """What ``nvcc --list-gpu-arch`` answers: ``compute_120`` and the like."""
    command = (nvcc, "--list-gpu-arch")
    try:
        ran = context.run(command)
    except RunFailure as failure:
        return Unknown(str(failure))
    found = tuple(re.findall(r"^compute_\w+$", ran.stdout, re.MULTILINE))
    if ran.returncode or not found:
        return Unknown(f"{' '.join(command)} ended with {ran.returncode} and listed no architecture")
    return Known(found, Source("command", " ".join(command)))


def _owner(files: Files, name: str, path: str, records: RecordIndex) -> tuple[Owned | None, bool]:
    """The wheel whose RECORD lists the part, and whether all that shows its release has the recorded size."""
    owners = records.owners(path)
    if not owners:
        return None, False
    folder = posixpath.dirname(path)
    witnesses = [f"{folder}/{witness}" for witness in _WITNESSES.get(name, ())] or [path]
    present = [(_size(files, witness), records.owners(witness)) for witness in witnesses]
    for owned in owners:
        if all(_fits(owned.owner, size, listed) for size, listed in present):
            return owned, True
    return owners[-1], False


def _fits(wheel: str, size: int | None, listed: Sequence[Owned]) -> bool:
    """Whether this wheel's row for a file, if it has one, says the size that the file has."""
    return all(owned.size in (None, size) for owned in listed if owned.owner == wheel)


def _by_itself(context: Context, name: str, path: str, cccl_copies: Sequence[CcclCopy]) -> Fact[str]:
    """What the file itself tells without being run."""
    if name in _MACROS:
        return _from_macro(context.files, path, _MACROS[name])
    if name == "crt":
        return _crt_release(context.files, path)
    if name == "cccl":
        return next((copy.version for copy in cccl_copies if isinstance(copy.version, Known)), cccl_copies[0].version)
    if name in _LIBRARIES:
        return _from_names(context.files, path)
    if name in _BINARIES and context.deep:
        return _from_binary(context.files, path)
    return Unknown("no wheel and no version.json tells its release")


def _crt_release(files: Files, path: str) -> Fact[str]:
    arguments = crt_headers.launch_arguments(files, posixpath.dirname(posixpath.dirname(path)))
    if isinstance(arguments, Known) and arguments.value == 2:
        return Known("13.0", arguments.source)
    if isinstance(arguments, Known):
        return Unknown("the crt headers carry no version; by the form of __cudaLaunch they are not those of 13.0")
    return arguments


def _is_contradicted(name: str, version: str) -> bool:
    """crt headers of 13.0 tell it by their form; where they did not, no word makes them so."""
    return name == "crt" and f"{version}.".startswith("13.0.")


def _from_macro(files: Files, path: str, macro: bytes) -> Fact[str]:
    """Decode 1000 * major + 10 * minor."""
    try:
        text = files.read(path)
    except OSError as error:
        return Unknown(f"{path} cannot be read: {error.strerror}")
    start = 0
    while (start := text.find(b"define " + macro, start)) >= 0:
        match = re.compile(rb"[ \t]+(\d{4,6})\b").match(text, start + len(b"define ") + len(macro))
        if match:
            number = int(match[1])
            line = text.count(b"\n", 0, start) + 1
            return Known(f"{number // 1000}.{number % 1000 // 10}", Source("file", path, line))
        start += 1
    return Unknown(f"{path} does not define {macro.decode()}")


def _from_names(files: Files, path: str) -> Fact[str]:
    """A library whose own name, or what its link leads to, carries more than the major: libcudart.so.13.0.96.

    NVRTC's built-ins carry major and minor even in wheels: libnvrtc-builtins.so.13.0.
    """
    folder, name = posixpath.split(path)
    versions = [_suffix(name)]
    try:
        versions.append(_suffix(posixpath.basename(files.real(path))))
        if name.startswith("libnvrtc."):
            versions += [_suffix(other) for other in files.names(folder) if other.startswith("libnvrtc-builtins.so.")]
    except OSError as error:
        return Unknown(f"{path} cannot be looked at: {error.strerror}")
    major = versions[0].partition(".")[0]
    told = [version for version in versions if "." in version and version.partition(".")[0] == major]
    if not told:
        return Unknown(f"the name {name} tells the major release alone")
    return Known(max(told, key=lambda version: version.count(".")), Source("file", path))


def _from_binary(files: Files, path: str) -> Fact[str]:
    try:
        match = _RELEASE.search(files.read(path, _WHOLE_BINARY))
    except OSError as error:
        return Unknown(f"{path} cannot be read: {error.strerror}")
    if not match:
        return Unknown(f"{path} holds no release in a form that is known here")
    return Known(match[2].decode(), Source("file", path))


def _versioned(files: Files, folder: str, stem: str) -> str:
    """``libcudart.so.13`` in a folder: the one that ``libcudart.so`` leads to, else the newest; empty if none."""
    try:
        names = files.names(folder)
    except OSError:
        return ""
    found = [name for name in names if name.startswith(f"{stem}.so.") and _suffix(name)]
    found = [name for name in found if files.is_file(f"{folder}/{name}")]
    if not found:
        return ""
    wanted = ""
    if f"{stem}.so" in names:
        try:
            wanted = _suffix(posixpath.basename(files.real(f"{folder}/{stem}.so"))).partition(".")[0]
        except OSError:
            wanted = ""
    same = [name for name in found if _suffix(name).partition(".")[0] == wanted]
    newest = max(same or found, key=lambda name: (_numbers(name)[:1], -len(name)))
    return f"{folder}/{newest}"


def _suffix(name: str) -> str:
    """``13.0.96`` of ``libcudart.so.13.0.96``; empty without one."""
    match = re.fullmatch(r"[\w-]+\.so\.(\d+(?:\.\d+)*)", name, re.ASCII)
    return match[1] if match else ""


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(map(int, _suffix(name).split(".")))


def _first(files: Files, paths: Sequence[str] | Iterator[str]) -> str:
    return next((path for path in paths if files.is_file(path)), "")


def _size(files: Files, path: str) -> int | None:
    try:
        return files.size(path)
    except OSError:
        return None
