"""What ``--no-system-toolkits`` leaves to be found by searching."""

from __future__ import annotations

from sm120kit.patterns import pattern
from sm120kit.snapshot.context import Context

_SITE_PACKAGES = pattern(r"(/.+)/lib(?:64)?/python[\d.]+t?/(?:site|dist)-packages/?")
_SYSTEM_PREFIXES = ("/usr", "/usr/local")


def visible(context: Context, path: str) -> bool:
    """Whether a consumer may find ``path`` by searching PATH and default places.

    Always, unless system toolkits are hidden and it really lies outside the target's packages, the environment that
    holds them, and ``--cuda-home``.
    """
    if context.target.system_toolkits:
        return True
    own = [context.target.cuda_home, *context.site_packages]
    for folder in context.site_packages:
        match = _SITE_PACKAGES.fullmatch(folder)
        if match and match[1] not in _SYSTEM_PREFIXES:
            own.append(match[1])
    real = _real(context, path)
    return any(f"{real}/".startswith(f"{_real(context, home)}/") for home in own if home)


def _real(context: Context, path: str) -> str:
    try:
        return context.files.real(path)
    except (OSError, ValueError):
        return path.rstrip("/")
