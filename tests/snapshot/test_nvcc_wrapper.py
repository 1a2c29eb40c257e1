from __future__ import annotations

import pytest

from sm120kit.snapshot.nvcc_wrapper import executed_by


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('#!/bin/sh\nexec /usr/local/cuda-13.0/bin/nvcc "$@"\n', "/usr/local/cuda-13.0/bin/nvcc"),
        ('#!/bin/sh\n\nexec ccache "/opt/c u/bin/nvcc" "$@"\n', "/opt/c u/bin/nvcc"),
        ('#!/bin/bash\n# exec /old/bin/nvcc\n"$CUDA_ROOT"/bin/nvcc -Xfoo "${args[@]}"\n', "/cuda/bin/nvcc"),
        ('#!/bin/sh\nexec ${CUDA_ROOT}/bin/nvcc --allow-unsupported-compiler "$@"\n', "/cuda/bin/nvcc"),
        ('#!/bin/sh\nexec "$(dirname "$0")/../real/nvcc" "$@"\n', ""),
        ('#!/bin/sh\necho "unbalanced nvcc\n', ""),
        ("#!/bin/sh\nexec /bin/nvcc-wrapper\n", ""),
        ("#!/bin/sh\nexec /new/bin/nvcc # was /old/bin/nvcc\n# exec /old/bin/nvcc\n", "/new/bin/nvcc"),
        ("\x7fELF exec /a/bin/nvcc\n", ""),
        ("", ""),
    ],
)
def test_the_nvcc_behind_a_script(script: str, expected: str) -> None:
    assert executed_by(script.encode(), {"CUDA_ROOT": "/cuda"}) == expected
