"""A server's launch line as data: what was typed, and what its version makes of it.

Made by ``sm120kit.engines``; named after the settings themselves (``dest`` of the flag), as the newest version spells
them: ``tp_size`` for ``--tp`` of any version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from sm120kit.errors import Sm120kitError

Value = bool | int | float | str | tuple[str, ...] | None

ProblemKind = Literal[
    "unknown", "removed", "renamed", "too-new", "ambiguous", "bad-choice", "bad-value", "missing-value", "stray"
]


class ArgumentProblem(msgspec.Struct, frozen=True):
    """One thing on a launch line that stops this version before it does anything."""

    kind: ProblemKind
    flag: str
    """As typed."""
    text: str
    """What is wrong, as a sentence without its full stop."""
    instead: tuple[str, ...] = ()
    """What this version calls it, or what was probably meant."""
    source: str = ""
    choices: tuple[str, ...] = ()
    """All that can be chosen, where the value is none of it."""


def refuse(problems: Sequence[ArgumentProblem]) -> None:
    """Refuse a launch line that has problems.

    Raises:
        Sm120kitError: the first of them, with what to write instead, and how many more there are.
    """
    if not problems:
        return
    first, more = problems[0], len(problems) - 1
    listed: tuple[str, ...] = ()
    hint = f"Write {' or '.join(first.instead)}" if first.instead else ""
    if first.choices:
        hint = f"Did you mean {' or '.join(first.instead)}? It takes one of" if first.instead else "It takes one of"
        listed = first.choices
    raise Sm120kitError(f"{first.text}{f'; and {more} more like it' if more else ''}", hint=hint, listed=listed)


class Deprecation(msgspec.Struct, frozen=True):
    """A flag that this version still takes and warns about."""

    flag: str
    instead: str = ""


class LaunchLine(msgspec.Struct, frozen=True):
    """One launch line, read as one version of the server reads it."""

    arguments: tuple[str, ...]
    """As typed, without the program."""
    version: str
    """The version that it is for."""
    read_as: str
    """The version whose flags it was read with: another one where ``version`` is not in the table."""
    version_source: str
    """Where the version was read."""
    given: dict[str, Value]
    """What was set, by the setting's name."""
    typed: dict[str, str] = {}
    """The words that set it (``--attention-backend fa3``), by the setting's name."""
    defaults: dict[str, Value] = {}
    """What holds where nothing was set. A setting that the version works out itself is ``None`` here."""
    problems: tuple[ArgumentProblem, ...] = ()
    deprecations: tuple[Deprecation, ...] = ()
    repeated: tuple[str, ...] = ()
    """Flags given more than once: the last one counts."""

    @property
    def exact(self) -> bool:
        """Whether the flags of this very version are known."""
        return self.version == self.read_as

    def value(self, name: str) -> Value:
        """What a setting is: as given, else its default, else ``None``."""
        return self.given.get(name, self.defaults.get(name))

    def text(self, name: str) -> str:
        """A setting as text; empty where it is not set."""
        value = self.value(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int | None:
        """A setting as a whole number; ``None`` where it is not set."""
        value = self.value(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def share(self, name: str) -> float | None:
        """A setting as a fraction; ``None`` where it is not set."""
        value = self.value(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def switched_on(self, name: str) -> bool:
        """Whether a switch is on."""
        return self.value(name) is True

    @property
    def model_path(self) -> str:
        """``--model-path``."""
        return self.text("model_path")

    @property
    def config_file(self) -> str:
        """``--config``: a file with more settings, which is not read here."""
        return self.text("config")

    @property
    def attention_backends(self) -> tuple[str, str]:
        """Backends asked for prefill and decode; empty where the version chooses."""
        both = self.text("attention_backend")
        return self.text("prefill_attention_backend") or both, self.text("decode_attention_backend") or both

    @property
    def kv_cache_dtype(self) -> str:
        """``--kv-cache-dtype``; ``auto`` where it is not given."""
        return self.text("kv_cache_dtype") or "auto"

    @property
    def mamba_strategy(self) -> str:
        """``--mamba-radix-cache-strategy``, which was ``--mamba-scheduler-strategy``."""
        return self.text("mamba_radix_cache_strategy") or "auto"

    @property
    def speculative(self) -> bool:
        """Whether speculative decoding is asked for."""
        return bool(self.text("speculative_algorithm"))

    @property
    def tp_size(self) -> int:
        """GPUs that share one model."""
        return self.number("tp_size") or 1

    @property
    def gpus_per_server(self) -> int:
        """GPUs that one server takes: ranks of tensor, pipeline and data parallelism. With attention data parallelism
        the latter share the GPUs of the former."""
        shared = self.switched_on("enable_dp_attention") or (self.number("attn_dp_size") or 1) > 1
        data = 1 if shared else max(self.number("dp_size") or 1, 1)
        return max(self.tp_size, 1) * max(self.number("pp_size") or 1, 1) * data

    def words(self, name: str) -> str:
        """How a setting was typed; ``default`` where it was not."""
        return self.typed.get(name, "default")
