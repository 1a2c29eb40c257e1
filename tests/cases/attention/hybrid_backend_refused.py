"""Cases of attention.hybrid-backend-refused."""

from tests.builders import snapshot
from tests.cases.harness import an_error, broken, healthy, look_alike, not_applicable, unknown
from tests.models import QWEN3_32B, QWEN3_NEXT_80B
from tests.servers import NO_CONFIG, QWEN35_VL, asked

CHECK = "attention.hybrid-backend-refused"

CASES = [
    healthy("SGLang's own choice", snapshot(), request=asked(of=QWEN3_NEXT_80B)),
    healthy("SGLang's own choice on B200", snapshot(), request=asked(of=QWEN35_VL, gpu="10.0")),
    healthy("triton", snapshot(), request=asked("--attention-backend triton", of=QWEN35_VL)),
    broken(
        "fa4 on SM120",
        snapshot(),
        an_error("Qwen3NextForCausalLM on 12.0", "refuses attention backend fa4", "triton, trtllm_mha, flashinfer"),
        request=asked("--attention-backend fa4", of=QWEN3_NEXT_80B),
    ),
    look_alike("fa4 on SM120 with 0.5.12, where another check knows that it fails", snapshot(),
               request=asked("--attention-backend fa4", sglang="0.5.12", of=QWEN3_NEXT_80B)),
    look_alike("fa4 on B200", snapshot(), request=asked("--attention-backend fa4", gpu="10.0", of=QWEN3_NEXT_80B)),
    broken(
        "fa3 on B200, behind the text model of a multimodal one",
        snapshot(),
        an_error("Qwen3_5ForConditionalGeneration on 10.0", "refuses attention backend fa3"),
        request=asked("--attention-backend fa3", sglang="0.5.12", gpu="10.0", of=QWEN35_VL),
    ),
    broken(
        "flashinfer on B200 with 0.5.18",
        snapshot(),
        an_error("Qwen3NextForCausalLM on 10.0", "refuses attention backend flashinfer"),
        request=asked("--attention-backend flashinfer", sglang="0.5.18", gpu="10.0", of=QWEN3_NEXT_80B),
    ),
    broken(
        "decode alone is refused from 0.5.18 on",
        snapshot(),
        an_error("Qwen3NextForCausalLM on 12.0", "refuses attention backend fa4"),
        request=asked("--attention-backend flashinfer --decode-attention-backend fa4", of=QWEN3_NEXT_80B),
    ),
    look_alike(
        "decode alone is not looked at before",
        snapshot(),
        request=asked(
            "--attention-backend flashinfer --decode-attention-backend fa3", sglang="0.5.12", of=QWEN3_NEXT_80B
        ),
    ),
    broken(
        "trtllm_mha without a state buffer",
        snapshot(),
        an_error("Qwen3NextForCausalLM on 12.0", "no_buffer"),
        request=asked("--attention-backend trtllm_mha --mamba-radix-cache-strategy no_buffer", of=QWEN3_NEXT_80B),
    ),
    look_alike(
        "trtllm_mha without a state buffer and without a radix cache",
        snapshot(),
        request=asked(
            "--attention-backend trtllm_mha --mamba-radix-cache-strategy no_buffer --disable-radix-cache",
            of=QWEN3_NEXT_80B,
        ),
    ),
    look_alike("a backend that is refused, on Hopper", snapshot(),
               request=asked("--attention-backend fa3", gpu="9.0", of=QWEN3_NEXT_80B)),
    unknown("the model cannot be read", snapshot(), request=asked(of=NO_CONFIG)),
    unknown("an SGLang newer than the tables", snapshot(), request=asked(sglang="0.7.0", of=QWEN3_NEXT_80B)),
    not_applicable("an ordinary model", snapshot(), request=asked("--attention-backend fa3", of=QWEN3_32B)),
    not_applicable("no model", snapshot(), request=asked("--attention-backend fa3")),
]  # fmt: skip
