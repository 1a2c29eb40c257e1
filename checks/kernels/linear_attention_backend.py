"""FlashInfer's linear-attention kernels were asked for where SGLang does not allow them

## What it finds
`--linear-attn-*-backend flashinfer` on Blackwell without what it needs there: a bfloat16 state for decoding, CUDA 13
for prefill.

## Why it matters
The server ends while it reads its arguments.

## How it is found
By SGLang's words.

## Remedy
Use triton for that phase, or meet the condition: --mamba-ssm-dtype bfloat16, a torch built with CUDA 13.

## Sources
- SGLang 0.5.23: arg_groups/attention_hook.py
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("kernels.linear-attention-backend")

SIGNATURES = [
    Signature(
        pattern=r"--linear-attn-(?P<phase>\w+)-backend flashinfer on SM100\+ requires (?P<needs>--[\w -]+|CUDA 13\+)",
        rank="cause",
        example="ValueError: --linear-attn-decode-backend flashinfer on SM100+ requires --mamba-ssm-dtype "
        "bfloat16, got "
        "'float32'",
        look_alike="--linear-attn-decode-backend flashinfer was chosen",
        source="SGLang 0.5.23: arg_groups/attention_hook.py",
        versions="SGLang 0.5.23",
        message="On this GPU FlashInfer's linear attention ({phase}) needs {needs}",
        remedies=(
            LogRemedy("Use triton for that phase", ("--linear-attn-{phase}-backend triton",)),
            LogRemedy("Meet the condition: {needs}"),
        ),
    ),
]
