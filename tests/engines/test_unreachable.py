"""Why no answer comes from a server: every kind of failure in words of ours."""

from __future__ import annotations

import errno
import http.client
import os
import socket
import ssl

import pytest

from sm120kit.engines.sglang.client import split_address
from sm120kit.engines.sglang.unreachable import place_of, unreachable


def _system(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _tls(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {reason}]")
    error.reason = reason
    return error


def _untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate"
    return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (_system(errno.ECONNREFUSED), "nothing listens at h:30000 (connection refused)"),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 1), [Errno 111] ..."),
         "nothing listens at h:30000 (connection refused)"),
        (socket.gaierror(-2, "Name or service not known"), "h leads to no address (Name or service not known)"),
        (_system(errno.EHOSTUNREACH), "no way leads to h:30000"),
        (_system(errno.ENETUNREACH), "no way leads to h:30000"),
        (TimeoutError("timed out"), "nothing came from h:30000 in time"),
        (_system(errno.ETIMEDOUT), "nothing came from h:30000 in time"),
        (_system(errno.ECONNRESET), "closed the connection without an answer: does it want https://h:30000?"),
        (http.client.RemoteDisconnected(""), "closed the connection without an answer"),
        (http.client.BadStatusLine("SSH-2.0"), "does not answer in HTTP"),
        (_tls("WRONG_VERSION_NUMBER"), "does not speak TLS: is http://h:30000 meant?"),
        (_tls("TLSV1_ALERT_PROTOCOL_VERSION"), "TLS with h:30000 fails: tlsv1 alert protocol version"),
        (_untrusted(), "the certificate of h:30000 is not trusted here: self-signed certificate"),
        (_system(errno.EMFILE), "no connection to h:30000 comes about: Too many open files"),
        (OSError("\x1b[31m"), "no connection to h:30000 comes about: "),
    ],
)  # fmt: skip
def test_every_kind_has_its_words(error: BaseException, said: str) -> None:
    text = unreachable(error, split_address("http://h:30000"))
    assert said in text
    assert "\x1b" not in text
    assert "Errno" not in text


@pytest.mark.parametrize(
    ("url", "place"),
    [("http://h", "h:80"), ("https://h/v1", "h:443"), ("[::1]:30000", "[::1]:30000"), ("10.0.0.5:1", "10.0.0.5:1")],
)
def test_the_place_has_its_port(url: str, place: str) -> None:
    assert place_of(split_address(url)) == place
