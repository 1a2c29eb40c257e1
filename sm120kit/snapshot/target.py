"""Which target is examined: the options that all commands share, and what they resolve to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TargetOptions:
    """As given on the command line; empty = not given."""

    python: str = ""
    site_packages: str = ""
    cuda_home: str = ""
    system_toolkits: bool = True
    root: str = ""
    env_file: str = ""
    pid: int = 0
    ask_driver: bool = True
    """False with ``--gpu``: the hardware is named, NVML is not asked."""
    deep: bool = False
    """Scan big binaries (cicc) for their release."""
