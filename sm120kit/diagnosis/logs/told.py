"""What a log tells beside its faults: versions, the command line, and what the server was asked for."""

from __future__ import annotations

import re

from sm120kit.diagnosis.logs.types import SeenVersion
from sm120kit.redaction import redacted

_VERSION = r"v?(\d+\.\d+(?:\.\d+)*(?:\.?(?:post|dev|rc|a|b)\d+)?(?:\+[\w.]+)?)"

_PACKAGES = {
    "sglang": "sglang",
    "torch": "torch",
    "pytorch": "torch",
    "triton": "triton",
    "flashinfer-python": "flashinfer-python",
    "flashinfer": "flashinfer-python",
    "flashinfer-cubin": "flashinfer-cubin",
    "flashinfer-jit-cache": "flashinfer-jit-cache",
    "sglang-kernel": "sglang-kernel",
    "sgl-kernel": "sgl-kernel",
    "transformers": "transformers",
    "vllm": "vllm",
}
"""How logs call a package, in lower case and with hyphens, and its name."""

_NAMES = "|".join(sorted((name.replace("-", "[-_]") for name in _PACKAGES), key=len, reverse=True))
_NAMED = re.compile(
    rf"(?<![\w/.-])({_NAMES})(?:==|:\s+|\s+version:?\s+|-(?=\d[\w.+]*\.dist-info)|/(?=\d+\.\d+\.\d))"
    rf"{_VERSION}(?![\w.]*\s*(?:is required|or))",
    re.IGNORECASE,
)

_OTHERS = (
    ("nvcc", re.compile(rf"Cuda compilation tools, release [\d.]+, V{_VERSION}")),
    ("nvcc", re.compile(rf"(?<=/usr/local/cuda-){_VERSION}(?=/bin/nvcc)")),
    ("driver", re.compile(rf"(?:NVIDIA-SMI|(?:CUDA )?Driver Version:?|Kernel Module(?: for \w+)?)\s+{_VERSION}")),
    ("flashinfer-python", re.compile(rf"(?<=\.cache/flashinfer/){_VERSION}(?=/)")),
    ("python", re.compile(r"/lib/python(3\.\d+)/")),
)

_FORMS = (("sglang", "0.5.12", "server_args=ServerArgs("), ("sglang", "0.5.23", "server_args={"))
"""Texts that one version writes and another writes otherwise."""

WITH_FORM = frozenset(version for _, version, _ in _FORMS)
"""Versions whose form is known; those between them write one of these."""

WORDS = (
    "args", "compilation", "driver", "nvidia", "sglang", "torch", "triton", "flashinfer", "transformers", "vllm",
)  # fmt: skip
"""Words, or parts of them, that such lines hold."""

_COMMAND = re.compile(
    r"((?:[\w./-]*python[\d.]*\s+-m\s+sglang\.launch_server|sglang\s+serve|vllm\s+serve|"
    r"[\w./-]*python[\d.]*\s+-m\s+vllm\.entrypoints\S*)\s+(?!<)[^'\"<>\[\]]*--\w[^<>]*)"
)

ARGUMENTS = (
    "model_path", "quantization", "dtype", "kv_cache_dtype", "tp_size", "dp_size", "pp_size", "attention_backend",
    "prefill_attention_backend", "decode_attention_backend", "moe_runner_backend", "mem_fraction_static",
    "max_running_requests", "max_total_tokens", "context_length", "chunked_prefill_size", "cuda_graph_max_bs",
    "cuda_graph_max_bs_decode", "node_rank", "max_mamba_cache_size", "mamba_full_memory_ratio", "speculative_algorithm",
)  # fmt: skip
"""Settings of a server that are read, which templates may name."""

_ARGUMENT = re.compile(rf"(?<![\w'])'?({'|'.join(ARGUMENTS)})'?(?:=|: )('[^']*'|[^,)}}\s]+)")

_LONGEST_COMMAND = 4000
_MOST_VERSIONS = 40


class Told:
    """Collects what lines tell, the first of each kind."""

    def __init__(self) -> None:
        self.command = ""
        self.arguments: dict[str, str] = {}
        self._versions: dict[str, SeenVersion] = {}
        self._forms: dict[str, SeenVersion] = {}

    @property
    def versions(self) -> tuple[SeenVersion, ...]:
        """Versions by package: one that is told, else one whose form the log has."""
        return tuple(self._versions.values()) + tuple(
            form for package, form in self._forms.items() if package not in self._versions
        )

    def version_of(self, package: str) -> SeenVersion | None:
        """The version of one package."""
        return self._versions.get(package) or self._forms.get(package)

    def read(self, number: int, text: str) -> None:
        """Take in one line."""
        if "server_args=" in text:
            self._read_arguments(number, text)
            return
        for match in _NAMED.finditer(text):
            self._see(_PACKAGES[match[1].lower().replace("_", "-")], match[2], number)
        for package, told_by in _OTHERS:
            told = told_by.search(text)
            if told:
                self._see(package, told[1], number)
        command = None if self.command or "<model>" in text else _COMMAND.search(text)
        if command:
            self.command = redacted(command[1].strip())[:_LONGEST_COMMAND]

    def _see(self, package: str, version: str, number: int) -> None:
        if len(self._versions) < _MOST_VERSIONS:
            self._versions.setdefault(package, SeenVersion(package, version, number))

    def _read_arguments(self, number: int, text: str) -> None:
        for package, version, form in _FORMS:
            if form in text:
                self._forms.setdefault(package, SeenVersion(package, version, number, exact=False))
        for name, value in _ARGUMENT.findall(text):
            if value != "None":
                self.arguments.setdefault(name, redacted(value.strip("'")))
