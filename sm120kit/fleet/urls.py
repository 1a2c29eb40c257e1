"""Addresses of servers."""

from __future__ import annotations

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


def address_of(host: str, port: int) -> str:
    """Where a server that listens on ``host`` is reached from this machine."""
    host = _EVERYWHERE.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
