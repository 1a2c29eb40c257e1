"""Where things are kept that are ours, by the XDG specification."""

from __future__ import annotations

import os


def xdg_folder(variable: str, below_home: str) -> str:
    """The folder that ``variable`` names, else ``below_home`` in the user's home; always from the root on.

    The specification has relative values ignored. A home that is relative or not known would be another one in each
    working folder: then the one of the user database counts, else ``/``.
    """
    named = os.environ.get(variable, "")
    if os.path.isabs(named):
        return named
    home = os.path.expanduser("~")
    return os.path.join(home if os.path.isabs(home) else _home_of_user(), below_home)


def _home_of_user() -> str:
    import pwd

    try:
        home = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"
    return home if os.path.isabs(home) else "/"
