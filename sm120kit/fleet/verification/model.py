"""model: the server serves the model that was asked for, under the name that was asked for."""

from __future__ import annotations

import os.path

from sm120kit.engines.sglang.endpoints import read_model_info, read_models
from sm120kit.fleet.asking import Reply
from sm120kit.fleet.types import Verdict
from sm120kit.fleet.verification.types import Subject
from sm120kit.fleet.verification.wording import quoted


def judge_model(subject: Subject, models: Reply, info: Reply) -> Verdict:
    """From the answers of ``/v1/models`` and ``/model_info``."""
    if models.problem:
        return _verdict(False, f"/v1/models {models.problem}")
    names = read_models(models.value)
    if not names:
        return _verdict(False, "/v1/models names no model")
    told = None if info.problem else read_model_info(info.value)
    wanted = subject.served_model_name
    if wanted and not any(_same(wanted, name) for name in names):
        return _verdict(False, f"it serves {quoted(names[0])}, not {quoted(wanted)}")
    if told is None:
        why = info.problem or "answers as no SGLang does"
        passed = None if not subject.model else False
        return _verdict(passed, f"it serves {quoted(names[0])}; of which files, it does not say: /model_info {why}")
    if not told.generates:
        return _verdict(False, f"{quoted(told.model_path)} is no model that generates text")
    if subject.model and not _same(subject.model, told.model_path):
        return _verdict(False, f"it has loaded {quoted(told.model_path)}, not {quoted(subject.model)}")
    served = wanted or names[0]
    loaded = "" if served == told.model_path else f", loaded from {quoted(told.model_path)}"
    return _verdict(True, f"it serves {quoted(served)}{loaded}")


def _verdict(passed: bool | None, evidence: str) -> Verdict:
    return Verdict("model", passed, evidence)


def _same(one: str, other: str) -> bool:
    """The same name, or two ways to write one path. No file is looked at: it could lie where looking takes forever."""
    return os.path.normpath(one) == os.path.normpath(other)
