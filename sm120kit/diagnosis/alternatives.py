"""Whether a toolkit suits a target's GPUs and torch, and which other one on disk does."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterable, Sequence

from sm120kit.diagnosis.architectures import toolkit_supports
from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.compatibility import judge
from sm120kit.diagnosis.parts import missing_parts
from sm120kit.diagnosis.releases import Release, part_release
from sm120kit.diagnosis.types import Manual, Remedy
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


def other_toolkits(case: Case, instead_of: Iterable[str] = (), ours: Sequence[Remedy] = ()) -> list[Remedy]:
    """One remedy for each toolkit on disk that compiles, is coherent and fit, other than the homes ``instead_of``.

    Those that linkers find nothing in say so, and stand behind ``ours``, which leave no such fault.
    """
    avoided = set(instead_of)
    found = [
        use.toolkit
        for use in case.uses
        if use.toolkit.has_nvcc
        and use.toolkit.home not in avoided
        and not any(part.needed_for == "compile" for part in missing_parts(use.toolkit))
        and not any(each.for_every_compile for each in use.toolkit.gone_files)
        and any(copy.has_nv_target for copy in use.toolkit.cccl_copies)
        and not judge(use, case.snapshot.environment).fails
        and not misfit(case, use.toolkit)
    ]
    named = [(take(case, toolkit), bool(_unlinkable(case, toolkit))) for toolkit in found]
    return [*(each for each, faulty in named if not faulty), *ours, *(each for each, faulty in named if faulty)]


def _unlinkable(case: Case, toolkit: Toolkit) -> str:
    """What linkers do not find in ``toolkit``, as a clause; empty where nothing is missing, or where it lies among the
    distribution's libraries."""
    if toolkit.layout == "distro":
        return ""
    folders = ("lib64/", "lib/") if toolkit.layout == "conda" else ("lib64/",)
    held = {posixpath.basename(name) for name in toolkit.link_names if name.startswith(folders)}
    by_driver = {"libcuda.so"} if case.snapshot.driver.libcuda_links else set()
    missing = [name for name in ("libcudart.so", "libcuda.so") if name not in held | by_driver]
    return f"it has no {' and no '.join(missing)} where linkers look" if missing else ""


def take(case: Case, toolkit: Toolkit) -> Manual:
    """The remedy that names ``toolkit`` to every consumer, and says what linkers will not find in it."""
    but = _unlinkable(case, toolkit)
    release = part_release(toolkit, "nvcc")
    which = f" (nvcc {release})" if release else ""
    still = f"; {but}, which is to be mended there" if but else ""
    return Manual(f"Take the toolkit {toolkit.home}{which}{still}", (f"export CUDA_HOME={shlex.quote(toolkit.home)}",))


def source_of(case: Case, toolkit: Toolkit) -> Toolkit:
    """The tree whose compiler a toolkit of links leads to: what is installed for it goes there. Another is its own."""
    nvcc = toolkit.part("nvcc")
    if toolkit.layout != "view" or nvcc is None:
        return toolkit
    path = nvcc.links_to or nvcc.path
    trees = (tree for tree in case.snapshot.toolkits if tree.layout != "view")
    return next((tree for tree in trees if path.startswith((f"{tree.home}/", f"{tree.real_home}/"))), toolkit)


def site_packages(case: Case) -> str:
    """The folder that pip installs the target's packages into; empty where that is not known."""
    interpreter = case.snapshot.interpreter
    return next(iter(interpreter.value.site_packages), "") if isinstance(interpreter, Known) else ""
