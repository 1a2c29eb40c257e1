"""Records in sm120kit/fleet/rehearsal/recorded.json how a genuine SGLang answers and what it logs: names and types of
fields, and the wording of lines without their numbers. No value is kept.

    python tools/record_sglang_answers.py http://127.0.0.1:30000 server.log

Run by hand against a server of a new version, started with ``--reasoning-parser``, ``--enable-metrics`` and a model of
2048 tokens of context or more. What was recorded of the same version before is kept beside: a field that was a number
then and is null now is either. The last question is one that 0.5.12 never forgets: end that server by SIGKILL.
"""

from __future__ import annotations

import http.client
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from sm120kit.fleet.rehearsal.shapes import Shape, merged, shape_of

RECORD = Path(__file__).parent.parent / "sm120kit" / "fleet" / "rehearsal" / "recorded.json"

_HELLO = [{"role": "user", "content": "Say something."}]
_ENDLESS = [{"role": "user", "content": "again " * 100_000}]


class Question(NamedTuple):
    """One request."""

    name: str
    method: str
    path: str
    body: dict[str, Any] | None = None


_SERVER_INFO = Question("server_info", "GET", "/server_info")

QUESTIONS = (
    Question("health", "GET", "/health"),
    Question("ping", "GET", "/ping"),
    Question("ready", "GET", "/ready"),
    Question("model_info", "GET", "/model_info"),
    Question("models", "GET", "/v1/models"),
    _SERVER_INFO,
    Question("loads", "GET", "/v1/loads"),
    Question("get_load", "GET", "/get_load"),
    Question("flush_cache", "POST", "/flush_cache"),
    Question("nothing", "GET", "/nothing/like/this"),
    Question("generate", "POST", "/generate", {"text": "One, two", "sampling_params": {"max_new_tokens": 4}}),
    Question("generate_many", "POST", "/generate", {"text": ["One", "Two"], "sampling_params": {"max_new_tokens": 4}}),
    Question(
        "generate_stream",
        "POST",
        "/generate",
        {"text": "One, two", "sampling_params": {"max_new_tokens": 8, "ignore_eos": True}, "stream": True},
    ),
    Question("completion", "POST", "/v1/completions", {"model": "m", "prompt": "One, two", "max_tokens": 4}),
    Question(
        "completion_stream",
        "POST",
        "/v1/completions",
        {"model": "m", "prompt": "One, two", "max_tokens": 8, "stream": True},
    ),
    Question("chat", "POST", "/v1/chat/completions", {"model": "m", "messages": _HELLO, "max_tokens": 8}),
    Question(
        "chat_without_thinking",
        "POST",
        "/v1/chat/completions",
        {
            "model": "m",
            "messages": _HELLO,
            "max_tokens": 8,
            "chat_template_kwargs": {"enable_thinking": False},
            "separate_reasoning": False,
        },
    ),
    Question(
        "chat_stream",
        "POST",
        "/v1/chat/completions",
        {
            "model": "m",
            "messages": _HELLO,
            "max_tokens": 64,
            "stream": True,
            "stream_options": {"include_usage": True},
        },
    ),
    Question("chat_without_messages", "POST", "/v1/chat/completions", {"model": "m"}),
    Question("generate_too_long", "POST", "/generate", {"text": "again " * 100_000}),
    Question("chat_too_long", "POST", "/v1/chat/completions", {"model": "m", "messages": _ENDLESS}),
)


def main(address: str, log: Path) -> None:
    """Ask everything, read the log, and merge both into the record."""
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    server = parts_of(address)
    version = json.loads(_ask(server, _SERVER_INFO)[1])["version"]
    known = record.setdefault(version, {"answers": {}, "log": []})
    for question in QUESTIONS:
        status, shape = answer_of(server, question)
        before = known["answers"].get(question.name)
        if before and before["status"] != status:
            raise SystemExit(f"{question.name}: status {status}, and {before['status']} before")
        known["answers"][question.name] = {
            "status": status,
            "shape": merged(before["shape"], shape) if before else shape,
        }
    forms = list(log_forms(log.read_text("utf-8", "replace").splitlines()))
    known["log"] += [form for form in dict.fromkeys(forms) if form not in known["log"]]
    RECORD.write_text(json.dumps(record, indent=0, ensure_ascii=False) + "\n", "utf-8")


def parts_of(address: str) -> tuple[str, int]:
    """Host and port."""
    parts = urlsplit(address)
    return parts.hostname or "127.0.0.1", parts.port or 30000


def answer_of(server: tuple[str, int], question: Question) -> tuple[int, Shape]:
    """Status and shape of one answer; of a streamed one that of its events together."""
    status, body = _ask(server, question)
    text = body.decode()
    if text.startswith("data: "):
        events = [line.removeprefix("data: ") for line in text.splitlines() if line]
        return status, shape_of([json.loads(event) for event in events if event != "[DONE]"])
    try:
        return status, shape_of(json.loads(text))
    except ValueError:
        return status, "text" if text else "nothing"


def _ask(server: tuple[str, int], question: Question) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(*server, timeout=120)
    try:
        body = None if question.body is None else json.dumps(question.body)
        connection.request(question.method, question.path, body, {"content-type": "application/json"} if body else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


_TIME = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]*\] ")
_KNOWN = re.compile(
    r"server_args=|Init (?:torch|parallel)|Load weight|Using KV cache|KV Cache|Memory |max_total_num|Engine startup|"
    r"INFO: |ERROR: |Prefill batch|Decode batch|The server is|SIGTERM|Signal |Gracefully|kill_process_tree|Subprocess |"
    r"SIGQUIT|Sleeping |Received |Cache flushed|Endpoint |Health check|\[http_server\]"
)
"""Lines that a stand-in has to word alike. What is said of tokenizers or of absent packages is none of them."""


def log_forms(lines: Iterable[str]) -> Iterator[str]:
    """What lines of a log say, less their time, numbers, paths and ids."""
    for line in lines:
        text, found = _TIME.subn("", line)
        if found and _KNOWN.match(text):
            text = re.sub(r"(server_args=(?:ServerArgs\(|\{)).*", r"\1", text)
            text = re.sub(r"rids=\[.*\]", "rids=[]", text)
            text = re.sub(r"\[http_server\] Error: .*", "[http_server] Error: ", text)
            yield re.sub(r"\d+(?:\.\d+)*", "0", text)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
