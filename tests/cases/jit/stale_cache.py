"""Cases of jit.stale-cache."""

from typing import Any

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.jit import BuiltModules
from tests.builders import known, live_view, snapshot
from tests.cases.harness import a_warning, broken, healthy, look_alike, not_applicable

CHECK = "jit.stale-cache"

_FOLDER = "/home/me/.cache/flashinfer/0.7.2.post1/120f/cached_ops"
_HOME = "/usr/local/cuda"
_VIEW = "/home/me/.local/share/sm120kit/targets/venv-0123456789ab/current"


def _built(older: tuple[str, ...] = (), home: str = _HOME, **changes: Any) -> BuiltModules:
    values = {"compiler": known(f"{home}/bin/nvcc"), "older_count": len(older), **changes}
    return BuiltModules("flashinfer", _FOLDER, home, 12, older=older, **values)


CASES = [
    healthy("all built by the compiler that is there", snapshot(built_modules=(_built(),))),
    broken(
        "nvcc was replaced",
        snapshot(built_modules=(_built(("norm", "rope")),)),
        a_warning(_FOLDER, "2 of 12 modules", "norm, rope", f"{_HOME}/bin/nvcc"),
    ),
    broken(
        "/usr/local/cuda leads elsewhere now",
        snapshot(built_modules=(_built(("norm",), compiler=known("/etc/alternatives/cuda")),)),
        a_warning(_FOLDER, "/etc/alternatives/cuda"),
    ),
    broken(
        "the toolkit view was switched",
        snapshot(built_modules=(_built(("norm",), _VIEW, compiler=known(_VIEW)),), live_view=live_view(in_use=True)),
        a_warning(_FOLDER, f"the toolkit of links {_VIEW}"),
    ),
    broken(
        "more than are named",
        snapshot(built_modules=(_built(("a", "b", "c", "d", "e"), older_count=12),)),
        a_warning(_FOLDER, "12 of 12", "e, …"),
    ),
    look_alike(
        "built through a home that is gone", snapshot(built_modules=(_built(compiler=Unknown("/gone: no such file")),))
    ),
    look_alike("two homes, both current", snapshot(built_modules=(_built(), _built(home="/usr/local/cuda-12.9")))),
    not_applicable("no cache", snapshot()),
]
