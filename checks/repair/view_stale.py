"""A file that the repair was made of has changed or is gone

## What it finds
The live toolkit of links of this target is no longer as it was composed: files that it leads to were changed, as by an
upgrade of a package, or are not there any more, or one of its own links was taken away.

## Why it matters
A toolkit of links whose source is gone cannot compile. One whose source was replaced may mix two CUDA releases: the
packages of one release are upgraded one by one, and pip does not keep them together.

## How it is found
Size and modification time of its main sources are compared with what its `sm120kit-view.json` says, and each path that
is named there must be in place, and lead to something where it is a link. It is an error where every compile needs
what is gone (the compiler, its headers, libcudart), else a warning.

## Remedy
Where a file of a wheel is gone, install that wheel again. Then `sm120kit fix --apply` composes a new one from what is
on disk, proves it and switches to it.

## Sources
- nvidia-cuda-nvcc 13.0.88 METADATA: nvidia-nvvm, nvidia-cuda-crt and nvidia-cuda-runtime without versions
"""

from collections.abc import Iterator, Sequence

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Evidence,
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
from sm120kit.diagnosis.remedies import reinstall_wheels
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
    homes = view.manifest.value.homes
    lost = {each.path: each for tree in case.snapshot.toolkits if tree.home in homes for each in tree.gone_files}
    gone = tuple(dict.fromkeys((*view.gone, *(path for path, each in lost.items() if each.for_every_compile))))
    lacking = tuple(path for path in dict.fromkeys((*view.lacking, *lost)) if path not in gone)
    missing = (*gone, *lacking)
    if not view.changed and not missing:
        return
    evidence = [*_listed("not there any more", missing), *_listed("changed since", view.changed)]
    of_wheels = [lost[path] for path in missing if path in lost]
    remedies: list[Remedy] = [
        *([reinstall_wheels(of_wheels)] if of_wheels else ()),
        Repair("Compose a new toolkit of links from what is on disk now", "compose_view", {"cuda_home": view.current}),
        Manual("Take the repair back", (f"sm120kit undo{data_dir_option(case)}",)),
    ]
    if gone:
        yield error(
            view.current,
            f"the toolkit of links {view.path} {_what_is_missing(view.path, gone)}, which every compile needs",
            evidence,
            remedies,
        )
    elif lacking:
        yield warning(
            view.current,
            f"the toolkit of links {view.path} {_what_is_missing(view.path, lacking)}: what needs them does not "
            "compile or link",
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


_MOST = 8
"""Files named one by one."""


def _listed(what: str, paths: Sequence[str]) -> list[Evidence]:
    named = [at(what, path) for path in paths[:_MOST]]
    more = paths[_MOST:]
    return [*named, at(f"{what}: {len(more)} more files, the first of them", more[0])] if more else named


def _what_is_missing(view: str, paths: Sequence[str]) -> str:
    own = sum(path.startswith(f"{view}/") for path in paths)
    parts = ["lacks paths of its own"] if own else []
    return " and ".join([*parts, "leads to files that are gone"] if own < len(paths) else parts)
