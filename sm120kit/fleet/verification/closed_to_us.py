"""Why nothing can be asked of what answers at an address: it wants a key, it is no SGLang, it is silent, or it has
ended. Each is told once, with what to do."""

from __future__ import annotations

from sm120kit.fleet.asking import Asking, Reply
from sm120kit.fleet.process.identity import alive
from sm120kit.fleet.types import ProcessId
from sm120kit.fleet.verification.wording import quoted

_KEY_MISSING = (401, 403)


def closed(models: Reply, asking: Asking, root: ProcessId | None) -> str:
    """From the answer of ``/v1/models``, which any server gives at once; empty where more can be asked. ``root``: of a
    server of a fleet, of which more is known than of an address."""
    if models.unreachable and root is not None:
        if alive(root):
            why = models.unreachable.partition(": ")[0]
            return f"process {root.pid}, which was started for it, starts or is just ending: {why}"
        return f"process {root.pid}, which was started for it, has ended: its log says why"
    if models.unreachable:
        return models.unreachable
    if models.timed_out:
        return (
            f"/v1/models {models.problem}. A server that works answers it at once, whatever else it does: does this "
            "one hang, or is the port another than that of its HTTP?"
        )
    if models.status in _KEY_MISSING and asking.has_key:
        return f"it does not take the API key that was given: /v1/models {models.problem}"
    if models.status in _KEY_MISSING:
        return (
            f"it wants an API key: /v1/models {models.problem}. Name the variable that holds it: "
            "--api-key-variable NAME"
        )
    return ""


def no_sglang(models: Reply, info: Reply, server_info: Reply) -> str:
    """Where none of the endpoints is there that every SGLang has beside those of OpenAI's API; else empty."""
    if info.status != 404 or server_info.status != 404:
        return ""
    owner = _owner(models.value)
    if models.status == 404:
        return "this is no SGLang server: it has neither /v1/models nor /model_info nor /server_info (HTTP 404)"
    whose = f"; its model is owned_by {quoted(owner)}" if owner else ""
    return f"this is no SGLang server: beside /v1/models it has neither /model_info nor /server_info (HTTP 404){whose}"


def _owner(models: object) -> str:
    """What the first model says of who serves it: ``sglang``, ``vllm``."""
    data = models.get("data") if isinstance(models, dict) else None
    first = data[0] if isinstance(data, list) and data else None
    owner = first.get("owned_by") if isinstance(first, dict) else None
    return owner if isinstance(owner, str) else ""
