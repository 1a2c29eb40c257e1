"""What is taken out of texts, and what stays."""

from __future__ import annotations

import time

import pytest

from sm120kit.redaction import redacted


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("https://me:pa55word@proxy.example/x", "pa55word"),
        ("https://me:pa55@wor:d@proxy.example/x", "wor:d"),
        ("https://t0ken@host/path", "t0ken"),
        ("https://host/x?api_key=abc123&y=1", "abc123"),
        ("https://host/x?a=1&X-Amz-Signature=abc123", "abc123"),
        ("--api-key abc123 --port 1", "abc123"),
        ("--api-key=abc123", "abc123"),
        ("prefix hf_abcdefghijklmnopqrst suffix", "hf_abcdefghijklmnopqrst"),
        ("sk-proj-abcdefghijklmnopqrst", "abcdefghijklmnopqrst"),
        ("ghp_abcdefghijklmnopqrst1234", "ghp_abcdefghijklmnopqrst1234"),
        ("ValueError: x Authorization: Bearer abc.def", "abc.def"),
        ("bearer abc.def", "abc.def"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("headers={'Authorization': 'Bearer abc.def'}", "abc.def"),
        ("sent Basic dXNlcjpwYXNz to it", "dXNlcjpwYXNz"),
        ("x-api-key: abc", "abc"),
        ("{'api_key': 'two words', 'port': 1}", "two words"),
        (r'"{\\"password\\": \\"abc\\"}"', "abc"),
        ("PGPASSWORD=12345", "12345"),
        ("AWS_SECRET_ACCESS_KEY=a/b+c", "a/b+c"),
        ("HF_TOKEN=abc", "abc"),
        ("token: abcdef", "abcdef"),
        ("--hf-token abc", "abc"),
        ("Incorrect API key provided: abc", "abc"),
        ("hf_Ab3deFgh1", "hf_Ab3deFgh1"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("xoxb-1234-abcd", "xoxb-1234-abcd"),
        ("github_pat_11ABCDEFG0abc", "github_pat_11ABCDEFG0abc"),
        ("Cookie: session=abc; other=def", "def"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "eyJzdWIiOiIxMjM0In0"),
    ],
)
def test_values_lose_their_secrets(value: str, secret: str) -> None:
    assert secret not in redacted(value)
    assert "[redacted]" in redacted(value)


@pytest.mark.parametrize(
    "value",
    [
        "/opt/a@b/bin:/usr/bin",
        "-O2 -I/usr/include",
        "GPU-8f4e,GPU-1",
        "https://host:8080/path",
        "a?b=c",
        "",
        "#new-token: 8192, token usage: 0.31, #token: 4711",
        "bos_token='hello', eos_token: <|end|>",
        "max_total_tokens=12",
        "--skip-tokenizer-init --port 1",
        "--max-total-tokens 1000",
        "hf_text_config",
        "Basic authentication failed",
        "api_key=None, password=null",
        "HTTP 401: authorization failed",
    ],
)
def test_harmless_values_stay(value: str) -> None:
    assert redacted(value) == value
    assert redacted(redacted(value)) == redacted(value)


@pytest.mark.parametrize("unit", ["hf_", "-sk-", "-eyJ", "?key", "&token", "key=", "://", "--", "bearer ", "\\"])
def test_a_line_without_end_is_read_once(unit: str) -> None:
    # As a server's progress bar or a damaged file has it: from each letter to its end would take minutes.
    began = time.process_time()
    redacted(f"key {unit * (1 << 16)}"[: 1 << 16])
    assert time.process_time() - began < 3
