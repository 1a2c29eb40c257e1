"""Lines of the log, as SGLang writes them: on standard error, with the time before each."""

from __future__ import annotations

import os
import time


def say(text: str) -> None:
    """One line. It is written at once and whole, so that those of two processes never run into each other."""
    plain(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}] {text}\n")


def plain(text: str) -> None:
    """Text as it is: a warning, a traceback, a progress bar."""
    try:
        os.write(2, text.encode("utf-8", "replace"))
    except OSError:  # who read it is gone; a server goes on all the same
        return
