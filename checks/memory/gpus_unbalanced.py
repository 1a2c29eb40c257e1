"""One GPU of a tensor-parallel server has less free memory than the others

## What it finds
A server over several GPUs one of which starts with less than nine tenths of the free memory that another has.

## Why it matters
All ranks get the KV cache that the poorest can hold, so what is used on one GPU is lost on each.

## How it is found
By the words of SGLang's comparison at start.

## Remedy
End what else runs on the GPUs, or choose others by CUDA_VISIBLE_DEVICES. A desktop or a monitor on one card takes
about one GiB there.

## Sources
- SGLang 0.5.12: model_executor/model_runner.py; 0.5.23: distributed/bootstrap.py; older versions raise a ValueError
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("memory.gpus-unbalanced")

_REMEDIES = (
    LogRemedy(
        "See what else runs on the GPUs, and end it",
        ("nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory --format=csv",),
    ),
    LogRemedy("Choose other GPUs by CUDA_VISIBLE_DEVICES"),
)
_MESSAGE = (
    "One GPU had [[{least} GiB free at the start, another {local} GiB|less memory free at the start than another]]: "
    "something else uses it"
)
_SIZES = r"(?:.*?(?:pre_model_load|min_per_gpu)_memory=(?P<least>[\d.]+), local_gpu_memory=(?P<local>[\d.]+))?"

SIGNATURES = [
    Signature(
        pattern=rf"(?:Runtime|Value)Error: The memory capacity is unbalanced\.{_SIZES}",
        rank="cause",
        example="RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. "
        "pre_model_load_memory=61.2, local_gpu_memory=94.1, local_gpu_memory * 0.9=84.69",
        look_alike="The memory capacity is unbalanced. Some GPUs may be occupied by other processes.",
        source="SGLang 0.5.12: model_executor/model_runner.py",
        versions="SGLang 0.5.x",
        message=_MESSAGE,
        remedies=_REMEDIES,
    ),
    Signature(
        pattern=rf"(?<!Error: )The memory capacity is unbalanced\.{_SIZES}",
        rank="limit",
        example="The memory capacity is unbalanced. Some GPUs may be occupied by other processes. "
        "pre_model_load_memory=61.2, local_gpu_memory=94.1, local_gpu_memory * 0.9=84.69",
        look_alike="RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.",
        source="SGLang 0.5.12: model_executor/model_runner.py, with the check switched off",
        versions="SGLang 0.5.x",
        message=_MESSAGE,
        remedies=_REMEDIES,
    ),
]
