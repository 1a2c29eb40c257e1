"""Why no answer comes from a server, in words: nothing listens, no such name, no way there, TLS, or not HTTP."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from urllib.parse import SplitResult

from sm120kit.text import visible

_SHOWN = 200
_NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_MESSAGE", "HTTP_REQUEST", "PACKET_LENGTH")
_CLOSED = (errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED, errno.ENOTCONN)
_NO_WAY = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL)
_PORTS = {"http": 80, "https": 443}


def place_of(parts: SplitResult) -> str:
    """``host:port`` of an address that was taken apart."""
    host = parts.hostname or ""
    return f"{f'[{host}]' if ':' in host else host}:{parts.port or _PORTS.get(parts.scheme, 80)}"


def unreachable(error: BaseException, parts: SplitResult) -> str:
    """A sentence without its full stop: what stands between us and the server, and what to look at.

    ``error`` came from opening a connection to ``parts``, or from what was sent back instead of an answer.
    """
    place = place_of(parts)
    number = _number(error)
    if isinstance(error, socket.gaierror):
        return f"the name {parts.hostname} leads to no address ({error.strerror}): is it spelled right?"
    if isinstance(error, ssl.SSLError):
        return _about_tls(error, place)
    if number == errno.ECONNREFUSED:
        return (
            f"nothing listens at {place} (connection refused): is the server started, and is this its port? "
            "One that still loads does not listen yet"
        )
    if number in _NO_WAY:
        return f"no way leads to {place} from here: is the address right?"
    if number == errno.ETIMEDOUT or isinstance(error, TimeoutError):
        return f"nothing came from {place} in time: is the address right, and does a firewall let it through?"
    if number in _CLOSED or isinstance(error, ConnectionError | EOFError):
        other = f": does it want https://{place}?" if parts.scheme == "http" else ""
        return f"what listens at {place} closed the connection without an answer{other}"
    if isinstance(error, OSError):
        return f"no connection to {place} comes about: {_said(error.strerror or str(error) or type(error).__name__)}"
    return f"what listens at {place} does not answer in HTTP: is this the server's HTTP port?"


def _number(error: BaseException) -> int | None:
    """The system's number of the error; that of the first where several addresses were tried."""
    if not isinstance(error, OSError):
        return None
    if error.errno is None and (found := re.search(r"\[Errno (\d+)\]", str(error))):
        return int(found[1])
    return error.errno


def _about_tls(error: ssl.SSLError, place: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {place} is not trusted here: {_said(error.verify_message)}"
    reason = error.reason or ""
    if any(each in reason for each in _NOT_TLS):
        return f"what listens at {place} does not speak TLS: is http://{place} meant?"
    return f"TLS with {place} fails: {_said(reason.replace('_', ' ').lower() or str(error))}"


def _said(text: str) -> str:
    return visible(text[:_SHOWN].strip())
