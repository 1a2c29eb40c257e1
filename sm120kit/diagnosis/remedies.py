"""Package commands whose versions belong together, for :class:`~sm120kit.diagnosis.types.Manual` remedies."""

import shlex
from collections.abc import Sequence

from sm120kit.diagnosis.parts import ToolkitPart
from sm120kit.diagnosis.releases import Release
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.diagnosis.types import Manual, Repair
from sm120kit.snapshot.types.toolkits import GoneFile, Toolkit


class ToolkitRelease(Row, frozen=True, kw_only=True):
    """Which wheels make up one CUDA release, from the metadata of the ``cuda-toolkit`` package."""

    release: str
    """``13.0``"""
    cuda_toolkit: str
    """Version of the ``cuda-toolkit`` meta package whose extras resolve to one coherent set; empty if none."""
    nvcc: str
    runtime: str
    cccl_package: str
    cccl_version: str
    """CCCL_VERSION decoded (``3.0.1``)."""
    ptx: str = ""
    """Newest PTX ISA that its ptxas reads (``9.0``)."""
    launch_arguments: int
    """How many arguments its cicc writes into ``__cudaLaunch``, and its crt headers take."""
    oldest_cicc: str = ""
    """Oldest release of cicc that understands the options its nvcc passes; empty where all known ones do."""


def toolkit_release(release: Release | None) -> ToolkitRelease | None:
    """The row of that release, or ``None`` where the table does not know it."""
    rows = read_table("toolkit_releases", ToolkitRelease)
    return next((row for row in rows if release is not None and Release.parse(row.release) == release), None)


def whole_toolkit(release: Release | None) -> tuple[str, ...]:
    """Commands that install compiler, headers and CCCL of one release; empty where the release is not known.

    Never a bare ``nvidia-cuda-nvcc``: pip resolves its unpinned requirements into a mix that cannot compile.
    """
    row = toolkit_release(release)
    return (f'pip install "cuda-toolkit[nvcc,cccl]=={row.cuda_toolkit}"',) if row and row.cuda_toolkit else ()


def install_toolkit(release: Release | None, layout: str = "unknown", site_packages: str = "") -> Manual:
    """How to get a whole toolkit of ``release``: by pip where its wheels hold a compiler, else by conda or apt.

    ``layout`` is that of a tree it should take the place of: conda and system trees are renewed in their own way.
    With ``site_packages``, the folder that pip installs into, the command that names the new tree is given too.
    """
    if release is None:
        return Manual(
            "Install a whole CUDA toolkit of the release that torch was built with, and set CUDA_HOME to it: CUDA 13 "
            "from wheels (package cuda-toolkit, extras nvcc and cccl), CUDA 12 from conda or NVIDIA's repository, as "
            "its wheels hold no nvcc"
        )
    conda = f"conda install -c nvidia cuda-toolkit={release}"
    apt = f"apt-get install cuda-toolkit-{release.major}-{release.minor}"
    what = f"a whole CUDA toolkit {release}"
    if layout == "conda":
        return Manual(f"Install {what} into this conda environment", (conda,))
    if layout in ("system", "distro"):
        return Manual(f"Install {what} from NVIDIA's repository, and set CUDA_HOME to it", (apt,))
    if wheels := whole_toolkit(release):
        home = f"{site_packages}/nvidia/cu{release.major}"
        export = (f"export CUDA_HOME={shlex.quote(home)}",) if site_packages else ()
        text = f"Install {what} from wheels whose versions belong together, and set CUDA_HOME to it"
        return Manual(text, wheels + export)
    if release.major < 13:
        text = f"Install {what} from conda or NVIDIA's repository: CUDA {release.major}'s wheels hold no nvcc"
        return Manual(text, (conda, apt))
    return Manual(f"Install {what} from one source, all parts of that release, and set CUDA_HOME to it")


def reinstall_parts(toolkit: Toolkit, release: Release | None, parts: Sequence[ToolkitPart]) -> Manual:
    """How to bring missing parts back into ``toolkit``, whose compiler is of ``release``, as it was installed."""
    row = toolkit_release(release)
    if toolkit.layout == "wheel-cu13" and row:
        versions = {"nvcc": row.nvcc, "runtime": row.runtime}
        wheels = dict.fromkeys(f"{part.wheel}=={versions[part.wheel_as]}" for part in parts)
        text = "Install the wheels that bring the missing parts, exactly of this compiler's release"
        return Manual(text, (f"pip install --force-reinstall --no-deps {' '.join(wheels)}",))
    if toolkit.layout == "conda" and release:
        packages = dict.fromkeys(f"{part.conda}={release}" for part in parts)
        text = "Install the conda packages that bring the missing parts"
        return Manual(text, (f"conda install --force-reinstall -c nvidia {' '.join(packages)}",))
    if toolkit.layout == "system" and release:
        names = dict.fromkeys(part.apt_12 if part.apt_12 and release.major < 13 else part.apt for part in parts)
        packages = dict.fromkeys(f"{name}-{release.major}-{release.minor}" for name in names)
        text = "Install the packages that bring the missing parts (with the runfile: run its installer again)"
        return Manual(text, (f"apt-get install --reinstall {' '.join(packages)}",))
    if toolkit.layout == "distro":
        return Manual(
            "Install the distribution's CUDA package again", ("apt-get install --reinstall nvidia-cuda-toolkit",)
        )
    return Manual("Install the missing parts again from where this tree came from, of the compiler's own release")


def reinstall_wheels(gone: Sequence[GoneFile]) -> Manual:
    """How to bring files back that wheels put in place: these very wheels again, and nothing else with them."""
    wheels = dict.fromkeys(each.owner.replace(" ", "==") for each in gone)
    text = f"Install {'this wheel' if len(wheels) == 1 else 'these wheels'} again, in the same version"
    return Manual(text, (f"pip install --force-reinstall --no-deps {' '.join(wheels)}",))


def cccl_package(toolkit: Toolkit, release: Release | None) -> Manual:
    """How to install the CCCL of ``release`` in the way this toolkit itself was installed."""
    text = "Install the CCCL headers of the compiler's release"
    row = toolkit_release(release)
    if toolkit.layout == "distro":
        return Manual(f"{text}: on Debian and Ubuntu they belong to nvidia-cuda-dev")
    if toolkit.layout == "wheel-cu13" and row:
        return Manual(text, (f"pip install nvidia-cuda-cccl=={row.cccl_package}",))
    if toolkit.layout == "conda" and release:
        return Manual(text, (f"conda install -c nvidia cuda-cccl={release}",))
    if toolkit.layout == "system" and release:
        return Manual(text, (f"apt-get install cuda-cccl-{release.major}-{release.minor}",))
    return Manual(f"{text}, from where this tree came from")


def compose_view(toolkit: Toolkit, text: str) -> Repair:
    """Our own way out: a toolkit view outside of all packages, made of parts that fit each other."""
    return Repair(text, "compose_view", {"cuda_home": toolkit.home})
