"""Two packages that install the same folder are there side by side: one of them lies over the other's files

## What it finds
Distributions with different names that own one import package: sgl-kernel and its successor sglang-kernel, DeepGEMM
under its two names and inside older sgl-kernel wheels, triton and pytorch-triton.

## Why it matters
pip knows no relation between them, so an upgrade of SGLang from 0.5.9 to 0.5.10 leaves both. The files are those of the
one installed last, mixed with leftovers of the other; whoever removes the old one removes the new one's files with it.

## How it is found
By the names of the installed distributions and a table of packages that changed their name. Whether what is there now
can be loaded is judged by `wheels.kernel-package-wrong-cuda` and `wheels.abi-mismatch` from the files themselves, so
this is a warning.

## Remedy
Remove both, then install the one that is wanted.

## Sources
- sglang 0.5.9 (sgl-kernel==0.3.21) and 0.5.10 (sglang-kernel==0.4.1) METADATA; RECORD of both wheels
"""

from collections.abc import Iterator

from sm120kit.diagnosis import CannotTell, Case, Finding, Manual, Unknown, at, check, read_table, warning
from sm120kit.diagnosis.versions import within
from sm120kit.diagnosis.wheels import RenamedPackage


@check("wheels.renamed-package-twice")
def renamed_package_twice(case: Case) -> Iterator[Finding | CannotTell]:
    if isinstance(case.snapshot.distributions, Unknown):
        yield CannotTell("packages", case.snapshot.distributions.reason)
        return
    for row in read_table("renamed_packages", RenamedPackage):
        old, new = case.distribution(row.old), case.distribution(row.new)
        if old is None or new is None or not within(old.version, row.old_first, row.old_last):
            continue
        yield warning(
            f"{old.name} and {new.name}",
            f"{old.name} {old.version} and {new.name} {new.version} both install {row.package}: its files are a mix of "
            "the two, and removing one breaks the other",
            [at(f"{each.name} {each.version}", each.path) for each in (old, new)],
            [
                Manual(
                    f"Remove both and install {new.name} anew",
                    (
                        f"pip uninstall -y {old.name} {new.name}",
                        f"pip install --no-deps {new.name}=={new.version}",
                    ),
                )
            ],
        )
