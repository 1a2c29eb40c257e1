"""One process of the server reports that another one failed: a message, never the cause

## What it finds
Lines with which the main process of SGLang or vLLM, torchrun or a supervisor says that a child ended: `Received sigquit
from a child process`, `Scheduler hit an exception`, `crashed with exit code`, `ChildFailedError`.

## Why it matters
They stand at the end of the log, where one looks first, and name nothing that could be mended. Exit code -9 among them
does not mean that the kernel ran out of memory: SGLang ends itself with SIGKILL after any failure of a child.

## How it is found
By their words. The cause stands further up, in the first traceback of any rank, or in what a compiler or linker wrote.

## Remedy
Look at the first error above these lines. If the log holds none, look into the logs of the other ranks, and into the
kernel's log for the time of the failure.

## Sources
- SGLang 0.5.12 and 0.5.23: entrypoints/engine.py, managers/tokenizer_manager.py, utils/watchdog.py
- sgl-project/sglang#28521, #5338
"""

from sm120kit.diagnosis import Signature, log_failure

FAILURE = log_failure("server.child-failed")

SIGNATURES = [
    Signature(
        pattern=r"Received sigquit from a child process|SIGQUIT received\. signum=|Triggering SIGQUIT for cleanup",
        rank="wrapper",
        example="Received sigquit from a child process. It usually means the child failed.",
        look_alike="SIGTERM received. signum=None frame=None. Draining requests and shutting down...",
        source="SGLang 0.5.23, a scheduler that found no room for its KV cache",
        versions="SGLang 0.5.x",
    ),
    Signature(
        pattern=r"\b\w+ hit an exception: Traceback",
        rank="wrapper",
        example="Scheduler hit an exception: Traceback (most recent call last):",
        look_alike="Scheduler hit an unexpected request id and ignores it",
        source="SGLang 0.5.12: managers/scheduler.py, detokenizer_manager.py, data_parallel_controller.py",
        versions="SGLang 0.5.x",
    ),
    Signature(
        pattern=r"Rank \d+ scheduler died during initialization|Initialization failed\. warmup error:",
        rank="wrapper",
        example="RuntimeError: Rank 0 scheduler died during initialization (exit code: 1). If exit code is -9 "
        "(SIGKILL), "
        "a common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check.",
        look_alike="Rank 0 scheduler is ready after initialization",
        source="SGLang 0.5.12: entrypoints/engine.py, http_server.py",
        versions="SGLang 0.5.12 and later",
    ),
    Signature(
        pattern=r"Engine core initialization failed\. See root cause above|EngineCore (?:failed to "
        r"start|encountered an)",
        rank="wrapper",
        example="RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        look_alike="Engine core initialization finished",
        source="vllm-project/vllm#33417",
        versions="vLLM 0.9 and later",
    ),
    Signature(
        pattern=r"torch\.distributed\.elastic\.multiprocessing\.errors\.ChildFailedError|torch\.multiprocessing\.spawn\."
        r"Process\w+Exception",
        rank="wrapper",
        example="torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        look_alike="from torch.distributed.elastic.multiprocessing.errors import record",
        source="torchrun of torch 2.x",
    ),
    Signature(
        pattern=r"Main process exited, code=(?:exited|killed|dumped)|Failed with result "
        r"'(?:exit-code|signal|core-dump)'",
        rank="wrapper",
        example="sglang.service: Main process exited, code=exited, status=1/FAILURE",
        look_alike="sglang.service: Deactivated successfully.",
        source="systemd 252",
    ),
]
