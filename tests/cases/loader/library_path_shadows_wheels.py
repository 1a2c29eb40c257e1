"""Cases of loader.library-path-shadows-wheels."""

from sm120kit.snapshot.types.packages import Shadow
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import SITE, snapshot
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "loader.library-path-shadows-wheels"

_LIB = "/usr/local/cuda-12.1/lib64"
_OWN = f"{SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12"
_DRIVER = "/usr/lib/x86_64-linux-gnu"


def _jitlink(version: str, owner: str = "nvidia-nvjitlink-cu12 12.8.93") -> Shadow:
    return Shadow("libnvJitLink.so.12", _OWN, owner, f"{_LIB}/libnvJitLink.so.12", f"{_LIB}/libnvJitLink.so.{version}")


def _other(soname: str, owner: str, real: str) -> Shadow:
    return Shadow(soname, f"{SITE}/nvidia/x/lib/{soname}", owner, f"{_LIB}/{soname}", f"{_LIB}/{real}")


def _stack(*shadows: Shadow, folders: tuple[str, ...] = (_LIB, _DRIVER)) -> Snapshot:
    return snapshot(loader_dirs=folders, shadows=shadows)


CASES = [
    healthy("nothing of the wheels' names", _stack()),
    broken(
        "libnvJitLink 12.1 before 12.8",
        _stack(_jitlink("12.1.105")),
        an_error(f"{_LIB}/libnvJitLink.so.12", "12.1 of /usr/local/cuda-12.1/lib64 before 12.8", "undefined symbol"),
    ),
    broken(
        "an older cuDNN",
        _stack(_other("libcudnn.so.9", "nvidia-cudnn-cu12 9.10.2.21", "libcudnn.so.9.1.0")),
        a_warning(f"{_LIB}/libcudnn.so.9", "9.1 of"),
    ),
    broken(
        "both",
        _stack(_jitlink("12.4.127"), _other("libcublas.so.12", "nvidia-cublas-cu12 12.8.4.1", "libcublas.so.12.4.5.8")),
        an_error(f"{_LIB}/libnvJitLink.so.12"),
        a_warning(f"{_LIB}/libcublas.so.12"),
    ),
    look_alike("an image with a toolkit of the same release", _stack(_jitlink("12.8.61"))),
    look_alike("a newer one", _stack(_jitlink("12.9.86"))),
    look_alike(
        "a library of another kind whose release the name does not tell",
        _stack(_other("libcudart.so.12", "nvidia-cuda-runtime-cu12 12.8.90", "libcudart.so.12")),
    ),
    unknown("libnvJitLink whose release the name does not tell", _stack(_jitlink("12"))),
    unknown("a wheel that no RECORD names", _stack(_jitlink("12.1.105", ""))),
    not_applicable("LD_LIBRARY_PATH is not set", _stack(folders=())),
]
