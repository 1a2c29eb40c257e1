"""The options that lead a command to the same target, and to the data folder of its repair, wherever it is typed."""

import posixpath
import shlex

from sm120kit.diagnosis.case import Case
from sm120kit.snapshot.facts import Known

_DEFAULT = "/.local/share/sm120kit"
"""End of the data folder that is taken without an option."""


def target_option(case: Case) -> str:
    """``--python PATH``, or ``--site-packages DIR``."""
    target = case.snapshot.target
    option = "--site-packages" if target.kind == "site-packages" else "--python"
    return f"{option} {shlex.quote(target.path)}"


def data_dir_option(case: Case) -> str:
    """``--data-dir DIR`` of the repair that is in place, with a space before it; empty where none is needed."""
    view = case.snapshot.live_view
    if not isinstance(view, Known):
        return ""
    data_dir = posixpath.dirname(posixpath.dirname(posixpath.dirname(view.value.current)))
    return "" if data_dir.endswith(_DEFAULT) else f" --data-dir {shlex.quote(data_dir)}"
