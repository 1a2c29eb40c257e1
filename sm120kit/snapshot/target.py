"""Which target is examined: the options that all commands share, and what they resolve to."""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from sm120kit.errors import TARGET_UNREADABLE, USAGE, Sm120kitError
from sm120kit.snapshot.context import DEFAULT_PATH, Context
from sm120kit.snapshot.environment import read_environment
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.installed import python_at, python_of, pythons_in
from sm120kit.snapshot.interpreter import (
    ask_interpreter,
    environment_of_own_program,
    is_own_interpreter,
    own_interpreter,
)
from sm120kit.snapshot.runner import RunFailure
from sm120kit.snapshot.types.packages import Interpreter
from sm120kit.snapshot.types.snapshot import Target

if TYPE_CHECKING:  # only those who examine an archive load what reads it
    from sm120kit.snapshot.image.open import Image

_ENGINES = ("torch", "sglang")


class TargetOptions(msgspec.Struct, frozen=True):
    """As given on the command line; empty = not given."""

    python: str = ""
    site_packages: str = ""
    cuda_home: str = ""
    system_toolkits: bool = True
    root: str = ""
    image_archive: str = ""
    env_file: str = ""
    variables: dict[str, str] | None = None
    """All variables of the target's processes, where the caller knows them; ``env_file`` and ``pid`` do not count then.
    """
    pid: int = 0
    ask_driver: bool = True
    """False with ``--gpu``: the hardware is named, NVML is not asked."""
    deep: bool = False
    """Scan big binaries (cicc) for their release."""
    data_dir: str = ""
    """Where repairs are kept; empty = by XDG."""

    @property
    def of_image(self) -> bool:
        """Whether the target is an image, unpacked or not: nothing in it is executed."""
        return bool(self.root or self.image_archive)


class ResolvedTarget(msgspec.Struct, frozen=True):
    """A target that can be read, and its Python."""

    context: Context
    interpreter: Fact[Interpreter]


def check_options(options: TargetOptions) -> None:
    """Refuse options that contradict each other.

    Raises:
        Sm120kitError: with exit code 2.
    """
    contradictions = (
        ("--python", options.python, "--site-packages", options.site_packages, "each names the target"),
        ("--env-file", options.env_file, "--pid", options.pid, "each names the environment"),
        ("--root", options.root, "--pid", options.pid, "an unpacked image has no running process"),
        ("--image-archive", options.image_archive, "--pid", options.pid, "an archive has no running process"),
        ("--root", options.root, "--image-archive", options.image_archive, "each names an image"),
    )
    for first, one, second, other, why in contradictions:
        if one and other:
            raise Sm120kitError(f"{first} and {second} contradict each other: {why}", hint="Give one of the two")
    if options.pid < 0:
        raise Sm120kitError(f"--pid {options.pid} is not the number of a process", exit_code=USAGE)


def resolve_target(options: TargetOptions, files: Files, image: Image | None = None) -> ResolvedTarget:
    """Find the target, its environment and its Python. ``files`` must be confined to ``--root`` already, or be those of
    the ``image`` that ``--image-archive`` names.

    Raises:
        Sm120kitError: the options contradict each other (2), or what they name cannot be examined (4).
    """
    check_options(options)
    if options.root and not files.is_dir("/"):
        raise _unreadable(f"--root {options.root} is not a folder", "Name the folder that an image was unpacked into")
    if options.root and files.is_file("/oci-layout"):
        from shlex import quote

        raise _unreadable(
            f"--root {options.root} is an image in OCI layout, not an unpacked one",
            f"Pack it with: tar -C {quote(options.root)} -cf image.tar . and name that with --image-archive image.tar",
        )
    if options.variables is not None:
        environment, words = {"PATH": DEFAULT_PATH, **options.variables}, "as a server will have it"
    else:
        environment, words = read_environment(
            options.env_file, options.pid, unpacked=bool(options.root), of_image=image.environment if image else None
        )
    cuda_home = ""
    if options.cuda_home:
        cuda_home = _absolute(options.cuda_home, options)
        if not files.is_dir(cuda_home) or not files.exists(f"{cuda_home}/bin/nvcc"):
            _refuse_part_of_a_toolkit(cuda_home, options, files)
        environment["CUDA_HOME"] = environment["CUDA_PATH"] = cuda_home
    target = Target(
        kind="interpreter",
        path="",
        why="",
        root=os.path.abspath(options.image_archive or options.root) if options.of_image else "",
        cuda_home=cuda_home,
        system_toolkits=options.system_toolkits,
        environment=words,
        live=not options.of_image,
        image=image.name if image else "",
    )
    context = Context(files, environment, (), not options.of_image, target, options.deep)
    if options.site_packages:
        return _of_site_packages(context, options)
    if options.of_image:
        return _of_root(context, options)
    return _of_interpreter(context, options)


