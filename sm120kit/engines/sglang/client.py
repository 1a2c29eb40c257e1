"""Asks a running server over HTTP: one GET, bounded in time and size, through no proxy, following no redirect."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

import msgspec

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.text import visible

LIMIT_S = 10.0
"""Seconds for one answer: /server_info asks the scheduler, which does not answer while it hangs."""

_MOST_BYTES = 8 << 20
_WRITTEN = "Write it as http://127.0.0.1:30000"


def split_address(url: str) -> SplitResult:
    """A server's address taken apart; ``http`` is meant where it names no scheme.

    Raises:
        Sm120kitError: it is none.
    """
    try:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        host, _port = parts.hostname, parts.port
    except ValueError as error:
        raise Sm120kitError(f"{visible(url)} is no address: {error}", hint=_WRITTEN) from error
    if parts.scheme not in ("http", "https") or not host or re.search(r"[\s\x00-\x20\x7f\ud800-\udfff]", parts.netloc):
        raise Sm120kitError(f"{visible(url)} is no address of a server", hint=_WRITTEN)
    return parts


def get_json(url: str, path: str, *, limit_s: float = LIMIT_S) -> object:
    """The JSON that ``url`` answers at ``path``.

    Raises:
        Sm120kitError: the address is none, nobody answers in time, or the answer is no JSON; exit code 2 or 4.
    """
    import http.client

    parts = split_address(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=limit_s)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}{path}", headers={"Accept": "application/json"})
        answer = connection.getresponse()
        body = answer.read(_MOST_BYTES + 1)
    except (OSError, http.client.HTTPException) as error:
        from sm120kit.engines.sglang.unreachable import unreachable

        raise Sm120kitError(
            f"{url}{path} does not answer: {unreachable(error, parts)}",
            hint="A server that still loads refuses connections; one whose scheduler hangs does not answer",
            exit_code=TARGET_UNREADABLE,
        ) from error
    finally:
        connection.close()
    if answer.status != 200:
        raise Sm120kitError(f"{url}{path} answers with HTTP {answer.status}", exit_code=TARGET_UNREADABLE)
    try:
        return msgspec.json.decode(body[:_MOST_BYTES])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Sm120kitError(f"{url}{path} answers no JSON: {error}", exit_code=TARGET_UNREADABLE) from error
