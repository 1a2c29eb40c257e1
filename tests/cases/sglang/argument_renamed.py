"""Cases of sglang.argument-renamed."""

from tests.builders import snapshot
from tests.cases.harness import a_note, a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown
from tests.models import QWEN3_32B
from tests.servers import asked

CHECK = "sglang.argument-renamed"

CASES = [
    healthy("a line that the version takes", snapshot(), request=asked("--model-path /m --tp 2 --mem-fraction 0.85")),
    broken(
        "an old name",
        snapshot(),
        an_error("--mamba-scheduler-strategy", "it is --mamba-radix-cache-strategy now", "0.5.19 was the last"),
        request=asked("--mamba-scheduler-strategy no_buffer"),
    ),
    look_alike("the old name in an old version", snapshot(),
               request=asked("--mamba-scheduler-strategy no_buffer", sglang="0.5.12")),
    broken(
        "an old name that had become ambiguous",
        snapshot(),
        an_error("--cuda-graph-max-bs", "--cuda-graph-max-bs-decode"),
        request=asked("--cuda-graph-max-bs 16"),
    ),
    broken(
        "a name that is on its way out",
        snapshot(),
        a_warning("--cuda-graph-max-bs", "use --cuda-graph-max-bs-decode"),
        request=asked("--cuda-graph-max-bs 16", sglang="0.5.16"),
    ),
    broken(
        "a name that is not there yet",
        snapshot(),
        an_error("--attn-dp-size", "it came with 0.5.2"),
        request=asked("--attn-dp-size 2", sglang="0.5.12"),
    ),
    broken("a misspelt name", snapshot(), an_error("--max-runing-requests", "did you mean --max-running-requests"),
           request=asked("--max-runing-requests 8")),
    broken("a name of another engine", snapshot(), an_error("--gpu-memory-utilization", "has no flag"),
           request=asked("--gpu-memory-utilization 0.9")),
    broken("a backend that went", snapshot(), an_error("--attention-backend", "cannot be 'cutlass_mla'", "cutedsl_mla"),
           request=asked("--attention-backend cutlass_mla")),
    broken("several at once", snapshot(), an_error("--torchao-config"), an_error("--tp"),
           request=asked("--torchao-config int4wo --tp two")),
    broken("a value of another kind", snapshot(),
           an_error("--tp", "does not take that value: 'banana' is no whole number"), request=asked("--tp banana")),
    broken("given twice", snapshot(), a_note("--tp", "the last one counts"), request=asked("--tp 2 --tp 4")),
    look_alike("a list of many values is given once", snapshot(),
               request=asked("--lora-paths a=/a b=/b --cuda-graph-bs-decode 1 2 4")),
    unknown("a version that the table does not know", snapshot(),
            request=asked("--mamba-scheduler-strategy no_buffer", sglang="0.6.0")),
    unknown("a version that the table does not know, and a line that is good in the newest", snapshot(),
            request=asked("--tp 2", sglang="0.5.23.post1")),
    not_applicable("no launch line", snapshot(), request=asked(None, of=QWEN3_32B)),
]  # fmt: skip
