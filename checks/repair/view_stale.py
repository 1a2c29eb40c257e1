"""A file that the repair was made of has changed or is gone

## What it finds
The live toolkit of links of this target leads to files that are no longer as they were when it was composed: changed,
as by an upgrade of a package, or not there any more.

## Why it matters
A toolkit of links whose source is gone cannot compile. One whose source was replaced may mix two CUDA releases: the
packages of one release are upgraded one by one, and pip does not keep them together.

## How it is found
Size and modification time of each source are compared with what its `sm120kit-view.json` says.

## Remedy
`sm120kit fix --apply` composes a new one from what is on disk now, proves it and switches to it.

## Sources
- nvidia-cuda-nvcc 13.0.88 METADATA: nvidia-nvvm, nvidia-cuda-crt and nvidia-cuda-runtime without versions
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    Manual,
    Remedy,
    Repair,
    Unknown,
    at,
    check,
    error,
    warning,
)
from sm120kit.diagnosis.typed_again import data_dir_option


@check("repair.view-stale", needs="repair")
def view_stale(case: Case) -> Iterator[Finding | CannotTell]:
    live = case.snapshot.live_view
    if isinstance(live, Unknown):
        return
    view = live.value
    if isinstance(view.manifest, Unknown):
        yield CannotTell(view.current, view.manifest.reason)
        return
    if not view.changed and not view.gone:
        return
    evidence = [at("not there any more", path) for path in view.gone] + [
        at("changed since", path) for path in view.changed
    ]
    remedies: list[Remedy] = [
        Repair("Compose a new toolkit of links from what is on disk now", "compose_view", {"cuda_home": view.current}),
        Manual("Take the repair back", (f"sm120kit undo{data_dir_option(case)}",)),
    ]
    if view.gone:
        yield error(
            view.current,
            f"the toolkit of links {view.path} leads to files that are gone: it cannot compile any more",
            evidence,
            remedies,
        )
    else:
        yield warning(
            view.current,
            f"files behind the toolkit of links {view.path} have changed since it was proved: it may mix CUDA releases "
            "now",
            evidence,
            remedies,
        )
