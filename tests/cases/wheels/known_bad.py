"""Cases of wheels.known-bad."""

from sm120kit.diagnosis.case import Request
from sm120kit.snapshot.facts import Unknown
from tests.builders import driver, gpu, host_without_gpu, no_driver, packages, snapshot
from tests.cases.harness import a_note, a_warning, broken, healthy, look_alike, unknown
from tests.models import QWEN3_32B
from tests.servers import QWEN35_VL, model

CHECK = "wheels.known-bad"

_H200 = driver(gpus=(gpu(name="NVIDIA H200", cc="9.0"),))

CASES = [
    healthy("nothing of the table", snapshot(distributions=packages(sglang="0.5.23", nvidia_cutlass_dsl="4.8.0"))),
    broken(
        "the CuTe DSL that SGLang 0.5.12 pins, on 12.0",
        snapshot(distributions=packages(nvidia_cutlass_dsl="4.5.0", sglang="0.5.12")),
        a_warning("nvidia-cutlass-dsl 4.5.0", "garbage", "NVIDIA/cutlass#3227"),
    ),
    broken(
        "tvm-ffi that FlashInfer excludes",
        snapshot(distributions=packages(apache_tvm_ffi="0.1.8.post0")),
        a_warning("apache-tvm-ffi 0.1.8.post0", "excluded by FlashInfer"),
    ),
    broken(
        "its first release", snapshot(distributions=packages(apache_tvm_ffi="0.1.8")), a_warning("apache-tvm-ffi 0.1.8")
    ),
    broken(
        "torch 2.9.1 with the cuDNN that it pins",
        snapshot(distributions=packages(nvidia_cudnn_cu12="9.10.2.21", torch="2.9.1")),
        a_warning("nvidia-cudnn-cu12 9.10.2.21", "torch 2.9.1", "multimodal"),
    ),
    broken(
        "torch 2.9.1 for CUDA 13 with cuDNN 9.13",
        snapshot(distributions=packages(nvidia_cudnn_cu13="9.13.0.50", torch="2.9.1")),
        a_warning("nvidia-cudnn-cu13 9.13.0.50"),
    ),
    broken(
        "triton 3.7",
        snapshot(distributions=packages(triton="3.7.1")),
        a_note("triton 3.7.1", "from run to run", "3.6.0 does not"),
    ),
    look_alike("the CuTe DSL on 9.0", snapshot(distributions=packages(nvidia_cutlass_dsl="4.5.0"), driver=_H200)),
    look_alike("the fixed CuTe DSL", snapshot(distributions=packages(nvidia_cutlass_dsl="4.5.1"))),
    look_alike("the tvm-ffi after it", snapshot(distributions=packages(apache_tvm_ffi="0.1.8.post2"))),
    look_alike("the tvm-ffi before it", snapshot(distributions=packages(apache_tvm_ffi="0.1.7"))),
    look_alike(
        "the same cuDNN beside torch 2.10",
        snapshot(distributions=packages(nvidia_cudnn_cu12="9.10.2.21", torch="2.10.0")),
    ),
    look_alike(
        "torch 2.9.1 with cuDNN 9.16", snapshot(distributions=packages(nvidia_cudnn_cu12="9.16.0.29", torch="2.9.1"))
    ),
    look_alike(
        "torch 2.9.1 with the cuDNN that it pins, for a text model",
        snapshot(distributions=packages(nvidia_cudnn_cu12="9.10.2.21", torch="2.9.1")),
        request=Request(model=model(QWEN3_32B)),
    ),
    broken(
        "the same for a multimodal one",
        snapshot(distributions=packages(nvidia_cudnn_cu12="9.10.2.21", torch="2.9.1")),
        a_warning("nvidia-cudnn-cu12 9.10.2.21"),
        request=Request(model=model(QWEN35_VL)),
    ),
    look_alike("triton 3.8", snapshot(distributions=packages(triton="3.8.0"))),
    unknown(
        "the GPU is not known",
        snapshot(distributions=packages(nvidia_cutlass_dsl="4.5.0"), host=host_without_gpu(), driver=no_driver()),
    ),
    unknown("the packages cannot be listed", snapshot(distributions=Unknown("permission denied"))),
]
