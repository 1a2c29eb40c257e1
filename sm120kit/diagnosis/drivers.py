"""What the checks of the driver share: when they apply, which NVML error was met, and the table of oldest drivers."""

import re

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.registry import NotApplicable
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.snapshot.facts import Known

SUBJECT = "NVIDIA driver"
"""The subject of findings about the driver as such."""

VERSION_MISMATCH = "NVML_ERROR_LIB_RM_VERSION_MISMATCH"


class OldestDriver(Row, frozen=True, kw_only=True):
    """The oldest driver that something runs on. Exactly one of ``cuda`` and ``family`` is set."""

    minimum: str
    """``580``: that branch or a later one."""
    cuda: str = ""
    """CUDA major; its minor releases run on the same driver (minor version compatibility)."""
    family: str = ""
    """GPU family of the table of GPUs."""


def oldest_driver(*, cuda: str = "", family: str = "") -> OldestDriver | None:
    """The row for a CUDA major or a GPU family, or ``None`` where the table has none."""
    rows = read_table("drivers", OldestDriver)
    return next((row for row in rows if (row.cuda, row.family) == (cuda, family)), None)


def require_own_machine(case: Case) -> None:
    """Leave the check where the driver of this machine does not count.

    Raises:
        NotApplicable: hardware is named by ``--gpu``, or an unpacked image is examined.
    """
    if case.hardware_named:
        raise NotApplicable("hardware is named by --gpu: this machine's driver does not count")
    if not case.snapshot.target.live:
        raise NotApplicable("an unpacked image has no driver of its own")


def nvml_error(case: Case) -> str:
    """The name of the error that NVML answered with (``NVML_ERROR_UNKNOWN``), empty where it met none."""
    gpus = case.snapshot.driver.gpus
    found = None if isinstance(gpus, Known) else re.search(r"NVML_ERROR_\w+", gpus.reason)
    return found[0] if found else ""


def driver_number(version: str) -> tuple[int, ...]:
    """``580.95.05`` as numbers to compare; empty where it does not begin with one."""
    numbers = re.match(r"\d+(?:\.\d+)*", version.strip())
    return tuple(int(part) for part in numbers[0].split(".")) if numbers else ()
