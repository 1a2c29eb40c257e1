"""A compilation failed: a message of the build system, never the cause

## What it finds
What ninja, nvcc's driver, the linker's driver and Python say after a command of theirs failed: `Ninja build failed`,
`ninja: build stopped`, `collect2: error: ld returned 1 exit status`, `Error building extension`,
`CalledProcessError`.

## Why it matters
These lines stand last, are the same for every cause, and are what people search the web for.

## How it is found
By their words. The cause is the first `error:`, `fatal error:` or `cannot find` above them, from the compiler or the
linker.

## Remedy
Look at the first error above these lines. With FlashInfer the whole output is also in flashinfer_jit.log below
~/.cache/flashinfer.

## Sources
- flashinfer-ai/flashinfer#4410, #5064; FlashInfer 0.7.2: jit/cpp_ext.py; torch 2.13: utils/cpp_extension.py
"""

from sm120kit.diagnosis import Signature, log_failure

FAILURE = log_failure("jit.build-failed")

SIGNATURES = [
    Signature(
        pattern=r"Ninja build failed|ninja: build stopped|ninja exited with status \d+|ninja: error: build\.ninja",
        rank="wrapper",
        example="RuntimeError: Ninja build failed. Ninja output:",
        look_alike="ninja: no work to do.",
        source="FlashInfer 0.7.2: jit/cpp_ext.py; tvm-ffi 0.1.11: cpp/extension.py",
    ),
    Signature(
        pattern=r"^FAILED: (?!\[code=137\])",
        rank="wrapper",
        example="FAILED: [code=1] silu_and_mul.cuda.o ",
        look_alike="FAILED: [code=137] gemm_grouped_sm120.cuda.o",
        source="ninja 1.13, FlashInfer 0.7.2 with CUDA_HOME at the wheels of CUDA 13.0",
    ),
    Signature(
        pattern=r"collect2: (?:fatal )?error: ld returned|clang(?:\+\+)?: error: linker command failed"
        r"|Ptx assembly aborted due to errors|compilation terminated\.$",
        rank="wrapper",
        example="collect2: error: ld returned 1 exit status",
        look_alike="/usr/bin/ld: cannot find -lcudart: No such file or directory",
        source="gcc 12, clang, ptxas 13.0",
    ),
    Signature(
        pattern=r"Error building extension '|subprocess\.CalledProcessError: Command |Internal Triton PTX codegen error"
        r"|`ptxas` failed with error code",
        rank="wrapper",
        example="RuntimeError: Error building extension 'rope': [1/2] /usr/local/cuda/bin/nvcc",
        look_alike="Building extension module rope...",
        source="torch 2.13: utils/cpp_extension.py; triton 3.8.0: backends/nvidia/compiler.py",
    ),
    Signature(
        pattern=r"^gmake.*\bError \d+$|^make(?:\[\d+\])?: \*\*\* .*Error \d+",
        rank="wrapper",
        example="make[2]: *** [CMakeFiles/common_ops.dir/build.make:76: gemm.cu.o] Error 1",
        look_alike="make[2]: Leaving directory '/sgl-kernel/build'",
        source="GNU make 4.3",
    ),
]
