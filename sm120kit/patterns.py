"""Regular expressions that are compiled when they are first used.

The modules that a doctor loads hold some fifty patterns, of which one run needs a few: compiling all of them would be
a tenth of its time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import AnyStr, cast

_METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")


class _Pattern:
    """Stands in for :class:`re.Pattern` until one of its methods is asked for."""

    def __init__(self, compile_it: Callable[[], object]) -> None:
        self._compile_it = compile_it

    def __getattr__(self, name: str) -> object:
        compiled = self._compile_it()
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The pattern ``source`` with flags of :mod:`re`; an error in it shows at its first use."""
    return cast("re.Pattern[AnyStr]", _Pattern(partial(re.compile, source, flags)))
