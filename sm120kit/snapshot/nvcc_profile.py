"""What one nvcc run searches: nvcc.profile evaluated as nvcc does, and the flags of the environment around it.

The rules were taken from ``nvcc -dryrun`` of 13.0, 13.2 and 13.5 over profiles made for the purpose: ``=`` sets,
``+=`` puts in front, ``=+`` puts behind, ``?=`` sets what nothing has set; a variable that no line has set is the
environment's; reading ends at the first line that is no assignment; ``#`` begins a comment only at a line's start.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Callable, Iterable, Mapping

import msgspec

from sm120kit.patterns import pattern
from sm120kit.snapshot.files import Files

_ASSIGNMENT = pattern(r"([^\s=+?:]*)\s*(\?=|\+=|=\+|=)(.*)")
_REFERENCE = pattern(r"\$\(([^()]*)\)")
_VALUE_LIMIT = 64 << 10
_TARGET_DIRS = {62: ("x86_64-linux",), 183: ("sbsa-linux", "aarch64-linux")}
"""By e_machine of the nvcc binary (62 = x86_64, 183 = AArch64): the cross-build folder it prefers."""


class SearchPaths(msgspec.Struct, frozen=True):
    """Absolute folders, existing or not, in the order in which they are searched."""

    include_dirs: tuple[str, ...] = ()
    library_dirs: tuple[str, ...] = ()
    program_dirs: tuple[str, ...] = ()
    """Where nvcc looks for cicc, ptxas and the rest before PATH."""
    libdevice_dir: str = ""


def search_paths(files: Files, text: str, bin_dir: str, target_dir: str, environment: Mapping[str, str]) -> SearchPaths:
    """Evaluate the text of an nvcc.profile that lies in ``bin_dir``.

    ``target_dir`` is ``targets/x86_64-linux`` or the like, empty where nvcc sees no folder ``targets``.
    """
    variables = evaluate(text, bin_dir, target_dir, environment)
    resolve = _resolver(files)
    return SearchPaths(
        _include_dirs(variables, environment, resolve),
        resolve(_folders(variables.get("LIBRARIES", ""), "-L")),
        resolve([variables.get("CICC_PATH", ""), *variables.get("PATH", "").split(":"), bin_dir]),
        next(iter(resolve([variables.get("NVVMIR_LIBRARY_DIR", "")])), ""),
    )


def paths_without_profile(files: Files, bin_dir: str, environment: Mapping[str, str]) -> SearchPaths:
    """What nvcc searches where no nvcc.profile lies beside the name it was called by: nothing of its own."""
    resolve = _resolver(files)
    return SearchPaths(_include_dirs({}, environment, resolve), (), resolve([bin_dir]))


def evaluate(text: str, bin_dir: str, target_dir: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that the profile sets, as ``nvcc -dryrun`` prints them, PATH without the environment's."""
    built_in = {
        "_NVVM_BRANCH_": "nvvm",
        "_SPACE_": " ",
        "_CUDART_": "cudart",
        "_HERE_": bin_dir,
        "_THERE_": bin_dir,
        "_TARGET_DIR_": target_dir,
        "_TARGET_SIZE_": "" if target_dir else "64",
    }
    own: dict[str, str] = {}

    def value_of(name: str) -> str:
        if name in own:
            return own[name]
        return built_in.get(name, "" if name == "PATH" else environment.get(name, ""))

    for line in map(str.strip, text.split("\n")):
        if not line or line.startswith("#"):
            continue
        match = _ASSIGNMENT.match(line)
        if not match:
            break
        name, operator, raw = match[1], match[2], match[3].strip()
        value = _REFERENCE.sub(lambda reference: value_of(reference[1]), raw)
        if operator == "+=":
            value += value_of(name)
        elif operator == "=+":
            value = value_of(name) + value
        elif operator == "?=" and (name in own or name in environment):
            continue
        if len(value) > _VALUE_LIMIT:
            break
        own[name] = value
    return own


def target_dir(files: Files, home: str) -> str:
    """``$(_TARGET_DIR_)``: nvcc takes its own architecture's name as soon as there is a folder ``targets``.

    The architecture is that of the binary; where it does not tell, the first folder that exists is taken.
    """
    if not files.is_dir(f"{home}/targets"):
        return ""
    try:
        head = files.read(f"{home}/bin/nvcc", 20)
    except OSError:
        head = b""
    machine = int.from_bytes(head[18:20], "little") if head.startswith(b"\x7fELF") else 0
    names = _TARGET_DIRS.get(machine) or tuple(name for names in _TARGET_DIRS.values() for name in names)
    return f"targets/{next((name for name in names if files.is_dir(f'{home}/targets/{name}')), names[0])}"


def _include_dirs(
    variables: Mapping[str, str], environment: Mapping[str, str], resolve: Callable[[Iterable[str]], tuple[str, ...]]
) -> tuple[str, ...]:
    """In the order of a real command line: -I of the user, -I of the profile, CPATH, then -isystem likewise."""
    of_user = f"{environment.get('NVCC_PREPEND_FLAGS', '')} {environment.get('NVCC_APPEND_FLAGS', '')}"
    includes = variables.get("INCLUDES", environment.get("INCLUDES", ""))
    system = variables.get("SYSTEM_INCLUDES", environment.get("SYSTEM_INCLUDES", ""))
    of_profile = f"{includes} {system}"
    return resolve(
        [
            *_folders(of_user, "-I", "--include-path", lists=True),
            *_folders(of_profile, "-I"),
            *environment.get("CPATH", "").split(":"),
            *_folders(of_user, "-isystem", "--system-include", lists=True),
            *_folders(of_profile, "-isystem"),
            *environment.get("CPLUS_INCLUDE_PATH", "").split(":"),
        ]
    )


def _folders(flags: str, *options: str, lists: bool = False) -> list[str]:
    """The folders that these options name, written joined, apart or with ``=``, and on nvcc's own command line also
    as ``lists`` with commas."""
    words = _words(flags)
    found = []
    following = iter(words)
    for word in following:
        option = next((each for each in options if word.startswith(each)), "")
        if not option:
            continue
        value = word[len(option) :].lstrip("=") or next(following, "")
        found += value.split(",") if lists else [value]
    return found


def _words(flags: str) -> list[str]:
    """As a shell would split them; text with an open quote at its blanks."""
    if flags.isascii() and flags.isprintable() and not any(sign in flags for sign in "'\"\\"):
        return flags.split()  # shlex goes through it letter by letter
    try:
        return shlex.split(flags)
    except ValueError:
        return flags.split()


def _resolver(files: Files) -> Callable[[Iterable[str]], tuple[str, ...]]:
    """Absolute folders only, each once, ``..`` taken away as the kernel would: behind a link, not before it."""
    above: dict[str, str] = {}

    def parent(path: str) -> str:
        if path not in above:
            try:
                above[path] = posixpath.dirname(files.real(path) if files.is_link(path) else path)
            except (OSError, ValueError):
                above[path] = posixpath.dirname(path)
        return above[path]

    def collapse(path: str) -> str:
        done = "/"
        for component in path.split("/"):
            if component == "..":
                done = parent(done)
            elif component not in ("", "."):
                done = posixpath.join(done, component)
        return done

    return lambda paths: tuple(dict.fromkeys(collapse(path) for path in paths if path.startswith("/")))
