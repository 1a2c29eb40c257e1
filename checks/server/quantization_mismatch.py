"""--quantization contradicts what the model's own configuration says

## What it finds
A quantisation asked for on the command line that is not the one the weights were made with.

## Why it matters
Quantised weights can only be read as what they are. The option is for weights that are not quantised yet.

## How it is found
By the words of SGLang's reader of model configurations.

## Remedy
Leave --quantization out: the server reads it from the model's configuration.

## Sources
- SGLang 0.5.12 and 0.5.23: configs/model_config.py
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("server.quantization-mismatch")

SIGNATURES = [
    Signature(
        pattern=r"[Qq]uantization method specified in the model config \((?P<has>[^)]*)\) does not match the "
        r"quantization "
        r"method specified in the `quantization` argument \((?P<asked>[^)]*)\)",
        rank="cause",
        example="ValueError: Quantization method specified in the model config (fp8) does not match the "
        "quantization method "
        "specified in the `quantization` argument (awq).",
        look_alike="Quantization method specified in the model config (fp8) is used",
        source="SGLang 0.5.12: configs/model_config.py",
        versions="SGLang 0.5.x, vLLM",
        message="The weights are quantised as {has}, and {asked} was asked for",
        remedies=(LogRemedy("Leave --quantization out: it is read from the model's configuration"),),
    ),
]
