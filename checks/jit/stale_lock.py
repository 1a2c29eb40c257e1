"""A lock of torch's extension builder was left behind: every later start waits for it without end

## What it finds
A file named `lock` in the build folder of a torch extension that no process holds.

## Why it matters
torch.utils.cpp_extension marks a build by making a file and deletes it at the end. Whoever is killed in between (out of
memory, a time limit of a job) leaves it, and every later process waits for it to vanish: no output, no CPU time, no
limit. FlashInfer and tvm-ffi lock differently: their `.lock` files stay for good and mean nothing, since the lock
itself ends with its holder.

## How it is found
Only lock files of torch's builder are looked for. The builder keeps its file open while it works, so the open files of
all processes that this user may see are compared. Below ten minutes of age, and on network mounts, where another
machine may hold it, it is left open.

## Remedy
Delete the file after a look at what still runs.

## Sources
- torch 2.13.0 utils/file_baton.py, utils/cpp_extension.py
- flashinfer-ai/flashinfer#972, #2262; sgl-project/sglang#4389; ModelCloud/GPTQModel#3015
"""

import shlex
from collections.abc import Iterator

from sm120kit.diagnosis import CannotTell, Case, Finding, Manual, NotApplicable, Unknown, at, check, warning
from sm120kit.diagnosis.kernel_caches import mount_of

_YOUNG_S = 600


@check("jit.stale-lock")
def stale_lock(case: Case) -> Iterator[Finding | CannotTell]:
    if case.distribution("torch") is None:
        raise NotApplicable("torch, whose extension builder leaves such locks, is not installed")
    for lock in case.snapshot.build_locks:
        age = f"{lock.age_s // 60} minutes old" if lock.age_s < 7200 else f"{lock.age_s // 3600} hours old"
        mount = mount_of(lock.path, case.snapshot.host.slow_mounts)
        if isinstance(lock.holders, Unknown):
            yield CannotTell(lock.path, f"it is {age}, and who holds it is not known: {lock.holders.reason}")
        elif lock.holders.value:
            continue
        elif mount:
            yield CannotTell(lock.path, f"it is {age} and lies on {mount.path}: another machine may hold it")
        elif lock.age_s < _YOUNG_S:
            yield CannotTell(lock.path, f"it is only {age}, and a process of another user may hold it")
        else:
            yield warning(
                lock.path,
                f"the lock {lock.path} is {age} and no process holds it: whoever loads this extension waits for ever",
                [at(f"{age}, open in no process", lock.path)],
                [Manual("Delete it", (f"rm {shlex.quote(lock.path)}",))],
            )
