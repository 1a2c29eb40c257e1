"""The model cannot be split over that many GPUs

## What it finds
A tensor-parallel size that does not divide what must be divided: attention heads, experts, or blocks of quantised
weights.

## Why it matters
Block-quantised weights (FP8, NVFP4, GPTQ) can only be cut at block borders, so a size that suits the heads may still be
refused for one layer.

## How it is found
By the words of SGLang's layers. `sm120kit plan` and `sm120kit launch` see it before anything is loaded, in the model's
configuration: attention heads must be divisible by the size, heads of keys and values one by the other, state heads by
it, and what is left of an expert or a layer must be whole blocks.

## Remedy
Take the next smaller power of two as --tp-size, and use the remaining GPUs for more replicas or --dp-size. For
mixtures of experts, expert parallelism (--ep-size) leaves the weights of an expert whole.

## Sources
- SGLang 0.5.12: layers/quantization/fp8.py, marlin_utils.py, layers/linear.py, models/deepseek.py, distributed/utils.py
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("server.parallel-size")

_REMEDIES = (
    LogRemedy("Take a smaller --tp-size, and the remaining GPUs for more replicas or --dp-size"),
    LogRemedy("For a mixture of experts: --ep-size, which does not cut the weights of one expert"),
)

SIGNATURES = [
    Signature(
        pattern=r"(?:size_per_partition|partition_size)\b.{0,20}?= ?(?P<size>\d+) is not divisible by .{0,60}?= "
        r"?(?P<by>\d+)",
        rank="cause",
        example="ValueError: Weight output_partition_size = 192 is not divisible by weight quantization block_n = 128.",
        look_alike="Scale param shape 192 not divisible by 3",
        source="SGLang 0.5.12: layers/quantization/fp8.py",
        versions="SGLang 0.5.x, vLLM",
        message="Split over that many GPUs, a layer has {size} columns, and its quantised blocks have {by}",
        remedies=_REMEDIES,
    ),
    Signature(
        pattern=r"Tensor parallel size (?P<size>\d+) is greater than the number of experts (?P<experts>\d+)",
        rank="cause",
        example="ValueError: Tensor parallel size 16 is greater than the number of experts 8.",
        look_alike="Tensor parallel size is 8",
        source="SGLang 0.5.12: models/deepseek.py",
        versions="SGLang 0.5.x",
        message="A tensor-parallel size of {size} is more than the {experts} experts of the model",
        remedies=_REMEDIES,
    ),
    Signature(
        pattern=r"attention heads \((?P<heads>\d+)\) must be divisible by (?:tensor parallel "
        r"size|tp_size)\W*(?P<size>\d+)",
        rank="cause",
        example="ValueError: Total number of attention heads (52) must be divisible by tensor parallel size (3).",
        look_alike="Total number of attention heads: 52",
        source="vllm-project/vllm#414, #52535",
        versions="vLLM",
        message="{heads} attention heads cannot be split over {size} GPUs",
        remedies=(
            LogRemedy("Take a tensor-parallel size that divides {heads}, and the remaining GPUs for more replicas"),
        ),
    ),
    Signature(
        pattern=r"^(?:AssertionError|ValueError): (?P<whole>\d+) is not divisible by (?P<size>\d+)$",
        rank="cause",
        example="AssertionError: 16 is not divisible by 6",
        look_alike="AssertionError: batch of 16 is not divisible by 6",
        source="SGLang 0.5.12: distributed/utils.py (ensure_divisibility); gpustack/gpustack#4769",
        versions="SGLang 0.5.x, vLLM",
        message="{whole} of something, mostly attention heads, cannot be split over {size} GPUs",
        remedies=(
            LogRemedy("Take a --tp-size that divides {whole}, and the remaining GPUs for more replicas or --dp-size"),
        ),
    ),
]
