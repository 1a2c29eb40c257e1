"""Whether a text looks like a log at all: by how servers, compilers, linkers, Python, the kernel and the driver write.

A file that was named by mistake shows no fault either, and must not pass for a good log.
"""

from __future__ import annotations

import re

from sm120kit.patterns import pattern

_SIGN = pattern(
    rb"""
      \d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d                                         # a server's time, also inside JSON
    | \b[A-Z][a-z]{2}[ ][ \d]\d[ ]\d\d:\d\d:\d\d\b                              # journald, syslog
    | ^\[[ ]*\d+\.\d{6}\]                                                       # the kernel
    | \b(?:INFO|WARNING|ERROR|DEBUG|CRITICAL|FATAL)\b
    | NVRM:|NVIDIA-SMI|NCCL[ ](?:INFO|WARN)
    | server_args=|Uvicorn[ ]|(?:Decode|Prefill)[ ]batch|Load[ ]weight|sglang[. ](?:launch_server|serve)|vllm[ ]serve
    | :\d+(?::\d+)?:[ ](?:fatal[ ])?(?:error|warning|note)\b|\(\d+\):[ ](?:error|warning)\b|^In[ ]file[ ]included[ ]from
    | (?:^|[/\s])(?:ld|nvcc|gcc|g\+\+|c\+\+|cc|cc1plus|cudafe\+\+|ptxas|cicc|nvlink|fatbinary|collect2|ninja|make)
      (?:[-.\w]*(?:[ ](?:error|warning|fatal|info))?\s*:|[ ]-)
    | ^\[\d+/\d+\][ ]|^FAILED:[ ]
    | ^Traceback[ ]\(most[ ]recent|^\s*File[ ]"|^(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Warning)(?::|$)
    | ^\S*python[\d.]*:[ ]|Error[ ]response[ ]from[ ]daemon:|^nvidia-container-cli:
    | \d(?:it|s)/(?:it|s)\b|\d%\|                                               # progress bars
    """,
    re.VERBOSE | re.MULTILINE,
)

NOT_A_LOG = (
    "it does not look like a log: no line of it is one that SGLang, vLLM, Python, a compiler, a linker, a container "
    "engine, the kernel or the driver writes"
)


def looks_like_a_log(text: bytes) -> bool:
    """Whether a line of ``text`` is of such a form."""
    return _SIGN.search(text) is not None
