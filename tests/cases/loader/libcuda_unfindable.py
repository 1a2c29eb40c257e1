"""Cases of loader.libcuda-unfindable."""

from sm120kit.snapshot.facts import Source, Unknown
from tests.builders import driver, known, packages, snapshot, triton
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown, what_if

CHECK = "loader.libcuda-unfindable"

_FOLDER = "/usr/lib/x86_64-linux-gnu"
_PATH = f"{_FOLDER}/libcuda.so.1"
_STALE = driver(libcuda_cached=known(False, Source("file", "/etc/ld.so.cache")))
_SERVED = packages(sglang="0.5.23", torch="2.14.1", triton="3.8.0")

CASES = [
    healthy("in the loader's cache", snapshot(consumers=(triton(),))),
    broken(
        "mounted after the cache was made",
        snapshot(consumers=(triton(),), driver=_STALE, distributions=_SERVED),
        an_error(_PATH, "the loader's cache does not list it", "/etc/ld.so.cache", "sglang runs its kernels"),
    ),
    broken(
        "the same with torch alone", snapshot(consumers=(triton(),), driver=_STALE), a_warning(_PATH, "torch.compile")
    ),
    broken(
        "LD_LIBRARY_PATH names other folders",
        snapshot(consumers=(triton(),), driver=_STALE, loader_dirs=("/opt/lib",)),
        a_warning(_PATH, "LD_LIBRARY_PATH=/opt/lib"),
    ),
    look_alike(
        "LD_LIBRARY_PATH names its folder", snapshot(consumers=(triton(),), driver=_STALE, loader_dirs=(f"{_FOLDER}/",))
    ),
    look_alike(
        "Triton is told",
        snapshot(consumers=(triton(),), driver=_STALE, environment={"TRITON_LIBCUDA_PATH": _FOLDER}),
    ),
    unknown(
        "the cache was not looked into",
        snapshot(consumers=(triton(),), driver=driver(libcuda_cached=Unknown("not looked into"))),
    ),
    not_applicable("no driver library", snapshot(consumers=(triton(),), driver=driver(libcuda_links=()))),
    not_applicable("no Triton", snapshot(driver=_STALE)),
    not_applicable("hardware is named", snapshot(consumers=(triton(),), driver=_STALE), request=what_if("12.0")),
]
