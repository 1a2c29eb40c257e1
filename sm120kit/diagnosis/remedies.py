"""Package commands whose versions belong together, for :class:`~sm120kit.diagnosis.types.Manual` remedies."""

from __future__ import annotations

from sm120kit.diagnosis.releases import Release
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.snapshot.types import Toolkit


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


def cccl_package(toolkit: Toolkit, release: Release | None) -> tuple[str, ...]:
    """Commands that install the CCCL of ``release`` in the way this toolkit itself was installed."""
    row = toolkit_release(release)
    if row is None:
        return ()
    if toolkit.layout in ("wheel-cu13", "wheel-cu12"):
        suffix = "" if release is not None and release.major >= 13 else f"-cu{row.release.partition('.')[0]}"
        return (f"pip install nvidia-cuda-cccl{suffix}=={row.cccl_package}",)
    if toolkit.layout == "conda":
        return (f"conda install -c nvidia cuda-cccl={row.release}",)
    return (f"apt-get install cuda-cccl-{row.release.replace('.', '-')}",)
