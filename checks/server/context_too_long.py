"""A longer context was asked for than the model's configuration allows

## What it finds
`--context-length` above what the server derives from config.json.

## Why it matters
The server refuses to start. The derived value may differ from max_position_embeddings, as it takes rope scaling into
account.

## How it is found
By the words of SGLang's reader of model configurations. `sm120kit plan` and `sm120kit launch` see it before anything is
loaded.

## Remedy
Ask for no more than the derived length, or give the model the rope scaling that its makers describe for longer ones.
SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 only silences the refusal: without scaling, answers beyond the length get
worse without any message.

## Sources
- SGLang 0.5.12 and 0.5.23: configs/model_config.py
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("server.context-too-long")

SIGNATURES = [
    Signature(
        pattern=r"ValueError: Warning: \S+(?: model's)? context_length \((?P<asked>\d+)\) is greater than the derived "
        r"context_length \((?P<derived>\d+)\)",
        rank="cause",
        example="ValueError: Warning: User-specified context_length (262144) is greater than the derived "
        "context_length "
        "(131072). This may lead to incorrect model outputs or CUDA errors.",
        look_alike="Warning: User-specified context_length (262144) is greater than the derived context_length "
        "(131072).",
        source="SGLang 0.5.12: configs/model_config.py",
        versions="SGLang 0.5.x",
        message="A context of {asked} tokens was asked for, and the model's configuration gives {derived}",
        remedies=(
            LogRemedy("Ask for what the model has, or leave the option out", ("--context-length {derived}",)),
            LogRemedy(
                "For longer texts give the rope scaling that the model's makers describe (--json-model-override-args)"
            ),
        ),
    ),
]
