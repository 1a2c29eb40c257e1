"""What official releases install beside each other: complete sets of pins, each from the metadata of its wheels."""

from __future__ import annotations

from typing import Any

from sm120kit.snapshot.types.jit import BuiltModules
from sm120kit.snapshot.types.machine import Mount, PciPath
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import (
    CU13,
    driver,
    flashinfer,
    gpu,
    host,
    known,
    packages,
    probe,
    sglang,
    shared_object,
    snapshot,
    toolkit,
    torch_build,
    torch_extensions,
    triton,
)

CUDA_13 = {"nvidia_cuda_runtime": "13.0.96", "nvidia_cuda_nvcc": "13.0.88", "nvidia_nvjitlink": "13.0.88"}

TORCH_2_11 = {
    "torch": "2.11.0", "triton": "3.6.0", "cuda_toolkit": "13.0.2", "cuda_bindings": "13.0.3",
    "nvidia_cudnn_cu13": "9.19.0.56", "nvidia_cusparselt_cu13": "0.8.0", "nvidia_nccl_cu13": "2.28.9",
    "nvidia_nvshmem_cu13": "3.4.5", **CUDA_13,
}  # fmt: skip
"""torch 2.11.0 METADATA."""

TORCH_2_14 = {
    "torch": "2.14.1", "triton": "3.8.0", "cuda_toolkit": "13.0.3", "cuda_bindings": "13.0.3",
    "nvidia_cudnn_cu13": "9.24.0.43", "nvidia_cusparselt_cu13": "0.8.1", "nvidia_nccl_cu13": "2.30.7",
    "nvidia_nvshmem_cu13": "3.4.5", **CUDA_13,
}  # fmt: skip
"""torch 2.14.1 METADATA."""

TORCH_2_10 = {
    "torch": "2.10.0", "triton": "3.6.0", "nvidia_cuda_runtime_cu12": "12.8.90", "nvidia_cuda_nvrtc_cu12": "12.8.93",
    "nvidia_cudnn_cu12": "9.10.2.21", "nvidia_cublas_cu12": "12.8.4.1", "nvidia_nccl_cu12": "2.27.5",
    "nvidia_nvjitlink_cu12": "12.8.93", "nvidia_nvshmem_cu12": "3.4.5",
}  # fmt: skip
"""torch 2.10.0 METADATA."""

SGLANG = {
    "0.5.11": {
        **TORCH_2_11, "sglang": "0.5.11", "sglang_kernel": "0.4.2", "flashinfer_python": "0.6.8.post1",
        "flashinfer_cubin": "0.6.8.post1", "nvidia_cutlass_dsl": "4.4.2", "apache_tvm_ffi": "0.1.9",
        "torchaudio": "2.11.0", "torchvision": "0.26.0", "transformers": "5.6.0", "xgrammar": "0.1.32",
        "cuda_python": "13.0.3", "flash_attn_4": "4.0.0b9", "torchao": "0.17.0", "ninja": "1.13.0",
    },
    "0.5.12": {
        **TORCH_2_11, "sglang": "0.5.12", "sglang_kernel": "0.4.2.post2", "flashinfer_python": "0.6.11.post1",
        "flashinfer_cubin": "0.6.11.post1", "nvidia_cutlass_dsl": "4.5.0", "apache_tvm_ffi": "0.1.9",
        "torchaudio": "2.11.0", "torchvision": "0.26.0", "transformers": "5.6.0", "xgrammar": "0.2.0",
        "cuda_python": "13.0.3", "flash_attn_4": "4.0.0b9", "sgl_deep_gemm": "0.1.0", "tilelang": "0.1.8",
        "tokenspeed_mla": "0.1.1", "torchao": "0.17.0", "ninja": "1.13.0",
    },
    "0.5.23": {
        **TORCH_2_14, "sglang": "0.5.23", "sglang_kernel": "0.4.10", "flashinfer_python": "0.7.2",
        "nvidia_cutlass_dsl": "4.8.0", "apache_tvm_ffi": "0.1.11", "torchaudio": "2.11.0", "torchvision": "0.29.1",
        "transformers": "5.19.0", "tokenizers": "0.23.2", "xgrammar": "0.2.7", "cuda_python": "13.0.3",
        "flash_attn_4": "4.0.0b18", "sgl_deep_gemm": "0.2.3.post2", "sgl_flash_mla": "1.0.0",
        "sgl_deep_ep": "0.1.2.post1", "tilelang": "0.1.12", "quack_kernels": "0.6.5", "ninja": "1.13.0",
    },
}  # fmt: skip
"""METADATA of sglang 0.5.11, 0.5.12 and 0.5.23; what they leave open (torchvision, ninja, cuda-python) as resolved."""

