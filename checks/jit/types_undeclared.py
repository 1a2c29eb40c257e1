"""A kernel uses a number type of CUDA, and the header that declares it was not read

## What it finds
A build that stops at `__nv_bfloat162`, `__nv_fp8_e8m0`, `__nv_fp4x2_e2m1` or another small number type of CUDA.

## Why it matters
Each of these types is declared by one header of the toolkit: `cuda_bf16.h`, `cuda_fp8.h`, `cuda_fp6.h`, `cuda_fp4.h`.
The compiler's words name the type and not the header, and the same words have three causes:

- another file of that name stands before the toolkit's on the search path (`-I`, CPATH, CPLUS_INCLUDE_PATH): an older
  release, which does not have the type yet, or an empty stand-in;
- the toolkit is older than the type: FP8 came with CUDA 11.8; FP4, FP6 and e8m0 with 12.8;
- the source does not include the header. With the CUDA release that it was written for, another header did.

Functions such as `make_bfloat162` are missing for one cause more: headers of CUDA 12 and earlier leave some of them out
for GPUs before compute capability 8.0.

## How it is found
By the compiler's words. Whether the parts of the target's toolkit are of one release, `toolkit.release-mismatch` tells:
`sm120kit why LOG --python PATH`.

## Remedy
Run the nvcc command that failed again with `-M` in the place of `-c`: it lists every header that is read, and from
where. Unset CPATH and CPLUS_INCLUDE_PATH where they name another CUDA. Else take the package in the version that fits
the toolkit.

## Sources
- nvcc 13.0.88: without cuda_bf16.h and with an empty one in front; with cuda_fp8.h of 12.4.127 and of 11.8.89 in front
- deepseek-ai/DeepGEMM#438; Neroued/ninfer#218; NVIDIA/apex#1310; flashinfer-ai/flashinfer#472; 1CatAI/1Cat-vLLM#433
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("jit.types-undeclared")

_UNDECLARED = (
    r"error: (?:identifier \"|incomplete type \"|['\u2018])(?P<name>{names})"
    r"(?:\"|['\u2019]| \[).{{0,80}}?(?:is undefined|is not allowed|was not declared|does not name a type)"
)

_WHICH_HEADER = LogRemedy(
    "Run the nvcc command that failed again with -M in the place of -c: it lists each header that is read, and from "
    "where. A folder of another CUDA before the toolkit's own comes from -I, CPATH or CPLUS_INCLUDE_PATH"
)

SIGNATURES = [
    Signature(
        pattern=_UNDECLARED.format(names=r"__nv_fp4\w*|__nv_fp6\w*|__nv_fp8x?\d?_e8m0"),
        rank="cause",
        example='all.cu(5): error: identifier "__nv_fp8_e8m0" is undefined',
        look_alike='all.cu(5): error: identifier "nv_fp8_scale" is undefined',
        source="nvcc 13.0.88 with cuda_fp8.h of 12.4.127 in front; Luce-Org/lucebox#224",
        versions="headers before CUDA 12.8",
        message="{name} is not declared: the headers that were read are of CUDA 12.6 or older, or the source does not "
        "include the one that declares it",
        remedies=(
            LogRemedy("Take a toolkit of CUDA 12.8 or later, all of it of one release (sm120kit doctor tells)"),
            _WHICH_HEADER,
        ),
    ),
    Signature(
        pattern=_UNDECLARED.format(names=r"__nv_bfloat16\w*|nv_bfloat16\w*|__nv_fp8x?\d?_e[45]m[23]\w*"),
        rank="cause",
        example='bf.cu(2): error: identifier "__nv_bfloat162" is undefined',
        look_alike='bf.cu(2): error: no suitable user-defined conversion from "__nv_bfloat162" to "__half2" exists',
        source="nvcc 13.0.88 without cuda_bf16.h, and with an empty one in front; DeepGEMM#438; ninfer#218",
        message="{name} is not declared: its header of CUDA was not read. Another file of that name stands before it, "
        "or the source does not include it",
        remedies=(
            _WHICH_HEADER,
            LogRemedy(
                "Where the right header is simply not among them, the source lacks it: take the package in the version "
                "that fits this CUDA"
            ),
        ),
    ),
    Signature(
        pattern=r'error: identifier "(?P<name>make_bfloat162|__\w*bfloat162\w*|__float22bfloat162_rn)" is undefined',
        rank="cause",
        example='activation_kernels.cu(126): error: identifier "make_bfloat162" is undefined',
        look_alike='activation_kernels.cu(126): error: identifier "make_bfloat" is undefined',
        source="1CatAI/1Cat-vLLM#433 (CUDA 12.8, 7.0); flashinfer-ai/flashinfer#472 (11.8 and 12.1); pytorch/ao#632",
        versions="CUDA 12 and earlier, for GPUs before compute capability 8.0",
        message="{name} is not declared for GPUs before compute capability 8.0, and this build compiles for one",
        remedies=(
            LogRemedy("Leave GPUs before 8.0 out of TORCH_CUDA_ARCH_LIST and FLASHINFER_CUDA_ARCH_LIST"),
            _WHICH_HEADER,
        ),
    ),
]
