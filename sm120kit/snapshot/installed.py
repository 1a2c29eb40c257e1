"""Pythons known by the names of their folders alone: for ``--site-packages`` and inside ``--root``.

A Python is a prefix (``/srv/venv``, ``/usr``) and a version (``3.12``). ``/usr`` also owns what Debian and Fedora put
below ``/usr/local/lib``, unless a Python of that version stands in ``/usr/local/bin``.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Iterator, Mapping

from sm120kit.patterns import pattern
from sm120kit.snapshot.context import DEFAULT_PATH
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.interpreter import existing, extra_folders
from sm120kit.snapshot.types.packages import Interpreter

COMMON_HOMES = ("/venv", "/.venv", "/app/.venv", "/app/venv", "/root/.venv", "/workspace/.venv")
"""Where images put a virtual environment when no variable names it; every folder of /opt is looked at too."""

_MOST_NESTED = 8
"""Environments made from environments that are followed to the Python below."""

_VERSIONED = pattern(r"python(\d+\.\d+)t?")
_SITE_FOLDER = pattern(
    r"(?P<prefix>/.*?)?/lib(?:64)?/python(?P<version>\d+\.\d+|3)t?/(?:site|dist)-packages", re.DOTALL
)


def python_of(files: Files, site_packages: str) -> Interpreter | None:
    """The Python that a site-packages folder belongs to by its path; ``None`` where the path does not tell
    (``pip install --target``)."""
    match = _SITE_FOLDER.fullmatch(site_packages)
    if not match:
        return None
    prefix, version = match["prefix"] or "", match["version"]
    if prefix == "/usr/local" and not _executable(files, prefix, version):
        prefix = "/usr"
    if version == "3":
        version = next(iter(_versions(files, prefix)), "")
    return _describe(files, prefix, version, (site_packages,)) if version else None


def python_at(files: Files, executable: str) -> Interpreter | None:
    """The Python that an interpreter's path belongs to; ``None`` where no library folder of it is found."""
    prefix = posixpath.dirname(posixpath.dirname(executable)).rstrip("/")
    names = [posixpath.basename(executable)]
    with contextlib.suppress(OSError):
        names.append(posixpath.basename(files.real(executable)))
    named = [match[1] for name in names if (match := _VERSIONED.fullmatch(name))]
    versions = _versions(files, prefix)
    version = next((each for each in named if each in versions), next(iter(versions), ""))
    return _describe(files, prefix, version, _site_packages(files, prefix, version)) if version else None


def pythons_in(files: Files, environment: Mapping[str, str]) -> tuple[Interpreter, ...]:
    """Every Python with a folder of packages in an unpacked image, those first that its variables name."""
    found: dict[str, Interpreter] = {}
    for prefix in _prefixes(files, environment):
        for version in _versions(files, prefix):
            folders = _site_packages(files, prefix, version)
            if folders and (key := files.real(folders[0])) not in found:
                found[key] = _describe(files, prefix, version, folders)
    return tuple(found.values())


def _prefixes(files: Files, environment: Mapping[str, str]) -> Iterator[str]:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if environment.get(name, "").startswith("/"):
            yield environment[name].rstrip("/")
    for folder in environment.get("PATH", DEFAULT_PATH).split(":"):
        if folder.startswith("/") and folder.endswith("/bin") and folder not in ("/bin", "/usr/bin", "/usr/local/bin"):
            yield folder[: -len("/bin")]
    yield from (f"/opt/{name}" for name in _names(files, "/opt"))
    yield from COMMON_HOMES
    yield from ("/usr/local", "/usr")


def _versions(files: Files, prefix: str) -> tuple[str, ...]:
    """Versions with a library folder below a prefix: the one that ``python3`` is, then the newest first."""
    libraries = [f"{prefix}/lib", f"{prefix}/lib64"]
    if prefix == "/usr":
        libraries += ["/usr/local/lib", "/usr/local/lib64"]
    names = [name for library in libraries for name in _names(files, library)]
    versions = {match[1] for name in names if (match := _VERSIONED.fullmatch(name))}
    if prefix == "/usr/local":
        versions = {version for version in versions if _executable(files, prefix, version)}
    default = _default_version(files, prefix)
    return tuple(sorted(versions, key=lambda each: (each != default, [-int(part) for part in each.split(".")])))


