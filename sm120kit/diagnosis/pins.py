"""What SGLang asks of the packages beside it: the least versions it asserts at start, and the pins of its metadata."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.diagnosis.versions import version_key, within
from sm120kit.patterns import pattern
from sm120kit.snapshot.facts import Known

_PIN = pattern(
    r"(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?==\s*(?P<version>[\w.!+-]+)\)?\s*(?:;\s*(?P<marker>.*))?"
)
SKIP_VARIABLE = "SGLANG_SKIP_SGL_KERNEL_VERSION_CHECK"


class Minimum(Row, frozen=True, kw_only=True):
    """The least version of one package that SGLang ``first`` to ``last`` assert (sglang_minimums.toml)."""

    package: str
    minimum: str
    first: str
    last: str
    only_with: str = ""
    """The attention backend without which it is not asked for; empty = always."""


class Pin(msgspec.Struct, frozen=True):
    """One ``==`` requirement that holds on this machine."""

    name: str
    """Normalised."""
    version: str
    line: str
    """As METADATA writes it."""


def minimums(sglang: str) -> tuple[Minimum, ...]:
    """What this SGLang asserts; empty where the table does not know it."""
    rows = read_table("sglang_minimums", Minimum)
    return tuple(row for row in rows if within(sglang, row.first, row.last))


def skips_assertions(case: Case) -> bool:
    """Whether the target's environment switches the assertions off."""
    return case.snapshot.environment.get(SKIP_VARIABLE, "").lower() in ("1", "true")


def pins(requirements: tuple[str, ...], machine: str, python: str) -> Iterator[Pin]:
    """The ``==`` pins among Requires-Dist lines that hold for this machine (``x86_64``) and Python (``3.12``).

    Wildcards and extras are left out.
    """
    for line in requirements:
        match = _PIN.fullmatch(line.strip())
        if match and "*" not in line and _holds(match["marker"] or "", machine, python):
            yield Pin(re.sub(r"[-_.]+", "-", match["name"]).lower(), match["version"], line)


def requirements_here(lines: Iterable[str], case: Case) -> dict[str, str]:
    """Normalised names and lines of the Requires-Dist ``lines`` that hold for the target's machine and Python."""
    machine, python = machine_and_python(case)
    found: dict[str, str] = {}
    for line in lines:
        requirement, _, marker = line.partition(";")
        name = re.match(r"[A-Za-z0-9][\w.-]*", requirement.strip())
        if name and _holds(marker.strip(), machine, python):
            found.setdefault(re.sub(r"[-_.]+", "-", name[0]).lower(), line)
    return found


def satisfies(installed: str, pin: str) -> bool:
    """Whether an installed version is the one pinned. A local part (``+cu130``) counts only where the pin has one."""
    if "+" in pin:
        return installed == pin
    key = version_key(installed)
    return key is not None and key == version_key(pin)


def machine_and_python(case: Case) -> tuple[str, str]:
    """The target's machine and Python, with the commonest where they are not known."""
    architecture, interpreter = case.snapshot.host.architecture, case.snapshot.interpreter
    machine = architecture.value if isinstance(architecture, Known) else "x86_64"
    version = interpreter.value.version if isinstance(interpreter, Known) else "3.12"
    return machine, ".".join(version.split(".")[:2])


def _holds(marker: str, machine: str, python: str) -> bool:
    if not marker:
        return True
    if "extra" in marker:
        return False
    from packaging.markers import InvalidMarker, Marker, UndefinedComparison

    environment = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": machine}
    environment.update(python_version=python, python_full_version=f"{python}.0")
    try:
        return Marker(marker).evaluate(environment)
    except (InvalidMarker, UndefinedComparison):
        return False