def _refuse_part_of_a_toolkit(cuda_home: str, options: TargetOptions, files: Files) -> None:
    """A toolkit whose nvcc is missing is judged; what is no folder, or a folder inside a toolkit, was not meant."""
    from sm120kit.snapshot.misnamed import near_toolkit

    near = near_toolkit(files, cuda_home)
    hint = f"Did you mean --cuda-home {near}?" if near else "Name a folder that holds bin/nvcc"
    if not files.is_dir(cuda_home):
        raise _missing("--cuda-home", cuda_home, options, files, hint)
    if near:
        raise _unreadable(f"--cuda-home {cuda_home} is a folder inside a toolkit, and has no bin/nvcc", hint)


def _of_interpreter(context: Context, options: TargetOptions) -> ResolvedTarget:
    python, why = _named_interpreter(context, options) if options.python else _default_interpreter(context)
    try:
        if is_own_interpreter(context.files, python):
            interpreter, source = own_interpreter(context), Source("system", "the Python that runs sm120kit")
        elif derived := environment_of_own_program(context, python):
            interpreter, source = derived, Source("file", f"{derived.prefix}/pyvenv.cfg")
        else:
            interpreter, source = ask_interpreter(context, python), Source("command", f"{python} -I -S")
    except RunFailure as failure:
        hint = "Name another one with --python, or its packages with --site-packages"
        raise _unreadable(str(failure), hint) from failure
    return _resolved(context, "interpreter", python, why, Known(interpreter, source), interpreter.site_packages)


def _named_interpreter(context: Context, options: TargetOptions) -> tuple[str, str]:
    files, given = context.files, options.python
    if "/" not in given:
        found = context.which(given)
        if found is None:
            raise _unreadable(f"--python {given}: no such program on PATH", "Give the path of an interpreter")
        return found, f"named by --python {given}"
    python = _absolute(given, options)
    if files.is_dir(python) or not files.exists(python):
        from sm120kit.snapshot.misnamed import near_python

        near = near_python(files, python)
        hint = f"Did you mean --python {near}?" if near else "Give the path of an interpreter"
        if files.is_dir(python):
            raise _unreadable(f"--python {python} is a folder", hint)
        raise _missing("--python", python, options, files, hint)
    if not files.is_executable(python):
        raise _unreadable(f"--python {python} is not an executable file", "Give the path of an interpreter")
    return python, "named by --python"


