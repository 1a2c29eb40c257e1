"""Whether a toolkit suits a target's GPUs and torch, and which other one on disk does."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from sm120kit.diagnosis.architectures import toolkit_supports
from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.compatibility import judge
from sm120kit.diagnosis.parts import missing_parts
from sm120kit.diagnosis.releases import Release, part_release
from sm120kit.diagnosis.types import Manual
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.types.toolkits import Toolkit


def torch_release(case: Case) -> Release | None:
    """The CUDA release that the installed torch was built with; ``None`` without torch or for a CPU build."""
    torch = case.snapshot.torch
    return Release.parse(torch.value.cuda) if isinstance(torch, Known) else None


def misfit(case: Case, toolkit: Toolkit) -> str:
    """Why this toolkit cannot build for the GPUs or the torch of this target, as a clause; empty where nothing known
    speaks against it."""
    nvcc, torch = part_release(toolkit, "nvcc"), torch_release(case)
    capabilities = case.compute_capabilities
    unknown_to_it = [
        capability
        for capability in (capabilities.value if isinstance(capabilities, Known) else ())
        if toolkit_supports(toolkit, capability).answer is False
    ]
    if unknown_to_it:
        return f"it cannot compile for compute capability {' and '.join(unknown_to_it)}"
    if nvcc and torch and nvcc.major != torch.major:
        return f"it is of CUDA {nvcc.major}, while torch was built with CUDA {torch}"
    return ""


def other_toolkits(case: Case, instead_of: Iterable[str] = ()) -> list[Manual]:
    """One remedy for each toolkit on disk that is whole, coherent and fit, other than the homes ``instead_of``."""
    avoided = set(instead_of)
    return [
        take(use.toolkit)
        for use in case.uses
        if use.toolkit.has_nvcc
        and use.toolkit.home not in avoided
        and not any(part.needed_for == "compile" for part in missing_parts(use.toolkit))
        and not judge(use, case.snapshot.environment).fails
        and not misfit(case, use.toolkit)
    ]


def take(toolkit: Toolkit) -> Manual:
    """The remedy that names ``toolkit`` to every consumer."""
    release = part_release(toolkit, "nvcc")
    which = f" (nvcc {release})" if release else ""
    return Manual(f"Take the toolkit {toolkit.home}{which}", (f"export CUDA_HOME={shlex.quote(toolkit.home)}",))


def site_packages(case: Case) -> str:
    """The folder that pip installs the target's packages into; empty where that is not known."""
    interpreter = case.snapshot.interpreter
    return next(iter(interpreter.value.site_packages), "") if isinstance(interpreter, Known) else ""