def _site_packages(files: Files, prefix: str, version: str) -> tuple[str, ...]:
    """Existing folders of packages, those of a virtual environment's base included where it sees them."""
    folders = _own_folders(files, prefix, version)
    base, sees_base = _pyvenv(files, prefix)
    if sees_base and base != prefix:
        folders += _own_folders(files, base, version)
    return existing(files, folders)


def _own_folders(files: Files, prefix: str, version: str) -> list[str]:
    own = [f"{prefix}/lib/python{version}/site-packages", f"{prefix}/lib64/python{version}/site-packages"]
    if prefix == "/usr":
        if not _executable(files, "/usr/local", version):
            own = [each.replace("/usr/", "/usr/local/", 1) for each in own] + own
        own = [
            f"/usr/local/lib/python{version}/dist-packages",
            "/usr/lib/python3/dist-packages",
            f"/usr/lib/python{version}/dist-packages",
            *own,
        ]
    return [each for folder in existing(files, own) for each in (folder, *extra_folders(files, folder))]


def _describe(files: Files, prefix: str, version: str, site_packages: tuple[str, ...]) -> Interpreter:
    base_prefix, _ = _pyvenv(files, prefix)
    library = f"{base_prefix}/lib/python{version}"
    extensions = _names(files, f"{library}/lib-dynload")
    soabi = next((match[1] for name in extensions if (match := re.search(r"\.(cpython-.+)\.so$", name))), "")
    return Interpreter(
        executable=_executable(files, prefix, version),
        version=version,
        prefix=prefix or "/",
        base_prefix=base_prefix or "/",
        site_packages=site_packages,
        include_dir=f"{base_prefix}/include/python{version}",
        externally_managed=prefix == base_prefix and files.is_file(f"{library}/EXTERNALLY-MANAGED"),
        soabi=soabi,
        scripts_dir=f"{prefix}/bin",
    )


def _pyvenv(files: Files, prefix: str) -> tuple[str, bool]:
    """The prefix that a virtual environment was made from (else its own), and whether it sees those packages."""
    keys = _pyvenv_keys(files, prefix)
    base = _made_from(keys, prefix)
    for _ in range(_MOST_NESTED):
        # Python 3.10 and older write down the environment they were run from, whatever that was made from itself.
        above = _made_from(_pyvenv_keys(files, base), base)
        if above == base:
            break
        base = above
    return base, keys.get("include-system-site-packages", "").lower() == "true"


def _pyvenv_keys(files: Files, prefix: str) -> dict[str, str]:
    try:
        text = files.text(f"{prefix}/pyvenv.cfg")
    except OSError:
        return {}
    return {key.strip().lower(): value.strip() for key, _, value in (line.partition("=") for line in text.splitlines())}


def _made_from(keys: Mapping[str, str], prefix: str) -> str:
    home = posixpath.normpath(keys.get("home", ""))
    return posixpath.dirname(home).rstrip("/") if home.startswith("/") else prefix


def _default_version(files: Files, prefix: str) -> str:
    """The version that ``python3`` of a prefix is, by the link's name."""
    with contextlib.suppress(OSError):
        match = _VERSIONED.fullmatch(posixpath.basename(files.real(f"{prefix}/bin/python3")))
        return match[1] if match else ""
    return ""


def _executable(files: Files, prefix: str, version: str) -> str:
    """Its interpreter below a prefix, even as a link that leads nowhere; empty where there is none."""
    paths = [f"{prefix}/bin/python{version}", f"{prefix}/bin/python3", f"{prefix}/bin/python"]
    candidates = paths[:1] if prefix == "/usr/local" and version != "3" else paths
    return next((path for path in candidates if files.is_file(path) or files.is_link(path)), "")


def _names(files: Files, folder: str) -> list[str]:
    try:
        return files.names(folder)
    except OSError:
        return []
