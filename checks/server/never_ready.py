"""The server did not become ready, and its log shows no error: it waits, or was ended from outside

## What it finds
A log of SGLang that ends at a stage of its start, without an error and without `The server is fired up and ready to
roll!`.

## Why it matters
A start that hangs writes nothing: the last stage is all that tells where. A start that merely takes long looks the
same.

## How it is found
By the lines with which SGLang tells its stages. Nothing is said where a later line tells of a batch of requests, as an
engine without a port does, nor on the second and further nodes of a server, which never say that they are ready.

## Remedy
See whether the log still grows. If not: what its processes do (py-spy dump), and what hangs at that stage. Joining of
ranks: peer access, /dev/shm, a rank that was never started. Loading: a slow disk or network mount. Capture of graphs
and the first request: a compilation, or another process that holds its lock.

## Sources
- SGLang 0.5.12: model_executor/model_runner.py, managers/scheduler.py, entrypoints/http_server.py; 0.5.23:
  distributed/bootstrap.py
- checks `multigpu.p2p-hang-risk` and `jit.stale-lock`
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("server.never-ready")

_GROWS = LogRemedy(
    "See what it does, if it still runs", ("py-spy dump --pid $(pgrep -of sglang::scheduler)", "nvidia-smi")
)
_COMPILES = LogRemedy(
    "See whether it compiles, which takes minutes, or waits for a lock that a killed process left",
    ("ps -eo pid,etime,args | grep -E 'nvcc|cicc|ptxas|ninja' | grep -v grep", "sm120kit doctor --only jit.stale-lock"),
)

SIGNATURES = [
    Signature(
        pattern=r"The server is fired up and ready to roll!",
        rank="stage",
        example="The server is fired up and ready to roll!",
        look_alike="The server is starting up",
        source="SGLang 0.5.12 and 0.5.23, runs on a CPU",
        versions="SGLang 0.5.x",
        message="ready",
    ),
    Signature(
        pattern=r"^Init (?:torch distributed|parallel) begin",
        rank="stage",
        example="Init torch distributed begin.",
        look_alike="Init torch distributed ends. elapsed=0.31 s, mem usage=0.05 GB",
        source="SGLang 0.5.12: model_executor/model_runner.py; 0.5.23: distributed/bootstrap.py",
        versions="SGLang 0.5.x",
        message="The log ends while the server joins its ranks, through NCCL where it has several GPUs",
        remedies=(
            LogRemedy(
                "With several GPUs, try it without peer access between them; if that starts, see what the doctor says",
                ("export NCCL_P2P_DISABLE=1", "sm120kit doctor --only multigpu.p2p-hang-risk,container.shared-memory"),
            ),
            LogRemedy(
                "Let NCCL say what it waits for, and see that every rank and node was started",
                ("export NCCL_DEBUG=INFO",),
            ),
            _GROWS,
        ),
    ),
    Signature(
        pattern=r"^Load weight begin\.",
        rank="stage",
        example="Load weight begin. avail mem=94.08 GB",
        look_alike="Load weight end. elapsed=21.30 s, type=Qwen3ForCausalLM, avail mem=62.20 GB, mem usage=31.88 GB.",
        source="SGLang 0.5.12 and 0.5.23, runs on a CPU",
        versions="SGLang 0.5.x",
        message="The log ends while the server loads its weights",
        remedies=(
            LogRemedy(
                "See how fast the weights are read: a network mount, a cold disk, or a download that goes on",
                ("iostat -xm 2 3", "ls -lL [[{model_path}|MODEL_PATH]]"),
            ),
            _GROWS,
        ),
    ),
    Signature(
        pattern=r"^Load weight end\.|^(?:[\w -]{1,40} )?KV Cache is allocated\.|^Memory pool end\.",
        rank="stage",
        example="Load weight end. elapsed=21.30 s, type=Qwen3ForCausalLM, avail mem=62.20 GB, mem usage=31.88 GB.",
        look_alike="Load weight begin. avail mem=94.08 GB",
        source="SGLang 0.5.12 and 0.5.23, runs on a CPU",
        versions="SGLang 0.5.x",
        message="The log ends behind the weights, while the server makes its pools and kernels",
        remedies=(_COMPILES, _GROWS),
    ),
    Signature(
        pattern=r"^Capture .{0,60}graph begin\.",
        rank="stage",
        example="Capture cuda graph begin. This can take up to several minutes. avail mem=13.02 GB",
        look_alike="Capture cuda graph end. Time elapsed: 5.10 s. mem usage=0.51 GB. avail mem=12.51 GB.",
        source="SGLang 0.5.12: model_executor/cuda_graph_runner.py",
        versions="SGLang 0.5.x",
        message="The log ends while the server captures CUDA graphs, for which it compiles kernels",
        remedies=(_COMPILES, _GROWS),
    ),
    Signature(
        pattern=r"^Capture .{0,60}graph end\.|^max_total_num_tokens=\d+, ",
        rank="stage",
        example="max_total_num_tokens=250000, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        "max_running_requests=2048, context_len=32768, available_gpu_mem=12.51 GB",
        look_alike="max_total_num_tokens is 250000",
        source="SGLang 0.5.12: managers/scheduler.py",
        versions="SGLang 0.5.x",
        message="The log ends before the server answered its own first request, for which it compiles kernels",
        remedies=(_COMPILES, _GROWS),
    ),
]
