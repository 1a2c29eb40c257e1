"""Ctrl-C and SIGTERM while servers run: noted, so that everything can be ended before the program goes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within the block SIGTERM and SIGHUP do what Ctrl-C does: what was begun is cleaned up on the way out."""
    before = {}
    for number in (signal.SIGTERM, signal.SIGHUP):
        with suppress(ValueError):
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Interrupts:
    """Within ``with`` the first such signal only sets :attr:`asked`. The second one raises KeyboardInterrupt: whoever
    sends two does not want to wait."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        for number in _SIGNALS:
            with suppress(ValueError):  # outside the main thread signals are somebody else's
                if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup wants SIGHUP
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
