"""Cases of toolkit.nvcc-shadowed."""

from collections.abc import Callable

from msgspec.structs import replace

from sm120kit.snapshot.facts import Source
from sm120kit.snapshot.types.toolkits import Consumer, Nvcc, Toolkit
from tests.builders import (
    CU13,
    flashinfer,
    known,
    no_driver,
    sglang,
    snapshot,
    toolkit,
    torch_build,
    torch_extensions,
)
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable

CHECK = "toolkit.nvcc-shadowed"

_130, _128, _DISTRO = "/usr/local/cuda-13.0", "/usr/local/cuda-12.8", "/usr/lib/nvidia-cuda-toolkit"
_SHIM = "/usr/local/bin/nvcc"


def _system(home: str, release: str) -> Toolkit:
    return replace(toolkit(home, release, layout="system"), found_via=("/usr/local",))


def _distro(release: str = "12.0") -> Toolkit:
    return replace(toolkit(_DISTRO, release, layout="distro"), found_via=("nvcc on PATH",))


def _binary(home: str) -> Nvcc:
    return Nvcc(f"{home}/bin/nvcc", f"{home}/bin/nvcc", "binary")


def _script(executes: str, path: str = _SHIM) -> Nvcc:
    return Nvcc(path, path, "script", executes)


def _by_path(consumer: Callable[..., Consumer], nvcc: str, toolkit_home: str) -> Consumer:
    """A consumer that found its compiler on PATH."""
    home = nvcc.removesuffix("/bin/nvcc")
    source = Source("file", nvcc)
    return consumer(
        home=home,
        found_via="nvcc on PATH",
        cuda_home=known(home, source),
        nvcc=known(nvcc, source),
        toolkit=toolkit_home,
    )


_DISTRO_SCRIPT = _script(f"{_DISTRO}/bin/nvcc", "/usr/bin/nvcc")

