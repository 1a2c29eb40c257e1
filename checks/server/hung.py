"""The server stopped answering: a forward pass took longer than its watchdog allows

## What it finds
A scheduler whose watchdog went off, or a health request that got no answer for 20 seconds.

## Why it matters
Something waits that will not come: a collective on a GPU whose peer is gone, a kernel that does not return, a
compilation in the middle of serving, or a process that was stopped. The message tells that it hangs, not where.

## How it is found
By the words of SGLang's watchdog and of its health endpoint. Any other fault in the log explains it and is named first.

## Remedy
See what the scheduler does while it hangs (py-spy dump). With several GPUs look at `multigpu.p2p-hang-risk`. If it
compiles, fill the JIT caches before serving. Only then raise --watchdog-timeout.

## Sources
- SGLang 0.5.12 and 0.5.23: utils/watchdog.py, entrypoints/http_server.py; a scheduler stopped with SIGSTOP
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("server.hung")

_LOOK = LogRemedy("See where the scheduler is while it hangs", ("py-spy dump --pid $(pgrep -of sglang::scheduler)",))

SIGNATURES = [
    Signature(
        pattern=r"watchdog timeout \(self\.watchdog_timeout=(?P<seconds>[\d.]+), self\.soft=False\)",
        rank="consequence",
        example="Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)",
        look_alike="Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=True)",
        source="SGLang 0.5.12: utils/watchdog.py",
        versions="SGLang 0.5.x",
        message="One step of the scheduler did not end within {seconds} s, and the server ended itself",
        remedies=(_LOOK, LogRemedy("If it compiles in that time, fill the JIT caches before it serves")),
    ),
    Signature(
        pattern=r"Health check failed\. Server couldn't get a response from detokenizer for last (?P<seconds>\d+) "
        r"seconds",
        rank="consequence",
        example="Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. tic "
        "start time: "
        "15:00:00. last_heartbeat time: 14:59:31",
        look_alike="Health check passed after 20 seconds",
        source="SGLang 0.5.12: entrypoints/http_server.py; a scheduler stopped with SIGSTOP",
        versions="SGLang 0.5.x",
        message="The server answered no request for {seconds} s",
        remedies=(_LOOK,),
    ),
]
