"""The kernel ended a process because the machine's own memory ran out

## What it finds
Lines of the kernel about its out-of-memory killer, children that ended by SIGKILL at start, and the word `Killed` that
a shell prints.

## Why it matters
Weights are staged in the machine's memory, once for each rank, and compilations take gigabytes. In a container the
limit of its cgroup counts, not what the machine has. Exit code -9 alone proves nothing: SGLang ends its own children
that way.

## How it is found
The kernel's line is proof. A rank that ended with exit code -9 during initialisation is a guess, and named as what
follows from anything else that the log shows. `Killed` alone says only that something sent SIGKILL: it is named where
nothing else in the log failed.

## Remedy
Give the container more memory, load fewer ranks at once, or compile with fewer jobs (MAX_JOBS). See
`jit.memory-exhaustion` when it happened in a compilation.

## Sources
- Linux: mm/oom_kill.c; SGLang 0.5.12: entrypoints/engine.py (_scheduler_died_error)
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("memory.host-killed")

SIGNATURES = [
    Signature(
        pattern=r"(?:Out of memory|Memory cgroup out of memory): Kill(?:ed)? process (?P<pid>\d+) \((?P<name>[^)]*)\)",
        rank="cause",
        example="Memory cgroup out of memory: Killed process 4711 (sglang::schedul) total-vm:98712344kB, "
        "anon-rss:33554432kB",
        look_alike="torch.OutOfMemoryError: CUDA out of memory.",
        source="Linux: mm/oom_kill.c",
        message="The kernel ended process {pid} ({name}): memory of the machine, or of its cgroup, ran out",
        remedies=(
            LogRemedy("Give it more memory (in a container: its limit), or start fewer ranks and compilations at once"),
            LogRemedy("See how much it was", ("dmesg -T | grep -i 'killed process'",)),
        ),
    ),
    Signature(
        pattern=r"^(?:\S+: line \d+: +\d+ Killed\b.*|zsh: killed\b.*|\[\d+\][+-]? +(?:\d+ +)?[Kk]illed\b.*|Killed)$",
        rank="wrapper",
        example="./serve.sh: line 3:  4711 Killed                  python -m sglang.launch_server --model-path /m",
        look_alike="Killed by the user's request",
        source="GNU bash 5.2: jobs.c (what a shell prints for a child that SIGKILL ended)",
        message="A process was ended by SIGKILL, and nothing in this log says who sent it: perhaps the kernel, because "
        "memory of the machine or of its cgroup ran out, perhaps somebody's kill -9",
        remedies=(
            LogRemedy("Ask the kernel", ("dmesg -T | grep -i 'killed process'",)),
            LogRemedy("If it was: more memory (in a container: its limit), or fewer ranks that load at once"),
        ),
    ),
    Signature(
        pattern=r"scheduler died during initialization \(exit code: -9\)",
        rank="consequence",
        example="RuntimeError: Rank 3 scheduler died during initialization (exit code: -9). If exit code is -9 "
        "(SIGKILL), a "
        "common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check.",
        look_alike="RuntimeError: Rank 3 scheduler died during initialization (exit code: 1). If exit code is -9 "
        "(SIGKILL), a "
        "common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check.",
        source="SGLang 0.5.12: entrypoints/engine.py",
        versions="SGLang 0.5.12 and later",
        message="A rank was ended by SIGKILL at start, and nothing else in this log says why: perhaps by the "
        "kernel, for memory",
        remedies=(
            LogRemedy("Ask the kernel", ("dmesg -T | grep -i 'killed process'",)),
            LogRemedy("If it was: more memory, or fewer ranks that load at once"),
        ),
    ),
]
