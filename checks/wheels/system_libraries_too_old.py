"""A library in a wheel needs a newer glibc or libstdc++ than the system has

## What it finds
An extension that the loader refuses since the C or C++ library of the system, or of the environment, is older than the
one that it was built with.

## Why it matters
Wheels from package indexes are built for old systems; those that somebody built at home, on Ubuntu 24.04 for example,
ask for its glibc. Nothing that is installed by pip can make glibc newer.

## How it is found
By the words of the dynamic loader.

## Remedy
For GLIBC: a build for this system (from the package's own index, or from source), or a newer base image. For GLIBCXX
and CXXABI: a newer libstdc++.so.6 that comes first on the loader's path.

## Sources
- Dao-AILab/flash-attention#1708, #1762, #1428; vllm-project/vllm#28612
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("wheels.system-libraries-too-old")

_SAYS = r"^(?:(?:- )?\S*Error: .*|(?:\S+: ){0,2})version [`'](?P<version>"
_BY = r"(?: \(required by (?P<file>[^)]+)\))?"

SIGNATURES = [
    Signature(
        pattern=rf"{_SAYS}GLIBC_[\d.]+)' not found{_BY}",
        rank="cause",
        example="ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found (required by "
        "/usr/local/lib/python3.10/site-packages/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so)",
        look_alike="torchvision/io/image.py:13: UserWarning: Failed to load image Python extension: "
        "'/lib64/libc.so.6: version `GLIBC_2.32' not found (required by image.so)'",
        source="Dao-AILab/flash-attention#1762; vllm-project/vllm#28612",
        message="[[{file}|A library]] needs {version}, and the glibc of this system is older",
        remedies=(
            LogRemedy("See which glibc the system has", ("ldd --version",)),
            LogRemedy("Install a build of that package that was made for this system, or build it here from source"),
            LogRemedy("Use a newer system: a container image on Ubuntu 24.04 has glibc 2.39"),
        ),
    ),
    Signature(
        pattern=rf"{_SAYS}(?:GLIBCXX|CXXABI)_[\d.]+)' not found{_BY}",
        rank="cause",
        example="ImportError: /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by "
        "/srv/venv/lib/python3.12/site-packages/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so)",
        look_alike="checking for GLIBCXX_3.4.29... yes",
        source="Dao-AILab/flash-attention#1428",
        message="[[{file}|A library]] needs {version}, and the libstdc++.so.6 that is loaded is older",
        remedies=(
            LogRemedy(
                "See which one is loaded first: one of conda, or of a folder on LD_LIBRARY_PATH, hides the system's",
                ("printenv LD_LIBRARY_PATH", "ldconfig -p | grep libstdc++"),
            ),
            LogRemedy(
                "Install a newer one",
                ("apt-get install --only-upgrade libstdc++6", "conda install -c conda-forge libstdcxx-ng"),
            ),
        ),
    ),
]