VLLM = {
    **TORCH_2_10, "vllm": "0.17.0", "flashinfer_python": "0.6.4", "torchaudio": "2.10.0", "torchvision": "0.25.0",
    "nvidia_cutlass_dsl": "4.4.1", "ninja": "1.13.0",
}  # fmt: skip
"""METADATA of vllm 0.17.0."""


def sglang_stack(version: str, **changes: Any) -> Snapshot:
    """That release on one RTX PRO 6000 with a whole toolkit 13.0 from wheels."""
    installed = SGLANG[version]
    flashinfer_version, kernels = installed["flashinfer_python"], installed["sglang_kernel"]
    made: dict[str, Any] = {
        "distributions": packages(**installed),
        "torch": torch_build(f"{installed['torch']}+cu130", "13.0"),
        "consumers": (
            flashinfer(
                flashinfer_version.partition(".post")[0], distribution=f"flashinfer-python {flashinfer_version}"
            ),
            sglang(version),
            triton(installed["triton"]),
            torch_extensions(installed["torch"]),
        ),
        "shared_objects": (
            shared_object("torch/lib/libtorch_cuda.so", f"torch {installed['torch']}", undefined=None),
            shared_object(owner=f"sglang-kernel {kernels}"),
            shared_object("sgl_kernel/sm90/common_ops.abi3.so", f"sglang-kernel {kernels}", role="hopper"),
            shared_object("torchvision/_C.so", f"torchvision {installed['torchvision']}"),
            shared_object("torchaudio/lib/libtorchaudio.so", "torchaudio 2.11.0", role="on-demand"),
            *(
                [shared_object("deep_gemm/_C.so", f"sgl-deep-gemm {installed['sgl_deep_gemm']}", role="on-demand")]
                if "sgl_deep_gemm" in installed
                else []
            ),
        ),
        "environment": {"HOME": "/home/me", "PATH": "/srv/venv/bin:/usr/bin"},
    }
    return snapshot(**{**made, **changes})


SERVERS: dict[str, Snapshot] = {
    **{f"SGLang {version}, as pip resolves it": sglang_stack(version) for version in SGLANG},
    "SGLang 0.5.23 with prebuilt FlashInfer for CUDA 13.0": sglang_stack(
        "0.5.23", distributions=packages(**SGLANG["0.5.23"], flashinfer_jit_cache="0.7.2+cu130")
    ),
    "SGLang in an LXC container with eight GPUs, a warm cache, models on NFS": sglang_stack(
        "0.5.23",
        driver=driver(gpus=tuple(gpu(index) for index in range(8))),
        host=host(
            container=known("lxc"),
            slow_mounts=(Mount("/models", "nfs4"),),
            pci_paths=tuple(PciPath(f"0000:{bus:02x}:00.0", known("identity"), known(())) for bus in range(8)),
        ),
        environment={
            "HOME": "/home/me",
            "PATH": "/srv/venv/bin:/usr/bin",
            "FLASHINFER_CUDA_ARCH_LIST": "12.0f",
            "LD_LIBRARY_PATH": "/usr/local/nvidia/lib64",
            "TRITON_PTXAS_BLACKWELL_PATH": f"{CU13}/bin/ptxas",
        },
        loader_dirs=("/usr/local/nvidia/lib64",),
        built_modules=(
            BuiltModules("flashinfer", "/home/me/.cache/flashinfer/0.7.2/120f/cached_ops", CU13, 9, known(CU13)),
        ),
    ),
    "a vLLM venv": snapshot(
        distributions=packages(**VLLM),
        torch=torch_build("2.10.0+cu128", "12.8"),
        toolkits=(toolkit("/usr/local/cuda-12.9", "12.9", layout="system", cccl="2.8.0", gcc=14, clang=19),),
        consumers=(flashinfer("0.6.4", "/usr/local/cuda-12.9"), triton("3.6.0")),
        link_probes=(probe("/usr/local/cuda-12.9"),),
        shared_objects=(
            shared_object("torch/lib/libtorch_cuda.so", "torch 2.10.0", undefined=None),
            shared_object("vllm/_C.abi3.so", "vllm 0.17.0"),
            shared_object("vllm/_moe_C.abi3.so", "vllm 0.17.0"),
        ),
    ),
}
"""Servers that work, with everything that they bring."""

DUE_WARNINGS = {"SGLang 0.5.12, as pip resolves it": [("wheels.known-bad", "nvidia-cutlass-dsl 4.5.0")]}
"""Warnings that are true of them: SGLang 0.5.12 itself pins the CuTe DSL that is faulty on SM12x."""
