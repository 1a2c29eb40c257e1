"""Cases of loader.stub-on-path."""

from typing import Any

from msgspec.structs import replace

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import driver, known, snapshot
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "loader.stub-on-path"

_STUBS = "/usr/local/cuda/lib64/stubs"
_REAL = "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05"
_LINK = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"
_NO_NVML = Unknown("no libnvidia-ml.so.1 on the loader's path")


def _found(*libraries: tuple[str, str], dirs: tuple[str, ...] = (), live: bool = True, **changes: Any) -> Snapshot:
    links, reals = tuple(link for link, _ in libraries), tuple(real for _, real in libraries)
    values = {"nvml_library": _NO_NVML, **changes}
    taken = snapshot(driver=driver(libcuda=known(reals), libcuda_links=links, **values), loader_dirs=dirs)
    return replace(taken, target=replace(taken.target, live=live))


_STUB = (f"{_STUBS}/libcuda.so.1", "/usr/local/cuda-13.0/targets/x86_64-linux/lib/stubs/libcuda.so")

CASES = [
    healthy("the driver's own", _found((_LINK, _REAL))),
    broken(
        "on LD_LIBRARY_PATH of an image",
        _found(_STUB, dirs=(_STUBS,), live=False),
        an_error(_STUB[0], "is a stub, and comes before the driver's", "LD_LIBRARY_PATH", _STUB[1]),
    ),
    broken("before the driver's on a machine", _found(_STUB, (_LINK, _REAL), dirs=(f"{_STUBS}/",)), an_error(_STUB[0])),
    broken("in the cache of an image", _found(_STUB, live=False), a_warning(_STUB[0], "may come before")),
    broken("in the cache of a machine without a driver", _found(_STUB), an_error(_STUB[0], "is what a program loads")),
    broken(
        "a link elsewhere that leads to a stub",
        _found(("/opt/lib/libcuda.so.1", _STUB[1]), dirs=("/opt/lib",), live=False),
        an_error("/opt/lib/libcuda.so.1", _STUB[1]),
    ),
    broken(
        "the stub of NVML",
        _found((_LINK, _REAL), nvml_library=known(f"{_STUBS}/libnvidia-ml.so.1")),
        an_error(f"{_STUBS}/libnvidia-ml.so.1"),
    ),
    look_alike("a stub behind the driver's", _found((_LINK, _REAL), _STUB)),
    look_alike("a folder that is called otherwise", _found(("/opt/stubs-of-mine/libcuda.so.1", "/opt/x/libcuda.so.1"))),
    look_alike("stubs on the path without the loader's name", _found((_LINK, _REAL), dirs=(_STUBS,))),
    not_applicable("no driver at all", _found(live=False)),
    unknown("the path could not be read", snapshot(driver=driver(libcuda=Unknown("the disk does not answer")))),
]
