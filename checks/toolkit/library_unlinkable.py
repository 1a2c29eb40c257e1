"""A CUDA library other than libcudart cannot be linked

## What it finds
A link that asks for nvrtc, cuBLAS, cuRAND, nvJitLink or another library of the toolkit and does not find it.

## Why it matters
Runtime packages, pip's wheels among them, bring `libnvrtc.so.13` and not the name without a version that a linker
looks for. The kernels were compiled by then.

## How it is found
By the linker's words.

## Remedy
Install the development package of that library, of the compiler's release; or give the linker a folder with a link of
that name (FLASHINFER_EXTRA_LDFLAGS="-L...", LIBRARY_PATH).

## Sources
- flashinfer-ai/flashinfer#4410; mudler/LocalAI#10257; vllm-project/vllm#29590
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("toolkit.library-unlinkable")

SIGNATURES = [
    Signature(
        pattern=r"\b(?:ld|ld\.\w+|lld): .*(?:cannot find|unable to find library) "
        r"-l(?P<name>cudart_static|cudadevrt|nvrtc|"
        r"nvrtc-builtins|cublas|cublasLt|curand|cusparse|cusolver|cufft|nvJitLink|nvptxcompiler_static|cudnn|nccl|nvToolsExt)\b",
        rank="cause",
        example="/usr/bin/ld: cannot find -lnvrtc: No such file or directory",
        look_alike="/usr/bin/ld: cannot find -lcudart: No such file or directory",
        source="flashinfer-ai/flashinfer#4410 (RTX 5090)",
        versions="FlashInfer 0.6 and 0.7, torch extensions",
        message="The linker does not find lib{name}.so: the library is missing, or only there with a version in "
        "its name",
        remedies=(
            LogRemedy(
                "See what is there under that name", ("find / -name 'lib{name}.so*' -not -path '/proc/*' 2>/dev/null",)
            ),
            LogRemedy(
                "Install its development package of the compiler's release (for nvrtc: apt-get install "
                "cuda-nvrtc-dev-13-0)"
            ),
        ),
    ),
]
