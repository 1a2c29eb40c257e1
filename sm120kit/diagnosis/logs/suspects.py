"""Which lines look like a cause, where no signature knows them."""

from __future__ import annotations

import re

from sm120kit.diagnosis.logs.cleaning import Clean

HARMLESS = re.compile(
    r"Ignore import error when loading |INFO:\s+[\d.]+:\d+ - \"|.{0,200}?is longer than the model's context length"
)
"""How lines begin that name faults and are none: models whose optional imports are missing, the access log, requests
refused for their length."""

REQUEST = re.compile(r"(?:INFO:?\s+)?(?:Receive|Finish): obj=|(?:INFO:?\s+)?Received request \S+: prompt: ")
"""How lines begin in which a server logs a request, with whatever its user typed."""

REQUEST_WORDS = (b": obj=", b"Received request ")
"""One of these stands in each of them."""

_ORIGIN = re.compile(
    r"\bfatal error\b|\berror: |: error #|\bfatal\s*: |undefined (?:reference|symbol)|multiple definition of"
    r"|cannot open shared object|\bCUDA (?:driver )?error\b|cuda[A-Z]\w*Error\b|CUDA_ERROR_|CU(?:BLAS|DNN)_STATUS_"
    r"|Segmentation fault|core dumped|Bus error|std::bad_alloc|terminate called|Internal error|Assertion .* failed"
    r"|NCCL WARN|NVRM: |: (?:command )?not found$"
    r"|^\S*python[\d.]*: (?:No module named |Error while finding module |can't open file )"
    r"|Error response from daemon: |^nvidia-container-cli: "
)
_EXCEPTION = re.compile(
    r"^\s*(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Exit|NotFound|Timeout)(?::|$)"
)
_WARNING = re.compile(r"\b(?:User|Future|Deprecation|Runtime)Warning: ")
_HIT = re.compile(r"hit an exception|[Ff]atal Python error|\b(?:died|crashed) (?:with|during)")
_OTHER = re.compile(
    r"(?i)\bfailed\b|\bfailure\b|\bcannot\b|\bunable to\b|\babort(?:ed|ing)?\b|\bkilled\b|not supported"
)

UNHANDLED = "Traceback (most recent call last):"
"""How a line begins behind which an exception is told that nobody caught, whatever that is called."""

ENOUGH = 2
"""From this weight on a line means that something went wrong."""


def is_exception(text: str) -> bool:
    """Whether a line is the last one of a traceback, which tells the exception."""
    return _EXCEPTION.match(text) is not None


def weight(line: Clean) -> int:
    """How much a line looks like a cause: 4 where a compiler, linker, driver or kernel speaks, 3 for the last line of
    a traceback, 2 for what calls itself an error, 1 for other words of trouble, 0 for none."""
    text = line.text
    if _WARNING.search(text):
        return 0
    if _ORIGIN.search(text):
        return 4
    if _EXCEPTION.match(text):
        return 3
    if line.is_error or _HIT.search(text):
        return 2
    return 1 if _OTHER.search(text) else 0