CASES = [
    healthy("CUDA_HOME names a toolkit", snapshot(consumers=(sglang(), flashinfer()))),
    look_alike(
        "a shim on PATH while CUDA_HOME is set",
        snapshot(
            toolkits=(_system(_130, "13.0"),),
            consumers=(sglang(home=_130), flashinfer(home=_130)),
            nvcc_on_path=(_script(f"{_130}/bin/nvcc"),),
            environment={"CUDA_HOME": _130},
        ),
    ),
    look_alike(
        "CUDA_HOME is another name of the tree",
        snapshot(
            toolkits=(replace(_system(_130, "13.0"), aliases=("/usr/local/cuda",)),),
            consumers=(sglang(home="/usr/local/cuda", toolkit=_130),),
        ),
    ),
    look_alike(
        "Debian's own script before Debian's own compiler",
        snapshot(
            toolkits=(_distro("13.0"),),
            consumers=(_by_path(sglang, "/usr/bin/nvcc", _DISTRO),),
            nvcc_on_path=(_DISTRO_SCRIPT,),
        ),
    ),
    look_alike(
        "12.8 before the distribution's 12.0, with torch of 12.8",
        snapshot(
            toolkits=(_system(_128, "12.8"), _distro()),
            consumers=(_by_path(sglang, f"{_128}/bin/nvcc", _128),),
            nvcc_on_path=(_binary(_128), _DISTRO_SCRIPT),
            torch=torch_build("2.9.1", "12.8"),
        ),
    ),
    look_alike(
        "two toolkits of one release",
        snapshot(
            toolkits=(_system(_130, "13.0"), toolkit()),
            consumers=(sglang(home=_130), torch_extensions(home=CU13)),
        ),
    ),
    look_alike(
        "13.2 before 13.0 on PATH: both fit, and that order was chosen",
        snapshot(
            toolkits=(_system("/usr/local/cuda-13.2", "13.2"), _system(_130, "13.0"), toolkit()),
            consumers=(_by_path(sglang, "/usr/local/cuda-13.2/bin/nvcc", "/usr/local/cuda-13.2"),),
            nvcc_on_path=(_binary("/usr/local/cuda-13.2"), _binary(_130)),
        ),
    ),
    look_alike(
        "FLASHINFER_NVCC names a compiler of the CUDA home's release",
        snapshot(
            toolkits=(_system(_130, "13.0"), toolkit()),
            consumers=(
                flashinfer(
                    home=_130,
                    nvcc=known(f"{CU13}/bin/nvcc", Source("variable", "FLASHINFER_NVCC")),
                    toolkit=CU13,
                ),
            ),
        ),
    ),
    look_alike(
        "an old compiler and no better one: toolkit.arch-unsupported says it",
        snapshot(
            toolkits=(_distro(),),
            consumers=(_by_path(sglang, "/usr/bin/nvcc", _DISTRO),),
            nvcc_on_path=(_DISTRO_SCRIPT,),
        ),
    ),
    look_alike(
        "CUDA_HOME itself names an old toolkit: that was meant",
        snapshot(toolkits=(_system(_128, "12.8"), toolkit()), consumers=(sglang(home=_128),)),
    ),
    broken(
        "a shim makes /usr/local the CUDA home",
        snapshot(
            toolkits=(_system(_130, "13.0"),),
            consumers=(_by_path(flashinfer, _SHIM, _130), _by_path(sglang, _SHIM, _130)),
            nvcc_on_path=(_script(f"{_130}/bin/nvcc"),),
        ),
        a_warning(_SHIM, f"compiles with {_130}", "below /usr/local,", "flashinfer, sglang"),
    ),
    broken(
        "the same, where /usr/local counts as a name of the tree",
        snapshot(
            toolkits=(replace(_system(_130, "13.0"), aliases=("/usr/local",)),),
            consumers=(_by_path(flashinfer, _SHIM, _130),),
            nvcc_on_path=(_script(f"{_130}/bin/nvcc"),),
        ),
        a_warning(_SHIM, f"a script that starts {_130}/bin/nvcc"),
    ),
    broken(
        "a shim before a compiler that does not know this GPU",
        snapshot(
            toolkits=(_system("/usr/local/cuda-12.4", "12.4"), _system(_130, "13.0")),
            consumers=(_by_path(sglang, _SHIM, "/usr/local/cuda-12.4"),),
            nvcc_on_path=(_script("/usr/local/cuda-12.4/bin/nvcc"),),
        ),
        an_error(_SHIM, "it cannot compile for compute capability 12.0"),
    ),
    broken(
        "the distribution's nvcc first, as PATH was appended",
        snapshot(
            toolkits=(_distro(), _system(_130, "13.0")),
            consumers=(_by_path(sglang, "/usr/bin/nvcc", _DISTRO),),
            nvcc_on_path=(_DISTRO_SCRIPT, _binary(_130)),
        ),
        an_error("/usr/bin/nvcc", f"before {_130}, which fits", "compute capability 12.0"),
    ),
    broken(
        "the distribution's nvcc first, and it can build",
        snapshot(
            toolkits=(_distro("13.0"), _system("/usr/local/cuda-13.2", "13.2")),
            consumers=(_by_path(sglang, "/usr/bin/nvcc", _DISTRO),),
            nvcc_on_path=(_DISTRO_SCRIPT, _binary("/usr/local/cuda-13.2")),
        ),
        a_warning("/usr/bin/nvcc", "it is the distribution's"),
    ),
    broken(
        "another CUDA major first, while the target itself holds the right one; no GPU known",
        snapshot(
            toolkits=(_system(_128, "12.8"), toolkit()),
            consumers=(_by_path(sglang, f"{_128}/bin/nvcc", _128),),
            nvcc_on_path=(_binary(_128),),
            driver=no_driver(),
        ),
        an_error(f"{_128}/bin/nvcc", "it is of CUDA 12, while torch was built with CUDA 13.0", CU13),
    ),
    broken(
        "the same for torch extensions alone",
        snapshot(
            toolkits=(_system(_128, "12.8"), toolkit()),
            consumers=(_by_path(torch_extensions, f"{_128}/bin/nvcc", _128),),
            nvcc_on_path=(_binary(_128),),
        ),
        a_warning(f"{_128}/bin/nvcc", "CUDA 12"),
    ),
    broken(
        "FLASHINFER_NVCC names a compiler of another release than the CUDA home",
        snapshot(
            toolkits=(_system(_130, "13.0"), _system("/opt/cuda-13.2", "13.2")),
            consumers=(
                flashinfer(
                    home=_130,
                    nvcc=known("/opt/cuda-13.2/bin/nvcc", Source("variable", "FLASHINFER_NVCC")),
                    toolkit="/opt/cuda-13.2",
                ),
            ),
        ),
        a_warning("/opt/cuda-13.2/bin/nvcc", f"below {_130}"),
    ),
    broken(
        "two consumers take two releases",
        snapshot(
            toolkits=(toolkit(), _system("/usr/local/cuda-13.2", "13.2")),
            consumers=(sglang(), torch_extensions(home="/usr/local/cuda-13.2")),
        ),
        a_warning("/usr/local/cuda-13.2", "(nvcc 13.2)", f"sglang takes {CU13} (nvcc 13.0)"),
    ),
    not_applicable("nobody compiles", snapshot()),
    not_applicable("no compiler at all", snapshot(consumers=(sglang(home=None),), toolkits=())),
]
