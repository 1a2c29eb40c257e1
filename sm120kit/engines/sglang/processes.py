"""The processes that make up one server: one that speaks HTTP, schedulers and a detokenizer below it."""

from __future__ import annotations

WORKERS = ("sglang::schedul", "sglang::detoken")
"""Names (/proc/PID/comm, which the kernel cuts to 15 characters) of those without which it is no server:
``sglang::scheduler``, ``sglang::scheduler_TP0`` and so on, and ``sglang::detokenizer``; set by setproctitle in 0.5.11
to 0.5.23."""
