"""Cases of jit.cache-on-network-disk."""

from typing import Any

from sm120kit.snapshot.types.machine import Mount
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import host, packages, snapshot
from tests.cases.harness import a_note, a_warning, broken, healthy, look_alike, not_applicable, unknown

CHECK = "jit.cache-on-network-disk"

_FLASHINFER = packages(flashinfer_python="0.7.2")


def _home(*mounts: Mount, installed: Any = _FLASHINFER, **environment: str) -> Snapshot:
    return snapshot(
        distributions=installed, host=host(slow_mounts=mounts), environment={"HOME": "/home/me", **environment}
    )


CASES = [
    healthy("a local disk", _home()),
    broken(
        "a home folder on NFS",
        _home(Mount("/home", "nfs4")),
        a_warning("FLASHINFER_WORKSPACE_BASE", "/home/me", "/home (nfs4)"),
    ),
    broken(
        "the variable itself names an NFS folder",
        _home(Mount("/shared", "nfs"), FLASHINFER_WORKSPACE_BASE="/shared/cache"),
        a_warning("FLASHINFER_WORKSPACE_BASE", "/shared/cache"),
    ),
    broken(
        "Lustre below Triton and tvm-ffi",
        _home(Mount("/home", "lustre"), installed=packages(apache_tvm_ffi="0.1.11", triton="3.8.0")),
        a_warning("TRITON_CACHE_DIR", "/home/me/.triton/cache"),
        a_warning("TVM_FFI_CACHE_DIR"),
    ),
    broken(
        "a folder of the virtual machine's host", _home(Mount("/home", "virtiofs")), a_note("FLASHINFER_WORKSPACE_BASE")
    ),
    look_alike(
        "a home folder on NFS, and the cache elsewhere",
        _home(Mount("/home", "nfs4"), FLASHINFER_WORKSPACE_BASE="/var/tmp/me"),
    ),
    look_alike("another mount whose name begins alike", _home(Mount("/home/m", "nfs4"))),
    look_alike("models on NFS", _home(Mount("/models", "nfs4"))),
    unknown(
        "no HOME",
        snapshot(distributions=_FLASHINFER, host=host(slow_mounts=(Mount("/home", "nfs"),)), environment={}),
    ),
    not_applicable("nothing that caches", snapshot(distributions=packages(numpy="2.3.0"))),
]
