"""nvcc on aarch64 stumbles over vector types of the host's compiler

## What it finds
Builds on ARM machines (GB10, GB200, Thor) that stop at types such as `__SVFloat64_t`.

## Why it matters
Headers of glibc and gcc declare vector types that the front end of nvcc does not know, so even CMake's test of the
compiler fails, and it says that the CUDA compiler is broken.

## How it is found
By the compiler's words.

## Remedy
Compile with gcc-13 (-ccbin, or CC and CXX), and tell CMake not to test the compiler (CMAKE_CUDA_COMPILER_FORCED=ON).

## Sources
- sgl-project/sglang#18203
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("toolkit.sve-types")

SIGNATURES = [
    Signature(
        pattern=r"error: (?:identifier \"|')(?P<name>__SV\w+_t)(?:\"|') (?:is undefined|was not declared|does not "
        r"name a type)",
        rank="cause",
        example='/usr/include/bits/math-vector.h(71): error: identifier "__SVFloat64_t" is undefined',
        look_alike='main.cu(7): error: identifier "SVFloat64" is undefined',
        source="sgl-project/sglang#18203 (GB10)",
        versions="CUDA 12.8 to 13.0 on aarch64",
        message="nvcc does not know {name}, a vector type of this host's headers",
        remedies=(
            LogRemedy("Compile with an older host compiler", ("export CC=gcc-13 CXX=g++-13",)),
            LogRemedy("With CMake also skip its test of the compiler", ("cmake -DCMAKE_CUDA_COMPILER_FORCED=ON ...",)),
        ),
    ),
]
