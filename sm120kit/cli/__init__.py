"""The command line. A start allocates much and frees little, so the garbage collector is asked to look less often."""

import gc

gc.set_threshold(50_000, 20, 20)