def _default_interpreter(context: Context) -> tuple[str, str]:
    files = context.files
    remarks: list[str] = []
    homes = [(name, context.environment.get(name, "")) for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    homes.append((".venv", posixpath.join(_working_folder(), ".venv")))
    reasons = {
        "VIRTUAL_ENV": "the active virtual environment, VIRTUAL_ENV",
        "CONDA_PREFIX": "the active conda environment, CONDA_PREFIX",
        ".venv": "the virtual environment .venv of the current folder",
    }
    for name, home in homes:
        python = f"{home.rstrip('/')}/bin/python"
        if home.startswith("/") and files.is_executable(python):
            return python, _sentence(reasons[name], remarks)
        if home and name != ".venv":
            remarks.append(f"{name} names {home}, which has no bin/python")
    own = own_interpreter(context)
    if held := _engines(files, own):
        return own.executable, _sentence(f"the Python that runs sm120kit, since it has {' and '.join(held)}", remarks)
    python3 = _python3_on_path(context, own)
    if python3 is None:
        raise _unreadable(
            "; ".join([*remarks, "no virtual environment is active, and there is no python3 on PATH"]),
            "Name an interpreter with --python, or a folder of packages with --site-packages",
        )
    return python3, _sentence("python3 on PATH, since no virtual environment is active", remarks)


def _python3_on_path(context: Context, own: Interpreter) -> str | None:
    """The first one, not counting the virtual environment that holds sm120kit: uvx puts that before all others."""
    found = context.which_all("python3")
    if own.prefix == own.base_prefix:
        return next(iter(found), None)
    others = (path for path in found if not is_own_interpreter(context.files, path))
    return next(others, next(iter(found), None))


def _of_site_packages(context: Context, options: TargetOptions) -> ResolvedTarget:
    folder = _absolute(options.site_packages, options)
    _refuse_without_packages(context.files, folder, options)
    interpreter = python_of(context.files, folder)
    fact: Fact[Interpreter] = (
        Known(interpreter, Source("file", folder))
        if interpreter
        else Unknown(f"no interpreter was named, and the path {folder} does not tell which one it belongs to")
    )
    return _resolved(context, "site-packages", folder, "named by --site-packages", fact, (folder,))


def _refuse_without_packages(files: Files, folder: str, options: TargetOptions) -> None:
    """An empty folder is an environment without packages as yet; one that holds other things was not meant."""
    from sm120kit.snapshot.misnamed import holds_packages, near_packages

    is_folder = files.is_dir(folder)
    if is_folder and (holds_packages(files, folder) or not files.names(folder)):
        return
    near = near_packages(files, folder)
    hint = f"Did you mean --site-packages {near}?" if near else "Name the folder that holds the packages"
    if not is_folder:
        raise _missing("--site-packages", folder, options, files, hint)
    raise _unreadable(f"--site-packages {folder} holds no package that an installer wrote down (*.dist-info)", hint)


def _of_root(context: Context, options: TargetOptions) -> ResolvedTarget:
    files, root = context.files, context.target.root
    named = f"named by --image-archive: {context.target.image}" if context.target.image else "named by --root"
    if options.python:
        python = _absolute(options.python, options)
        if not (files.exists(python) or files.is_link(python)):
            raise _missing("--python", python, options, files, "Give the interpreter's path inside the image")
        chosen = python_at(files, python)
        why = f"{named}, with --python {python}"
        nothing = f"no library folder belongs to {python} in the image"
    else:
        pythons = pythons_in(files, context.environment)
        with_engine = (each for each in pythons if _engines(files, each))
        chosen = next(with_engine, next(iter(pythons), None))
        why = named
        if chosen:
            why += f", with the packages of Python {chosen.version} in {chosen.prefix}"
        if len(pythons) > 1:
            why += f" ({len(pythons) - 1} more in the image: name one with --python)"
        nothing = "the image holds no Python with a folder of packages (looked below /usr, /usr/local, /opt)"
    if chosen is None:
        return _resolved(context, "root", root, why, Unknown(nothing), ())
    return _resolved(context, "root", root, why, Known(chosen, Source("file", chosen.prefix)), chosen.site_packages)


def _engines(files: Files, interpreter: Interpreter) -> list[str]:
    sites = interpreter.site_packages
    return [name for name in _ENGINES if any(files.is_dir(f"{site}/{name}") for site in sites)]


def _resolved(
    context: Context,
    kind: Literal["interpreter", "site-packages", "root"],
    path: str,
    why: str,
    interpreter: Fact[Interpreter],
    site_packages: tuple[str, ...],
) -> ResolvedTarget:
    target = msgspec.structs.replace(context.target, kind=kind, path=path, why=why)
    return ResolvedTarget(replace(context, target=target, site_packages=site_packages), interpreter)


def _absolute(path: str, options: TargetOptions) -> str:
    """As the target writes it, without ``.`` and ``..``; links stay. Inside an image every path begins at its root."""
    return posixpath.normpath(posixpath.join("/" if options.of_image else _working_folder(), path)).replace(
        "//", "/", 1
    )


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/"


def _sentence(reason: str, remarks: list[str]) -> str:
    return "; ".join([reason, *remarks])


def _unreadable(message: str, hint: str) -> Sm120kitError:
    return Sm120kitError(message, hint=hint, exit_code=TARGET_UNREADABLE)


def _missing(option: str, path: str, options: TargetOptions, files: Files, hint: str) -> Sm120kitError:
    """The error for something an option names that is not there, or not what it should be."""
    if options.root and f"{path}/".startswith(f"{os.path.abspath(options.root)}/"):
        hint = f"Paths are read inside --root: leave out {os.path.abspath(options.root)}"
    what = "is not a folder" if files.exists(path) else "does not exist"
    inside = f" inside {options.image_archive or options.root}" if options.of_image else ""
    return _unreadable(f"{option} {path} {what}{inside}", hint)
