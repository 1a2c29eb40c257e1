"""Cases of kernels.nvfp4-unsafe."""

from tests.builders import snapshot
from tests.cases.harness import a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown
from tests.models import QWEN3_32B
from tests.servers import FP8_EXPERTS, NVFP4_EXPERTS, asked

CHECK = "kernels.nvfp4-unsafe"
DENSE = {**QWEN3_32B, "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}

CASES = [
    healthy("SGLang's own choice with 0.5.12", snapshot(), request=asked(sglang="0.5.12", of=DENSE)),
    healthy("SGLang's own choice with 0.5.23", snapshot(), request=asked("--tp 2", of=NVFP4_EXPERTS)),
    broken(
        "flashinfer_cutlass with 0.5.12 gives NaN",
        snapshot(),
        an_error("--fp4-gemm-backend flashinfer_cutlass", "gives wrong results", "sglang#20043"),
        request=asked("--fp4-gemm-backend flashinfer_cutlass", sglang="0.5.12", of=DENSE),
    ),
    look_alike("flashinfer_cutlass is the default again from 0.5.13 on", snapshot(),
               request=asked("--fp4-gemm-backend flashinfer_cutlass", sglang="0.5.13", of=DENSE)),
    broken(
        "kernels of B200 on SM120",
        snapshot(),
        an_error("--moe-runner-backend flashinfer_trtllm", "does not run on compute capability 12.0"),
        request=asked("--moe-runner-backend flashinfer_trtllm", of=NVFP4_EXPERTS),
    ),
    look_alike("kernels of B200 on B200", snapshot(),
               request=asked("--moe-runner-backend flashinfer_trtllm", gpu="10.0", of=NVFP4_EXPERTS)),
    look_alike("a MoE kernel for a model without experts", snapshot(),
               request=asked("--moe-runner-backend flashinfer_trtllm", of=DENSE)),
    broken(
        "two settings at once",
        snapshot(),
        an_error("--fp4-gemm-backend flashinfer_trtllm"),
        an_error("--moe-runner-backend flashinfer_cutedsl"),
        request=asked(
            "--fp4-gemm-backend flashinfer_trtllm --moe-runner-backend flashinfer_cutedsl", gpu="12.1", of=NVFP4_EXPERTS
        ),
    ),
    broken(
        "cutlass gave gibberish elsewhere",
        snapshot(),
        a_warning("--moe-runner-backend cutlass", "was seen to give wrong results"),
        request=asked("--moe-runner-backend cutlass", of=NVFP4_EXPERTS),
    ),
    broken(
        "experts too narrow on each GPU",
        snapshot(),
        a_warning("--tp 8", "48 wide", "moe_intermediate_size 384"),
        request=asked("--tp 8", of={**NVFP4_EXPERTS, "moe_intermediate_size": 384}),
    ),
    look_alike("experts as narrow on B200", snapshot(),
               request=asked("--tp 8", gpu="10.0", of={**NVFP4_EXPERTS, "moe_intermediate_size": 384})),
    unknown("an SGLang newer than the tables", snapshot(),
            request=asked("--fp4-gemm-backend flashinfer_cutlass", sglang="0.6.0", of=DENSE)),
    not_applicable("FP8 weights", snapshot(), request=asked("--moe-runner-backend cutlass", of=FP8_EXPERTS)),
    not_applicable("no model", snapshot(), request=asked("--moe-runner-backend cutlass")),
]  # fmt: skip
