"""The rules that scripts and child processes share."""

from __future__ import annotations

import pytest

from sm120kit.environment import Environment, Variable, applied

FIRST = Variable("PATH", "prepend", "First.", parts=("/a", "/b"), otherwise="/usr/bin:/bin")
OUT = Variable("LD_LIBRARY_PATH", "remove", "Old.", parts=("/old",))
JOBS = Variable("MAX_JOBS", "set-if-unset", "Memory.", "4")
HOME = Variable("CUDA_HOME", "set", "Here.", "/opt")


@pytest.mark.parametrize(
    ("variable", "before", "after"),
    [
        (HOME, {}, {"CUDA_HOME": "/opt"}),
        (HOME, {"CUDA_HOME": "/mine"}, {"CUDA_HOME": "/opt"}),
        (JOBS, {}, {"MAX_JOBS": "4"}),
        (JOBS, {"MAX_JOBS": ""}, {"MAX_JOBS": "4"}),
        (JOBS, {"MAX_JOBS": "2"}, {"MAX_JOBS": "2"}),
        (FIRST, {}, {"PATH": "/a:/b:/usr/bin:/bin"}),
        (FIRST, {"PATH": ""}, {"PATH": "/a:/b:/usr/bin:/bin"}),
        (FIRST, {"PATH": "/x"}, {"PATH": "/a:/b:/x"}),
        (FIRST, {"PATH": "/x:/b:/y:/a"}, {"PATH": "/a:/b:/x:/y"}),
        (FIRST, {"PATH": "/b"}, {"PATH": "/a:/b"}),
        (FIRST, {"PATH": "/x::/y"}, {"PATH": "/a:/b:/x::/y"}),
        (OUT, {}, {}),
        (OUT, {"LD_LIBRARY_PATH": "/old:/old"}, {}),
        (OUT, {"LD_LIBRARY_PATH": "/x:/old:/y"}, {"LD_LIBRARY_PATH": "/x:/y"}),
        (OUT, {"LD_LIBRARY_PATH": "/older"}, {"LD_LIBRARY_PATH": "/older"}),
    ],
)
def test_one_variable(variable: Variable, before: dict[str, str], after: dict[str, str]) -> None:
    environment = Environment("", "", (variable,), {})
    assert applied(environment, before) == after
    assert applied(environment, after) == after
