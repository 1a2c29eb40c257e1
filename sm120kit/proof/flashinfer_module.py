"""The rung that builds one genuine FlashInfer module with the target's own interpreter, in a scratch workspace."""

from __future__ import annotations

from sm120kit.errors import Sm120kitError
from sm120kit.proof import flashinfer_child
from sm120kit.proof.types import Rung

MODULES = tuple(flashinfer_child.MODULES)
_LIMIT_S = 1200.0


def flashinfer_rung(module: str, interpreter: str, capability_with_suffix: str) -> Rung:
    """The rung for one module of :data:`MODULES`, built for ``12.0a`` or the like; needs no GPU.

    Raises:
        Sm120kitError: there is no such module.
    """
    if module not in MODULES:
        raise Sm120kitError(
            f"there is no FlashInfer module {module!r} that can be built here", hint=f"One of: {', '.join(MODULES)}"
        )
    return Rung(
        name=f"flashinfer:{module}",
        consumers=("flashinfer",),
        shows=f"FlashInfer's own module {module} builds",
        command=(interpreter, flashinfer_child.__file__, module),
        limit_s=_LIMIT_S,
        cost=60.0,
        host_compilers=("nvcc", "link"),
        environment={
            "FLASHINFER_WORKSPACE_BASE": "{scratch}",
            "FLASHINFER_CUDA_ARCH_LIST": capability_with_suffix,
            "HOME": "{scratch}",
        },
    )
