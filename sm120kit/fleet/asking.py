"""Asks servers over HTTP, many questions at once: bounded in time and size, through no proxy, following no redirect."""

from __future__ import annotations

import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from sm120kit.engines.sglang.client import split_address
from sm120kit.fleet.types import Struct
from sm120kit.redaction import redacted
from sm120kit.text import visible

if TYPE_CHECKING:
    from aiohttp import ClientSession

MOST_BYTES = 8 << 20
"""Of one answer. /server_info has some 40 KiB."""

_SPARE_FILES = 256
"""What a process needs open beside its connections."""

_IDLE_S = 2.0
"""A connection is not used again after this. SGLang's HTTP server closes it after 5 s, and may just be doing so."""

_CONNECT_SHARE = 0.9
"""Of the time for an answer, for the connection to come about: so it can be told which of the two was missing."""

_SHOWN = 300
"""Characters of an error answer that are worth showing."""


class Reply(Struct, frozen=True):
    """What came of one question."""

    value: object = None
    """The JSON of an answer with status 200."""
    problem: str = ""
    """Why there is none, as the end of a sentence about the path: ``answers with HTTP 500: ...``."""
    status: int | None = None
    """``None``: no answer came."""
    timed_out: bool = False
    seconds: float = 0
    unreachable: str = ""
    """Why nothing that speaks HTTP is reached at all, as a sentence without its full stop; empty = something is."""
    server: str = ""
    """What the server calls itself in the header of that name."""


class Asking:
    """One pool of connections; opened by :func:`open_asking`."""

    def __init__(self, session: ClientSession, api_key: str) -> None:
        self._session = session
        self._api_key = api_key

    @property
    def has_key(self) -> bool:
        """Whether an API key goes with every question."""
        return bool(self._api_key)

    async def get(self, url: str, path: str, *, limit_s: float) -> Reply:
        """The JSON at ``path`` of the server ``url``. Never raises for what a server does.

        Raises:
            Sm120kitError: ``url`` is no address.
        """
        return await self._ask("GET", url, path, None, limit_s)

    async def post(self, url: str, path: str, question: object, *, limit_s: float) -> Reply:
        """The JSON that is answered to ``question``, sent as JSON."""
        return await self._ask("POST", url, path, msgspec.json.encode(question), limit_s)

    async def _ask(self, method: str, url: str, path: str, body: bytes | None, limit_s: float) -> Reply:
        import asyncio

        from aiohttp import ClientError, ClientPayloadError, ClientTimeout, ConnectionTimeoutError

        from sm120kit.engines.sglang.unreachable import unreachable

        parts = split_address(url)
        address = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}{path}"
        started = time.monotonic()
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            async with self._session.request(
                method,
                address,
                data=body,
                headers=headers,
                allow_redirects=False,
                timeout=ClientTimeout(total=limit_s, sock_connect=_CONNECT_SHARE * limit_s),
            ) as answer:
                called = answer.headers.get("Server", "")[:_SHOWN]
                text = await _bounded(answer.content)
        except ConnectionTimeoutError as error:
            why = unreachable(error, parts)
            return Reply(problem=f"does not answer: {why}", unreachable=why, timed_out=True, seconds=limit_s)
        except asyncio.TimeoutError:
            return Reply(problem=f"did not answer within {limit_s:.3g} s", timed_out=True, seconds=limit_s)
        except ClientPayloadError as error:
            problem = f"broke its answer off: {self._shown(str(error) or type(error).__name__)}"
            return Reply(problem=problem, seconds=time.monotonic() - started)
        except (ClientError, OSError, ValueError) as error:
            why = self._shown(unreachable(_underlying(error), parts))
            return Reply(problem=f"does not answer: {why}", unreachable=why, seconds=time.monotonic() - started)
        seconds = time.monotonic() - started
        came = Reply(status=answer.status, seconds=seconds, server=called)
        if text is None:
            return replace(came, problem=f"answers with more than {MOST_BYTES >> 20} MiB")
        if answer.status != 200:
            said = self._shown(_message(text))
            problem = f"answers with HTTP {answer.status}" + (f": {said}" if said else "")
            return replace(came, problem=problem)
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            said = self._shown(text[:_SHOWN].decode("utf-8", "replace"))
            return replace(came, problem=f"answers no JSON: {said or 'nothing'}")
        return replace(came, value=value)

    def _shown(self, text: str) -> str:
        """What a server said, so that it can stand in a report."""
        if self._api_key:
            text = text.replace(self._api_key, "[redacted]")
        return visible(redacted(text[:_SHOWN].strip()))


@asynccontextmanager
async def open_asking(api_key: str = "") -> AsyncIterator[Asking]:
    """Connections to any number of servers. ``api_key`` goes to each of them, as SGLang's ``--api-key`` wants it."""
    from aiohttp import ClientSession, DummyCookieJar, TCPConnector

    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    async with ClientSession(
        connector=TCPConnector(limit=0, keepalive_timeout=_IDLE_S),
        headers=headers,
        cookie_jar=DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
    ) as session:
        yield Asking(session, api_key)


def connections_possible(wanted: int) -> int:
    """How many of ``wanted`` connections this process may hold at once; its soft limit of open files is raised as far
    as its hard limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _SPARE_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return wanted
    return max(1, min(wanted, soft - _SPARE_FILES))


def _underlying(error: Exception) -> BaseException:
    """What the system or the TLS library said, which aiohttp words in its own way."""
    from aiohttp import ClientConnectorError, ServerDisconnectedError

    if isinstance(error, ServerDisconnectedError):
        return ConnectionResetError()
    return error.os_error if isinstance(error, ClientConnectorError) else error


async def _bounded(content: object) -> bytes | None:
    """All that comes; ``None`` where it is more than :data:`MOST_BYTES`."""
    from aiohttp import StreamReader

    assert isinstance(content, StreamReader)
    parts: list[bytes] = []
    size = 0
    async for part in content.iter_any():
        size += len(part)
        if size > MOST_BYTES:
            return None
        parts.append(part)
    return b"".join(parts)


def _message(text: bytes) -> str:
    """The sentence in an error answer: SGLang's ``message``, FastAPI's ``detail``, or the whole."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return text[:_SHOWN].decode("utf-8", "replace")
    for _ in range(2):
        if not isinstance(value, dict):
            break
        value = value.get("message") or value.get("detail") or value.get("error") or ""
    return value if isinstance(value, str) else text[:_SHOWN].decode("utf-8", "replace")
