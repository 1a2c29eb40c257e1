"""Cases of jit.cache-other-arch."""

from msgspec.structs import replace

from sm120kit.snapshot.types.jit import BuiltModules
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import known, no_driver, snapshot
from tests.cases.harness import (
    a_note,
    a_warning,
    broken,
    healthy,
    look_alike,
    not_applicable,
    unknown,
    what_if,
)

CHECK = "jit.cache-other-arch"


def _folder(name: str) -> str:
    return f"/root/.cache/flashinfer/0.7.2/{name}/cached_ops"


def _image(*names: str, live: bool = False) -> Snapshot:
    modules = tuple(
        BuiltModules("flashinfer", _folder(name), "/usr/local/cuda", 12, known("/usr/local/cuda/bin/nvcc"))
        for name in names
    )
    taken = snapshot(built_modules=modules, driver=no_driver())
    return replace(taken, target=replace(taken.target, live=live))


CASES = [
    healthy("for the GPU that was named", _image("120f"), request=what_if("12.0")),
    healthy("for two kinds, in two folders", _image("100a", "120f"), request=what_if("12.0")),
    healthy("for two kinds, in one folder", _image("90a_120f"), request=what_if("12.0")),
    broken(
        "an image baked for Hopper",
        _image("90a"),
        a_warning(_folder("90a"), "12 modules of FlashInfer", "none for compute capability 12.0", "12 modules for 90"),
        request=what_if("12.0"),
    ),
    broken("SM120 is not SM121", _image("120f"), a_warning(_folder("120f"), "12.1"), request=what_if("12.1")),
    broken(
        "a home folder that another machine filled",
        _image("90a", live=True),
        a_note(_folder("90a")),
        request=what_if("12.0"),
    ),
    look_alike("12.0 without a letter", _image("120"), request=what_if("12.0")),
    not_applicable("no cache", snapshot(), request=what_if("12.0")),
    not_applicable(
        "a cache of tvm-ffi, whose names tell nothing",
        snapshot(built_modules=(BuiltModules("tvm-ffi", "/root/.cache/tvm-ffi", "/usr", 3, known("/usr/bin/nvcc")),)),
    ),
    unknown("no GPU is known", _image("90a")),
]
