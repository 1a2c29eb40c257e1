"""Ctrl-C and SIGTERM while servers run: noted, so that everything can be ended before the program goes."""

from __future__ import annotations

import signal
from contextlib import suppress
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
