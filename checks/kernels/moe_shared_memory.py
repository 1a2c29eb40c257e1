"""The MoE kernel asks for more shared memory than this GPU has: "out of resource: shared memory"

## What it finds
A mixture-of-experts model in FP8 with one scale for a tensor or channel, an SGLang whose default blocks for it need
147456 bytes of shared memory, and a GPU that gives 101376 (compute capability 12.x, and 8.6 and 8.9).

## Why it matters
Triton stops with `out of resource: shared memory, Required: 147456, Hardware limit: 101376`. Up to as many tokens as
there are experts smaller blocks are taken, so the server starts, answers single short requests, and fails at the first
long prompt or the second concurrent one.

## How it is found
The size follows from the default block sizes of the version: (stages - 1) x (block_m + block_n) x block_k. A tuned
configuration takes their place only for the shapes and the very product that it was made for. FP8 in blocks of
128 x 128, as DeepSeek and Qwen publish it, needs a third of that and is healthy. From 0.5.14 on SGLang asks the GPU
and takes smaller blocks.

## Remedy
SGLang 0.5.14 or later; or a tuned configuration with fewer stages in the folder that SGLANG_MOE_CONFIG_DIR names.

## Sources
- checks/tables/moe_blocks.toml, shared_memory.toml, moe_tuned.toml
- sgl-project/sglang#28019, #28038, #21782; triton-lang/triton#8182
"""

from collections.abc import Iterator

from sm120kit.diagnosis import (
    CannotTell,
    Case,
    Finding,
    LogRemedy,
    Manual,
    NotApplicable,
    Signature,
    at,
    check,
    error,
)
from sm120kit.diagnosis.asked import Server, reasons_not_to_tell, servers
from sm120kit.diagnosis.kernels import MoeBlock, moe_block, shared_memory, tuned_moe

FOLDER = "SGLANG_MOE_CONFIG_DIR"

SIGNATURES = [
    Signature(
        pattern=r"out of resource: shared memory, Required: (?P<required>\d+), Hardware limit: (?P<limit>\d+)",
        rank="cause",
        example="triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware "
        "limit: 101376. Reducing block sizes or `num_stages` may help.",
        look_alike="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        source="sgl-project/sglang#28019, #28038",
        versions="sglang up to 0.5.13.post1 with FP8 experts; other Triton kernels too",
        message="A Triton kernel asks for {required} bytes of shared memory, and this GPU gives {limit}",
        remedies=(
            LogRemedy(
                "Take an SGLang whose MoE kernel asks the GPU first",
                ('pip install "sglang>=0.5.14"',),
                "sglang",
                last="0.5.13.post1",
            ),
            LogRemedy(f"Give the kernel a tuned configuration with fewer stages, in the folder that {FOLDER} names"),
        ),
    ),
]


@check("kernels.moe-shared-memory", needs="server")
def moe_shared_memory(case: Case) -> Iterator[Finding | CannotTell]:
    asked = list(servers(case))
    if case.model is None:
        raise NotApplicable("no model was given whose config.json can be read (--model DIR)")
    if not case.model.experts:
        raise NotApplicable(f"{case.model.architecture} has no experts")
    for server in asked:
        subject = f"{case.model.architecture} on {server.capability}"
        if why := reasons_not_to_tell(server, case):
            yield CannotTell(subject, why)
            continue
        line, block, limit = server.line, moe_block(server.version, case.model), shared_memory(server.capability)
        if block is None or _takes_another_kernel(server):
            continue
        if limit is None:
            yield CannotTell(subject, f"how much shared memory compute capability {server.capability} has is not known")
        elif block.shared_memory > limit.bytes:
            tuned = tuned_moe(case.model, line.tp_size if line else 1)
            if case.snapshot.environment.get(FOLDER):
                yield CannotTell(subject, f"{FOLDER} names a folder of tuned configurations, which is not read")
            elif tuned:
                yield CannotTell(subject, f"a tuned configuration for this shape is there, for {tuned.device} alone")
            else:
                yield _finding(server, block, limit.bytes, limit.source, subject)


def _takes_another_kernel(server: Server) -> bool:
    """Whether the launch line keeps away from the kernel's default blocks."""
    line = server.line
    if line is None:
        return False
    runner = line.text("moe_runner_backend") or "auto"
    return runner not in ("auto", "triton") or line.switched_on("enable_deterministic_inference")


def _finding(server: Server, block: MoeBlock, limit: int, limit_source: str, subject: str) -> Finding:
    blocks = f"({block.stages} - 1) x ({block.block_m} + {block.block_n}) x {block.block_k}"
    return error(
        subject,
        f"the MoE kernel of SGLang {server.version} asks for {block.shared_memory} bytes of shared memory when "
        f"{block.when}, and compute capability {server.capability} gives {limit}",
        [
            *server.evidence,
            at(f"{blocks} = {block.shared_memory} bytes", block.source),
            at(f"{limit} bytes for a block", limit_source),
        ],
        [
            Manual("Take an SGLang whose MoE kernel asks the GPU first", ('pip install "sglang>=0.5.14"',)),
            Manual(f"Put a tuned configuration with fewer stages into a folder and name it in {FOLDER}"),
        ],
    )
