"""docs/compatibility.md: which release goes with which, from checks/tables/*.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from sm120kit.diagnosis.asked import KnownVersion
from sm120kit.diagnosis.attention import Phase, Question, ask
from sm120kit.diagnosis.tables import read_table
from sm120kit.engines.sglang import flag_table

TABLES = Path(__file__).resolve().parent.parent / "checks" / "tables"

Columns = Mapping[str, str]

SECTIONS: Sequence[tuple[str, str, Columns]] = (
    (
        "GPUs",
        "gpus",
        {"product": "GPU", "name": "for `--gpu`", "compute_capability": "capability", "memory_mib": "MiB"},
    ),
    (
        "Which CUDA release compiles for which GPU",
        "architectures",
        {
            "compute_capability": "capability",
            "first": "first release",
            "without": "last without",
            "last": "last with it",
            "specific": "`a` form from",
            "family": "`f` form from",
        },
    ),
    (
        "Wheels of one CUDA release",
        "toolkit_releases",
        {
            "release": "CUDA",
            "cuda_toolkit": "cuda-toolkit",
            "nvcc": "nvcc",
            "runtime": "runtime",
            "cccl_package": "cccl",
            "cccl_version": "CCCL inside",
            "ptx": "PTX",
            "launch_arguments": "arguments of __cudaLaunch",
        },
    ),
    ("Oldest driver", "drivers", {"cuda": "CUDA", "family": "GPU", "minimum": "driver"}),
    ("CUDA release that a driver serves", "driver_cuda", {"driver": "driver", "cuda": "CUDA"}),
    (
        "GPUs that a torch wheel holds code for",
        "torch_wheels",
        {"torch": "torch", "cuda": "CUDA", "machine": "machine", "architectures": "architectures"},
    ),
    (
        "The ptxas that Triton brings",
        "triton_ptxas",
        {
            "since": "Triton from",
            "ptxas": "ptxas",
            "capabilities": "Blackwell it knows",
            "variable": "variable that names another",
            "newest_major": "newest CUDA major",
        },
    ),
    (
        "CUDA release that FlashInfer asks for",
        "flashinfer_rules",
        {"since": "FlashInfer from", "floor_12_0": "for 12.0", "floor_12_1": "for 12.1", "companions": "companions"},
    ),
    ("Kernel packages of SGLang", "sglang_kernels", {"sglang": "SGLang", "package": "package", "version": "version"}),
    (
        "CUDA major of the kernel packages on PyPI",
        "kernel_wheels",
        {"package": "package", "first": "from", "last": "to", "cuda": "CUDA"},
    ),
    (
        "Least versions that SGLang asks for at its start",
        "sglang_minimums",
        {"package": "package", "minimum": "least", "first": "SGLang from", "last": "to", "only_with": "only with"},
    ),
    (
        "Attention backends of hybrid Gated-DeltaNet models on Blackwell",
        "hybrid_backends",
        {"first": "SGLang from", "last": "to", "capabilities": "capability", "allowed": "allowed"},
    ),
    (
        "Kernels that a GPU has or lacks",
        "kernel_choices",
        {
            "setting": "setting",
            "values": "values",
            "capabilities": "capability",
            "weights": "weights",
            "last": "SGLang to",
            "verdict": "verdict",
            "says": "why",
            "instead": "instead",
        },
    ),
    (
        "Flags of SGLang that went",
        "sglang_renames",
        {"flag": "flag", "instead": "instead", "text": "what to know"},
    ),
    (
        "Flags of vLLM that SGLang does not know",
        "vllm_flags",
        {"flag": "vLLM's flag", "instead": "SGLang's", "text": "what to know"},
    ),
    ("Packages that were renamed", "renamed_packages", {"old": "old", "new": "new", "package": "import name"}),
    (
        "Known bad",
        "known_bad",
        {"package": "package", "first": "from", "last": "to", "effect": "what happens", "remedy": "remedy"},
    ),
)
"""Title, table and shown columns with their headings. Each row's source is always the last column."""

CAPABILITIES = ("9.0", "10.0", "10.3", "11.0", "12.0", "12.1")

_HEAD = """# Compatibility

Made from `checks/tables/*.toml`, which the checks read: what is said here is what the doctor says. Every row has its
source; an empty cell says that nothing is known, or that there is no bound. Compute capability 12.0 is RTX PRO 6000
Blackwell and RTX 5090, 12.1 DGX Spark, 10.0 B200, 10.3 B300, 11.0 Jetson Thor.

Tables that only computations read are not shown:
{others}.
"""

_ATTENTION = """
## Attention backends

From [attention_backends.toml](../checks/tables/attention_backends.toml), for a KV cache of the model's own type;
prefill and decode apart where they differ. What was read are the wheels of SGLang {oldest} to {newest}
([sglang_versions.toml](../checks/tables/sglang_versions.toml)). For one launch line
`sm120kit doctor --sglang VERSION --gpu SPEC -- --attention-backend NAME` answers, with the reason.
"""


def compatibility_page() -> str:
    """The page."""
    shown = {table for _, table, _ in SECTIONS} | {"attention_backends", "sglang_versions"}
    others = sorted(path.stem for path in TABLES.glob("*.toml") if path.stem not in shown)
    text = _HEAD.format(others=", ".join(others))
    for title, table, columns in SECTIONS:
        text += f"\n## {title}\n\n{_from(table)}\n\n{_table(table, columns)}"
    return text + _attention()


def _from(table: str) -> str:
    return f"From [{table}.toml](../checks/tables/{table}.toml)."


def _table(table: str, columns: Columns) -> str:
    rows = msgspec.toml.decode((TABLES / f"{table}.toml").read_bytes())["row"]
    shown = {**columns, "source": "source"}
    return _markdown([*shown.values()], [[_cell(row.get(name, "")) for name in shown] for row in rows])


def _attention() -> str:
    """Matrices for the newest SGLang and for 0.5.12, by the model's kind of attention."""
    known = [row.version for row in read_table("sglang_versions", KnownVersion)]
    text = _ATTENTION.format(oldest=known[0], newest=known[-1])
    for version in ("0.5.12", known[-1]):
        backends = flag_table(version).flags["--attention-backend"].choices
        for kind, title in (("mha", "multi-head and grouped-query attention"), ("mla", "MLA")):
            rows = [[name, *(_verdict(name, version, at, kind) for at in CAPABILITIES)] for name in backends]
            untold = [name for name, *cells in rows if set(cells) == {"?"}]
            text += f"\n### SGLang {version}, models with {title}\n\n"
            text += _markdown(["backend", *CAPABILITIES], [row for row in rows if row[0] not in untold])
            text += f"\nNothing is known about {', '.join(untold)}.\n" if untold else ""
    return text


def _verdict(backend: str, version: str, capability: str, kind: str) -> str:
    words = {"works": "works", "fails": "fails", "unknown": "?"}
    phases: tuple[Phase, ...] = ("prefill", "decode")
    told = [words[ask(Question(backend, version, capability, phase, kind)).verdict] for phase in phases]
    return told[0] if told[0] == told[1] else f"prefill {told[0]}, decode {told[1]}"


def _cell(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")
    return text.replace("|", "\\|")


def _markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
