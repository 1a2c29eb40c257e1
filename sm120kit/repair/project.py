"""What the target will look like once a view is live: computed before anything is written.

Running the checks over this projection says which findings a plan cures and which remain; after ``--apply`` the
target is read again and must agree.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.types import Finding
from sm120kit.repair.compose import Composition
from sm120kit.repair.types import Cured
from sm120kit.repair.view import Layout
from sm120kit.snapshot.facts import Known, Source
from sm120kit.snapshot.types.toolkits import CcclCopy, Consumer, LinkProbe, Part, Toolkit
from sm120kit.snapshot.types.views import LiveView

_PLANNED = Source("system", "the plan")


def as_repaired(case: Case, made: Composition, layout: Layout, live: LiveView) -> Case:
    """The case as it will be when ``live`` is the live view and the environment names it."""
    current = live.current
    snapshot = case.snapshot
    view = _as_toolkit(made, layout, current)
    environment = {**snapshot.environment, "CUDA_HOME": current, "CUDA_PATH": current}
    target = snapshot.target
    probes = tuple(
        replace(probe, cuda_home=current, missing=Known((), _PLANNED), output="", asked=False)
        for probe in snapshot.link_probes
    ) or (LinkProbe(current, (), (), False, Known((), _PLANNED)),)
    return replace(
        case,
        snapshot=replace(
            snapshot,
            target=replace(target, cuda_home=current) if target.cuda_home else target,
            toolkits=(view, *(each for each in snapshot.toolkits if each.home != current)),
            consumers=tuple(_through_view(consumer, current) for consumer in snapshot.consumers),
            link_probes=probes,
            environment=environment,
            live_view=Known(live, _PLANNED),
        ),
    )


def cured(before: Sequence[Finding], after: Sequence[Finding], current: str) -> tuple[Cured, ...]:
    """Findings of ``before`` that ``after`` has no more, neither about their subject nor about the view."""
    left = {(finding.check, finding.subject) for finding in after}
    return tuple(
        Cured(finding.check, finding.subject, finding.message)
        for finding in before
        if (finding.check, finding.subject) not in left and (finding.check, current) not in left
    )


def _through_view(consumer: Consumer, current: str) -> Consumer:
    if consumer.name == "triton":
        return consumer
    return replace(
        consumer,
        cuda_home=Known(current, _PLANNED),
        nvcc=Known(f"{current}/bin/nvcc", _PLANNED),
        toolkit=current,
        found_via="CUDA_HOME",
    )


def _as_toolkit(made: Composition, layout: Layout, current: str) -> Toolkit:
    located = {each.part.name: each for each in (made.nvcc, made.cicc, made.crt, made.headers, made.libcudart)}
    parts: list[Part] = []
    for tree in (made.nvcc.tree, *made.trees):
        for part in tree.parts:
            name = part.name
            if name in located:
                part = located[name].part
            if name == "nvcc":
                part = replace(part, path=f"{current}/bin/nvcc", links_to=part.path)
            if name != "cccl" and name not in {each.name for each in parts}:
                parts.append(part)
    parts.append(Part("cccl", f"{current}/include/cccl/cuda/std/__cccl/version.h", Known(made.cccl.version, _PLANNED)))
    lib64 = tuple(name for name in (*layout.links, *layout.files) if name.startswith("lib64/"))
    return Toolkit(
        home=current,
        real_home=current,
        layout="view",
        found_via=("the plan",),
        parts=tuple(parts),
        include_dirs=(f"{current}/include", f"{current}/include/cccl"),
        library_dirs=(f"{current}/lib64/stubs", f"{current}/lib64"),
        profile=made.nvcc.tree.profile,
        cccl_copies=(CcclCopy(f"{current}/include/cccl", Known(made.cccl.version, _PLANNED), True, True, True, True),),
        headers=tuple(sorted({header for tree in made.trees for header in tree.headers})),
        link_names=lib64,
        host_compiler_limits=made.crt.tree.host_compiler_limits,
        crt_launch_arguments=made.crt.tree.crt_launch_arguments,
        glibc_guards=made.crt.tree.glibc_guards,
        architectures=made.nvcc.tree.architectures,
    )
