"""The target's Python, asked once and isolated for its paths and tags; nothing of it is imported."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Iterable, Iterator

from sm120kit.snapshot import interpreter_child
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.runner import RunFailure
from sm120kit.snapshot.types.packages import Interpreter

ANSWER_LIMIT_S = 10.0
"""Seconds an interpreter may take; one on a cold network disk takes several."""

_FIELDS_BEFORE_SITES = 9
_PTH_LIMIT = 64 << 10


def ask_interpreter(context: Context, python: str) -> Interpreter:
    """What ``python`` says of itself, run as ``-I -S``; its .pth files are read afterwards, as text.

    Raises:
        RunFailure: it cannot be started, does not end in time, or answers something else.
    """
    ran = context.run([python, "-I", "-S", interpreter_child.__file__], limit_s=ANSWER_LIMIT_S)
    answer = ran.stdout.split("\0")
    if ran.returncode or answer[0] != interpreter_child.MARK or len(answer) < _FIELDS_BEFORE_SITES:
        words = (ran.stderr.strip() or ran.stdout.strip()).splitlines()
        said = f": {words[-1][:200]}" if words else ""
        raise RunFailure(f"{python} did not answer as a Python interpreter does (exit code {ran.returncode}{said})")
    return _interpreter(context, answer)


def environment_of_own_program(context: Context, python: str) -> Interpreter | None:
    """A virtual environment made from the very Python that runs us: what it would say, without starting it.

    ``None`` where it is no such environment, or one that sees the packages of its base, whose rules are site's own.
    """
    files = context.files
    prefix = posixpath.dirname(posixpath.dirname(python))
    mark, _, version, _, base_prefix, stdlib, include_dir, soabi, *_ = interpreter_child.describe()
    try:
        pairs = (line.partition("=") for line in files.text(f"{prefix}/pyvenv.cfg").splitlines())
        keys = {key.strip().lower(): value.strip() for key, _, value in pairs}
        own = files.real(sys.executable) if sys.executable else ""
        ours = files.real(keys["home"]) == posixpath.dirname(own)
    except (OSError, KeyError):
        return None
    # The program of an environment is a link to that of its base, or with --copies a small one that starts it.
    ours = ours and version in (keys.get("version"), keys.get("version_info"))
    if not ours or keys.get("include-system-site-packages", "").lower() != "false":
        return None
    folders = dict.fromkeys((sys.platlibdir, "lib"))
    sites = [f"{prefix}/{folder}/{posixpath.basename(stdlib)}/site-packages" for folder in folders]
    return _interpreter(context, [mark, python, version, prefix, base_prefix, stdlib, include_dir, soabi, "", *sites])


def own_interpreter(context: Context) -> Interpreter:
    """The same of the Python that runs us, without starting anything."""
    return _interpreter(context, interpreter_child.describe())


def is_own_interpreter(files: Files, python: str) -> bool:
    """Whether ``python`` is the program that runs us, by the same or another name in the same folder.

    The folder decides: every virtual environment has a link to the same program in a folder of its own.
    """
    own = sys.executable
    if not own:
        return False
    try:
        same_folder = files.real(posixpath.dirname(python)) == files.real(posixpath.dirname(own))
        return same_folder and files.real(python) == files.real(own)
    except OSError:
        return False


def extra_folders(files: Files, site_folder: str) -> Iterator[str]:
    """Folders with distributions that the path lines of a site folder's .pth files add to sys.path.

    Lines that ``site`` would execute name no folder, and so does a comment.
    """
    try:
        pth_files = [name for name in files.names(site_folder) if name.endswith(".pth") and not name.startswith(".")]
    except OSError:
        return
    for name in pth_files:
        for line in _lines(files, f"{site_folder}/{name}"):
            path = line.strip()
            folder = posixpath.normpath(posixpath.join(site_folder, path))
            if path and holds_distributions(files, folder):
                yield folder


def holds_distributions(files: Files, folder: str) -> bool:
    """Whether a dist-info folder lies directly inside."""
    try:
        return any(name.endswith(".dist-info") for name in files.names(folder))
    except OSError:
        return False


def existing(files: Files, folders: Iterable[str]) -> tuple[str, ...]:
    """Those folders that exist, each once: another name of the same folder is left out."""
    found: dict[str, str] = {}
    for folder in folders:
        if files.is_dir(folder):
            found.setdefault(_real(files, folder), folder)
    return tuple(found.values())


def _interpreter(context: Context, answer: list[str]) -> Interpreter:
    _, executable, version, prefix, base_prefix, stdlib, include_dir, soabi, user_site, *sites = answer
    files = context.files
    own_rule = [user_site, *sites] if user_site and not context.environment.get("PYTHONNOUSERSITE") else sites
    folders = [folder for folder in _python_path(context) if holds_distributions(files, folder)]
    for folder in existing(files, own_rule):
        folders += [folder, *extra_folders(files, folder)]
    return Interpreter(
        executable=executable,
        version=version,
        prefix=prefix,
        base_prefix=base_prefix,
        site_packages=existing(files, folders),
        include_dir=include_dir,
        externally_managed=prefix == base_prefix and files.is_file(f"{stdlib}/EXTERNALLY-MANAGED"),
        soabi=soabi,
        scripts_dir=f"{prefix}/bin",
    )


def _python_path(context: Context) -> list[str]:
    folders = context.environment.get("PYTHONPATH", "").split(":")
    return [folder for folder in folders if folder.startswith("/")]


def _lines(files: Files, path: str) -> list[str]:
    try:
        return list(dict.fromkeys(files.text(path, _PTH_LIMIT).splitlines()))
    except OSError:
        return []


def _real(files: Files, path: str) -> str:
    try:
        return files.real(path)
    except OSError:
        return path
