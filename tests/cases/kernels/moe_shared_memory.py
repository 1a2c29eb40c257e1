"""Cases of kernels.moe-shared-memory."""

from tests.builders import snapshot
from tests.cases.harness import an_error, broken, healthy, look_alike, not_applicable, unknown
from tests.models import DEEPSEEK_V3, QWEN3_32B, QWEN3_NEXT_80B
from tests.servers import FP8_EXPERTS, NO_CONFIG, NVFP4_EXPERTS, asked

CHECK = "kernels.moe-shared-memory"
GLM_SHAPE = {"num_experts": 160, "n_shared_experts": 1, "moe_intermediate_size": 1536}

CASES = [
    broken(
        "FP8 experts with one scale for a channel on SM120",
        snapshot(),
        an_error("Qwen3MoeForCausalLM on 12.0", "147456", "101376", "(4 - 1) x (128 + 256) x 128"),
        request=asked(sglang="0.5.12", of=FP8_EXPERTS),
    ),
    broken(
        "the same on an L40S",
        snapshot(),
        an_error("Qwen3MoeForCausalLM on 8.9", "101376"),
        request=asked("--moe-runner-backend triton", sglang="0.5.13.post1", gpu="8.9", of=FP8_EXPERTS),
    ),
    healthy("0.5.14 asks the GPU", snapshot(), request=asked(sglang="0.5.14", of=FP8_EXPERTS)),
    healthy("experts in blocks of 128 x 128", snapshot(), request=asked(sglang="0.5.12", of=DEEPSEEK_V3)),
    look_alike("experts in 16 bits", snapshot(), request=asked(sglang="0.5.12", of=QWEN3_NEXT_80B)),
    look_alike("experts in NVFP4", snapshot(), request=asked(sglang="0.5.12", of=NVFP4_EXPERTS)),
    look_alike("a GPU with enough", snapshot(), request=asked(sglang="0.5.12", gpu="10.0", of=FP8_EXPERTS)),
    look_alike("another MoE kernel", snapshot(),
               request=asked("--moe-runner-backend cutlass", sglang="0.5.12", of=FP8_EXPERTS)),
    look_alike("deterministic inference takes small blocks", snapshot(),
               request=asked("--enable-deterministic-inference", sglang="0.5.12", of=FP8_EXPERTS)),
    unknown("a shape that is tuned for one product", snapshot(),
            request=asked("--tp 4", sglang="0.5.12", of={**FP8_EXPERTS, **GLM_SHAPE})),
    unknown("a folder of tuned configurations", snapshot(environment={"SGLANG_MOE_CONFIG_DIR": "/srv/moe"}),
            request=asked(sglang="0.5.12", of=FP8_EXPERTS)),
    unknown("a GPU that the table does not know", snapshot(),
            request=asked(sglang="0.5.12", gpu="11.0", of=FP8_EXPERTS)),
    not_applicable("a model without experts", snapshot(), request=asked(sglang="0.5.12", of=QWEN3_32B)),
    not_applicable("a model that cannot be read", snapshot(), request=asked(sglang="0.5.12", of=NO_CONFIG)),
    not_applicable("nothing was asked for", snapshot()),
]  # fmt: skip
