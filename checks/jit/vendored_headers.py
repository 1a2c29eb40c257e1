"""Headers that FlashInfer brings along are not there

## What it finds
A kernel that does not compile since CUTLASS, spdlog or another library that FlashInfer carries in its own wheel is
missing.

## Why it matters
No package of CUDA brings these headers: they lie in flashinfer/data, and an installation that lost them (a partial
copy, a trimmed image, an editable install without its submodules) compiles nothing.

## How it is found
By the compiler's words.

## Remedy
Install flashinfer-python again in the same version. In a checkout: git submodule update --init --recursive.

## Sources
- flashinfer-ai/flashinfer#2203 (0.5.3); FlashInfer 0.7.2: jit/env.py (data/cutlass, data/spdlog)
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("jit.vendored-headers")

SIGNATURES = [
    Signature(
        pattern=r"fatal error: (?P<header>(?:cutlass|cute|spdlog|flashinfer|tensorrt_llm)/[\w/.+-]+): No such "
        r"file or directory",
        rank="cause",
        example="include/flashinfer/gemm.cuh:19:10: fatal error: cutlass/cutlass.h: No such file or directory",
        look_alike="main.cu:3:10: fatal error: cutlass_profiler.h: No such file or directory",
        source="flashinfer-ai/flashinfer#2203",
        versions="FlashInfer 0.2 to 0.7",
        message="{header}, which FlashInfer's own wheel brings, is not there",
        remedies=(
            LogRemedy(
                "Install it again, in the version that is there",
                (
                    'pip install --force-reinstall --no-deps "flashinfer-python==$(pip show flashinfer-python | '
                    "sed -n 's/^Version: //p')\"",
                ),
            ),
        ),
    ),
]
