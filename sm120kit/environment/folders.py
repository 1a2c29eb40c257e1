"""CUDA_HOME and the lists of folders: where programs, link libraries and shared libraries are looked for."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from sm120kit.diagnosis import Case, Known, Release
from sm120kit.environment.home import Home
from sm120kit.environment.types import Variable
from sm120kit.snapshot.context import DEFAULT_PATH

_VIEW_LINK_NAMES = ("lib64/libcudart.so", "lib64/stubs/libcuda.so")
_WSL_LIBRARIES = "/usr/lib/wsl/lib"
_SHARED_LAYOUTS = ("system", "distro", "conda")


def home_variables(home: Home) -> Iterator[Variable]:
    """CUDA_HOME and CUDA_PATH."""
    release = f" (CUDA {home.release})" if home.release else ""
    yield Variable(
        "CUDA_HOME",
        "set",
        f"torch extensions, FlashInfer, SGLang and tvm-ffi all look here first, so that one toolkit{release} serves "
        "them all.",
        home.path,
    )
    yield Variable("CUDA_PATH", "set", "The second name of the same folder; it must not say anything else.", home.path)


def search_path(case: Case, home: Home | None) -> Iterator[Variable]:
    """PATH: the target's own programs, then the toolkit's. Folders of the system stay where they are."""
    interpreter = case.snapshot.interpreter
    scripts = interpreter.value.scripts_dir if isinstance(interpreter, Known) else ""
    tools = f"{home.path}/bin" if home else ""
    parts = tuple(folder for folder in (scripts, tools) if folder and folder not in DEFAULT_PATH.split(":"))
    if not parts:
        return
    reasons = []
    if scripts in parts:
        reasons.append("The target's own programs come first: FlashInfer and SGLang call plain ninja.")
    if tools in parts:
        reasons.append("The toolkit's folder comes before any other nvcc on PATH.")
    yield Variable("PATH", "prepend", " ".join(reasons), parts=parts, otherwise=DEFAULT_PATH)


def link_path(home: Home) -> Iterator[Variable]:
    """LIBRARY_PATH: folders in which a plain ``c++ … -lcudart -lcuda`` finds both."""
    parts = _link_folders(home)
    if parts:
        yield Variable(
            "LIBRARY_PATH",
            "prepend",
            "A plain c++ finds libcudart.so and libcuda.so here when it links. Only the linker reads this; nothing is "
            "loaded from here.",
            parts=parts,
        )


def loader_path(case: Case) -> Iterator[Variable]:
    """LD_LIBRARY_PATH: only WSL's driver is put on it, never stubs; what shadows the wheels' own libraries goes.

    The NVIDIA wheels and torch find each other by RPATH, and the modules that are built link to the libcudart which
    torch has loaded.
    """
    driver = _wsl_driver(case)
    if driver:
        yield Variable(
            "LD_LIBRARY_PATH",
            "prepend",
            "Under WSL the driver's libcuda.so.1 lies here, and the loader does not know this folder.",
            parts=(driver,),
        )
    older = tuple(_older_than_torch(case))
    if older:
        yield Variable(
            "LD_LIBRARY_PATH",
            "remove",
            "These libraries are older than the wheels that torch was built for, and would be loaded in their place "
            "(undefined symbol: __nvJitLinkCreate_12_8 and the like).",
            parts=older,
        )


def _link_folders(home: Home) -> tuple[str, ...]:
    if home.path == "/usr":
        return ()
    unseen = home.toolkit is None or home.toolkit.layout == "view"
    names = _VIEW_LINK_NAMES if unseen or home.toolkit is None else home.toolkit.link_names
    folders = []
    for library in ("libcudart.so", "libcuda.so"):
        found = (posixpath.dirname(name) for name in names if posixpath.basename(name) == library)
        folder = next(found, None)
        if folder is not None:
            folders.append(posixpath.join(home.path, folder))
    return tuple(dict.fromkeys(folders))


def _wsl_driver(case: Case) -> str:
    host, libcuda = case.snapshot.host, case.snapshot.driver.libcuda
    wsl = isinstance(host.container, Known) and host.container.value == "wsl2"
    nodes = host.device_nodes.value if isinstance(host.device_nodes, Known) else ()
    found = isinstance(libcuda, Known) and bool(libcuda.value)
    return _WSL_LIBRARIES if wsl and "/dev/dxg" in nodes and not found else ""


def _older_than_torch(case: Case) -> Iterator[str]:
    """Library folders of toolkits that have the sonames of torch's wheels and an older release.

    Taken from the disk, not from the target's LD_LIBRARY_PATH, so that the script stays the same once it is sourced.
    """
    snapshot = case.snapshot
    built = Release.parse(snapshot.torch.value.cuda) if isinstance(snapshot.torch, Known) else None
    if built is None or not _has_runtime_wheels(case):
        return
    for tree in snapshot.toolkits:
        part = tree.part("libcudart") or tree.part("nvcc")
        release = Release.of(part.release) if part else None
        if release is None or release.major != built.major or release >= built or tree.layout not in _SHARED_LAYOUTS:
            continue
        for name in sorted({tree.home, tree.real_home, *tree.aliases} - {"/usr"}):
            yield from (f"{name}/lib64", f"{name}/lib")


def _has_runtime_wheels(case: Case) -> bool:
    known = case.snapshot.distributions
    return isinstance(known, Known) and any(each.name.startswith("nvidia-cuda-runtime") for each in known.value)
