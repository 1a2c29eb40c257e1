"""Cases of attention.backend-unsupported."""

from sm120kit.snapshot.facts import Unknown
from tests.builders import distribution, driver, known, snapshot
from tests.cases.harness import an_error, broken, healthy, look_alike, not_applicable, unknown
from tests.models import DEEPSEEK_V3, QWEN3_32B
from tests.servers import GPT_OSS, NO_CONFIG, QWEN35_VL, asked

CHECK = "attention.backend-unsupported"

NO_DRIVER = driver(gpus=())
BARE = snapshot(distributions=known((distribution("torch", "2.14.1"),)))
WITHOUT_FLASHINFER = snapshot(distributions=known((distribution("sglang", "0.5.23"), distribution("torch", "2.14.1"))))

CASES = [
    healthy("an ordinary model on SGLang's own choice", BARE, request=asked(of=QWEN3_32B)),
    healthy("flashinfer asked for", BARE, request=asked("--attention-backend flashinfer", of=QWEN3_32B)),
    healthy("MLA on SM120 gets triton by itself", BARE, request=asked(of=DEEPSEEK_V3)),
    healthy("attention sinks get triton by themselves", BARE, request=asked(of=GPT_OSS, sglang="0.5.12")),
    healthy("without flashinfer triton is chosen", WITHOUT_FLASHINFER, request=asked(of=QWEN3_32B)),
    healthy("trtllm_mla on B200", BARE, request=asked("--attention-backend trtllm_mla", gpu="10.0", of=DEEPSEEK_V3)),
    healthy("no launch line, a model alone, on the installed SGLang", WITHOUT_FLASHINFER,
            request=asked(None, of=QWEN3_32B)),
    broken(
        "fa3 on SM120",
        BARE,
        an_error("fa3 on 12.0", "prefill and decode", "weights are loaded already", "--attention-backend fa3", "12.0"),
        request=asked("--attention-backend fa3", sglang="0.5.12"),
    ),
    broken(
        "fa3 by its prefix, on B200",
        BARE,
        an_error("fa3 on 10.0", "--attention-b fa3"),
        request=asked("--attention-b fa3", gpu="10.0"),
    ),
    broken(
        "fa4 on SM120 before its own kernels",
        BARE,
        an_error("fa4 on 12.0", "its first kernel fails", "Paged KV not supported"),
        request=asked("--attention-backend fa4", sglang="0.5.12", of=QWEN3_32B),
    ),
    look_alike("fa4 on SM120 with its own kernels", BARE, request=asked("--attention-backend fa4", of=QWEN3_32B)),
    broken(
        "trtllm_mha for prefill on SM120 with 0.5.12",
        BARE,
        an_error("trtllm_mha on 12.0", "does not serve prefill on", "while it reads its arguments"),
        request=asked("--attention-backend trtllm_mha", sglang="0.5.12", of=QWEN3_32B),
    ),
    look_alike(
        "trtllm_mha for decode alone on SM120 with 0.5.12",
        BARE,
        request=asked(
            "--attention-backend flashinfer --decode-attention-backend trtllm_mha", sglang="0.5.12", of=QWEN3_32B
        ),
    ),
    look_alike(
        "trtllm_mha for both on SM120 from 0.5.19 on",
        BARE,
        request=asked("--attention-backend trtllm_mha", sglang="0.5.19", of=QWEN3_32B),
    ),
    broken(
        "trtllm_mha on SM120 with fp8 KV",
        BARE,
        an_error("trtllm_mha on 12.0", "does not serve prefill on", "fp8_e4m3"),
        request=asked("--attention-backend trtllm_mha --kv-cache-dtype fp8_e4m3", of=QWEN3_32B),
    ),
    broken(
        "trtllm_mla passes SGLang's check on SM120 and fails in its kernel",
        BARE,
        an_error("trtllm_mla on 12.0", "its first kernel fails", "flashinfer#3263"),
        request=asked("--attention-backend trtllm_mla", sglang="0.5.12", of=DEEPSEEK_V3),
    ),
    broken(
        "trtllm_mla fails whatever the model is",
        BARE,
        an_error("trtllm_mla on 12.1"),
        request=asked("--attention-backend trtllm_mla", gpu="12.1"),
    ),
    broken(
        "an MLA backend for a model without MLA",
        BARE,
        an_error("trtllm_mla on 10.0", "can only be used with MLA models"),
        request=asked("--attention-backend trtllm_mla", gpu="10.0", of=QWEN3_32B),
    ),
    broken(
        "flashinfer with attention sinks",
        BARE,
        an_error("flashinfer on 12.0", "GptOssForCausalLM requires"),
        request=asked("--attention-backend flashinfer", of=GPT_OSS),
    ),
    broken(
        "cutlass_mla and flashmla have no kernels for SM120",
        BARE,
        an_error("cutlass_mla on 12.0", "does not serve prefill"),
        an_error("flashmla on 12.0", "does not serve decode"),
        request=asked(
            "--prefill-attention-backend cutlass_mla --decode-attention-backend flashmla",
            sglang="0.5.12",
            of=DEEPSEEK_V3,
        ),
    ),
    broken(
        "cutedsl_mla is given trtllm_mla for prefill, and neither runs on SM120",
        BARE,
        an_error("trtllm_mla on 12.0"),
        an_error("cutedsl_mla on 12.0", "SM100"),
        request=asked("--attention-backend cutedsl_mla", of=DEEPSEEK_V3),
    ),
    broken(
        "tokenspeed_mla without fp8 KV",
        BARE,
        an_error("tokenspeed_mla on 10.0", "fp8_e4m3"),
        request=asked("--attention-backend tokenspeed_mla", sglang="0.5.12", gpu="10.0", of=DEEPSEEK_V3),
    ),
    look_alike(
        "fa3 with e5m2 KV is turned into triton by SGLang itself",
        BARE,
        request=asked("--attention-backend fa3 --kv-cache-dtype fp8_e5m2", of=QWEN3_32B),
    ),
    broken(
        "fa3 for the vision encoder",
        BARE,
        an_error("fa3 for vision on 12.0", "--mm-attention-backend fa3"),
        request=asked("--mm-attention-backend fa3", of=QWEN35_VL),
    ),
    look_alike(
        "a vision backend and a model without eyes", BARE, request=asked("--mm-attention-backend fa3", of=QWEN3_32B)
    ),
    look_alike("fa3 on Hopper", BARE, request=asked("--attention-backend fa3", gpu="9.0", of=QWEN3_32B)),
    unknown("the model decides and is not named", BARE,
            request=asked("--attention-backend trtllm_mla", gpu="10.0")),
    unknown("torch_native was run by nobody", BARE, request=asked("--attention-backend torch_native", of=QWEN3_32B)),
    unknown("an SGLang newer than the tables", BARE, request=asked("--attention-backend fa3", sglang="0.6.0")),
    unknown("settings in a file", BARE, request=asked("--config server.yaml", of=QWEN3_32B)),
    unknown("the model cannot be read", BARE, request=asked(of=NO_CONFIG)),
    unknown("a model class with rules of its own", BARE,
            request=asked(of={**QWEN3_32B, "architectures": ["MiniMaxM3SparseForCausalLM"]})),
    not_applicable("nothing was asked for", BARE),
    not_applicable("no GPU is known", snapshot(driver=NO_DRIVER), request=asked("--attention-backend fa3", gpu="")),
    not_applicable("a model, and no SGLang installed or named", snapshot(distributions=Unknown("not listed")),
                   request=asked(None, of=QWEN3_32B)),
]  # fmt: skip
