"""Ports that a server takes beside those it is given (checks/tables/sglang_ports.toml)."""

from typing import Literal

from sm120kit.diagnosis.launch import LaunchLine
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.diagnosis.versions import within

HIGHEST = 65535


class PortRow(Row, frozen=True, kw_only=True):
    """Ports at these distances from ``--port``."""

    when: Literal["grpc", "dp-attention"]
    first: str
    last: str
    offsets: tuple[int, ...]


def ports_beside(line: LaunchLine, *, grpc: bool = False) -> tuple[int, ...]:
    """Distances from ``--port`` of the ports that a server with this line binds; ``grpc``: SGLANG_ENABLE_GRPC is on."""
    attention = line.switched_on("enable_dp_attention") or (line.number("attn_dp_size") or 1) > 1
    holds = {"dp-attention": attention, "grpc": grpc}
    return tuple(offset for row in _rows(line.version) if holds[row.when] for offset in row.offsets)


def highest_port(version: str) -> tuple[int, str]:
    """The highest ``--port`` that this version starts with, and where that is known from."""
    row = next((row for row in _rows(version) if row.when == "grpc"), None)
    return (HIGHEST - max(row.offsets), row.source) if row else (HIGHEST, "")


def _rows(version: str) -> list[PortRow]:
    return [row for row in read_table("sglang_ports", PortRow) if within(version, row.first, row.last)]
