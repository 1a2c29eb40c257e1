"""A stand-in for one SGLang server: ``python -m sm120kit.fleet.rehearsal.server --profile FILE <SGLang arguments>``.

It speaks SGLang's endpoints and log lines, loads as slowly as it is told to, and dies as SGLang dies. It computes
nothing, needs no GPU, and says what it is wherever it says anything.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time

from sm120kit.fleet.rehearsal.allocations import started
from sm120kit.fleet.rehearsal.arguments import ArgumentError, read_arguments
from sm120kit.fleet.rehearsal.log import plain, say
from sm120kit.fleet.rehearsal.profile import Profile, read_profile

_USAGE = 2
_HIGHEST_PORT = 55_535
"""Of 0.5.12, which takes a port 10000 above its own too."""


def main(words: list[str]) -> int:
    """Run one; returns its exit code, if it does not end by a signal."""
    begun = _begun()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until it serves: ended, without a traceback
    if words[:1] != ["--profile"] or len(words) < 2:
        plain("usage: python -m sm120kit.fleet.rehearsal.server --profile FILE [SGLang's arguments]\n")
        return _USAGE
    try:
        profile = _with_faults(read_profile(words[1]))
    except (OSError, ValueError, TypeError) as error:
        plain(f"--profile {words[1]} cannot be read: {error}\n")
        return _USAGE
    say("REHEARSAL: this is a stand-in for SGLang. It computes nothing, and its GPUs are simulated.")
    try:
        given = read_arguments(profile, words[2:])
    except (ArgumentError, OSError) as error:
        plain(f"sglang serve: error: {error}\n")
        return _USAGE
    if (failed := _fails_at_start(profile, int(given.settings.get("port") or 0))) is not None:
        plain(f"Traceback (most recent call last):\n{failed}\n")
        return 1
    settings = given.settings
    shown = (
        settings
        if profile.wording == "0.5.23"
        else f"ServerArgs({', '.join(f'{k}={v!r}' for k, v in settings.items())})"
    )
    say(f"server_args={shown}")
    if "stolen-port" in profile.faults:
        from sm120kit.fleet.rehearsal.stranger import take_port

        take_port(str(settings.get("host") or "127.0.0.1"), int(settings.get("port") or 30000))
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    # A scheduler that fails at once tells it by this signal, before its handler is in place.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGQUIT})
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGQUIT})
        ours.close()
        from sm120kit.fleet.rehearsal.scheduler import run

        os._exit(run(profile, settings, theirs, parent, begun))
    theirs.close()
    from sm120kit.fleet.rehearsal.main_process import MainProcess

    return MainProcess(profile, given, child, ours, begun).run()


def _fails_at_start(profile: Profile, port: int) -> str | None:
    """The error that ends it before it loads anything."""
    if "exits-at-start" in profile.faults:
        return "ImportError: libcudart.so.13: cannot open shared object file: No such file or directory"
    if profile.wording == "0.5.12" and port > _HIGHEST_PORT:
        return f"ValueError: SGLANG_GRPC_PORT ({port + 10_000}) must be between 1 and 65535"
    return None


def _with_faults(profile: Profile) -> Profile:
    """The profile with the faults of this very start: some are meant for the first one of a launch alone."""
    faults = list(profile.faults)
    launch = os.environ.get("SM120KIT_FLEET", "")
    for kind in profile.once:
        mark = os.path.join(profile.folder, f"fault-{kind}-{profile.replica}-{launch}.done")
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            faults.remove(kind)
    if "lower-grant" in faults:
        profile = profile._replace(granted=max(1, profile.granted // 2))
    return profile._replace(faults=tuple(faults))


def _begun() -> float:
    """When this process was started, on the monotonic clock: its imports are part of its loading."""
    ticks = os.sysconf("SC_CLK_TCK")
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - started(os.getpid()) / ticks
    return time.monotonic() - max(0.0, age)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
