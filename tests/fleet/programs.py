"""Small programs that stand for servers in the tests of this room."""

from __future__ import annotations

import sys

FOREVER = (sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(60)")
LEAVES_A_CHILD = (
    sys.executable,
    "-c",
    "import subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)\n"
    "print(child.pid, flush=True)\n"
    "time.sleep(60 if sys.argv[1:] else 0)\n",
)
IGNORES_SIGTERM = (
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)",
)
