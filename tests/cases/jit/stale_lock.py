"""Cases of jit.stale-lock."""

from sm120kit.snapshot.facts import Fact, Unknown
from sm120kit.snapshot.types.jit import BuildLock
from sm120kit.snapshot.types.machine import Mount
from tests.builders import host, known, packages, snapshot
from tests.cases.harness import a_warning, broken, healthy, look_alike, not_applicable, unknown

CHECK = "jit.stale-lock"

_PATH = "/home/me/.cache/torch_extensions/py312_cu130/fused_ops/lock"


def _lock(age_s: int = 86400, holders: Fact[tuple[int, ...]] | None = None) -> BuildLock:
    return BuildLock(_PATH, 1764400000.0, age_s, holders or known(()))


CASES = [
    healthy("no lock", snapshot()),
    broken("a day old and nobody's", snapshot(build_locks=(_lock(),)), a_warning(_PATH, "24 hours old", "no process")),
    broken("eleven minutes old", snapshot(build_locks=(_lock(660),)), a_warning(_PATH, "11 minutes old")),
    look_alike("a build is going on", snapshot(build_locks=(_lock(3600, known((4711,))),))),
    look_alike("a build began a moment ago", snapshot(build_locks=(_lock(5, known((4711,))),))),
    unknown("a moment old, and nobody's that can be seen", snapshot(build_locks=(_lock(30),))),
    unknown("processes cannot be seen", snapshot(build_locks=(_lock(holders=Unknown("an unpacked image")),))),
    unknown(
        "on NFS: another machine may hold it",
        snapshot(build_locks=(_lock(),), host=host(slow_mounts=(Mount("/home", "nfs4"),))),
    ),
    not_applicable("no torch", snapshot(distributions=packages(numpy="2.3.0"), build_locks=(_lock(),))),
]
