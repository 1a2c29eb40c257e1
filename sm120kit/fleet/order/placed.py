"""Says of a refused value where in a fleet.toml it stands: what is refused later speaks of options and flags. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection

from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.fleet_file import FleetFile

_FLAG = re.compile(r"--[a-z][a-z0-9-]*")


def placed(error: Sm120kitError, file: FleetFile, typed: Collection[str]) -> Sm120kitError:
    """The same error, with file and line where the first flag that it names stands in the file alone. ``typed``: the
    flags of the command line, which count more than the file."""
    flag = next(iter(_FLAG.findall(error.message)), "")
    place = "" if flag in typed else file.places.get(flag, "")
    if not place or error.message.startswith(place):
        return error
    return Sm120kitError(f"{place}: {error.message}", hint=error.hint, listed=error.listed, exit_code=error.exit_code)
