"""Which torch is installed and for which CUDA: torch/version.py, read as text and never imported.

The file is written by torch's build (tools/generate_torch_version.py): ``__version__ = '2.13.0+cpu'`` and, since 2.0,
``cuda: Optional[str] = None`` or ``= '13.0'``.
"""

from __future__ import annotations

import re

from sm120kit.patterns import pattern
from sm120kit.snapshot.context import Context
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.types.packages import TorchBuild

_VERSION = pattern(r"^__version__\s*(?::[^=\n]*)?=\s*(['\"])(.+?)\1", re.MULTILINE)
_CUDA = pattern(r"^cuda\s*(?::[^=\n]*)?=\s*(?:None\b|(['\"])(.*?)\1)", re.MULTILINE)
_LIMIT = 64 << 10


def read_torch_build(context: Context) -> Fact[TorchBuild]:
    """What the first torch/version.py on the target's path says."""
    for folder in context.site_packages:
        path = f"{folder.rstrip('/')}/torch/version.py"
        if not context.files.exists(path):
            continue
        try:
            text = context.files.text(path, _LIMIT)
        except OSError as error:
            return Unknown(f"{path} cannot be read: {error.strerror}")
        version, cuda = _VERSION.search(text), _CUDA.search(text)
        if version is None:
            return Unknown(f"{path} does not say which version it is")
        if cuda is None:
            return Unknown(f"{path} does not say which CUDA release torch was built for")
        line = text.count("\n", 0, cuda.start()) + 1
        return Known(TorchBuild(version[2], cuda[2] or "", path), Source("file", path, line))
    return Unknown("torch is not installed: no folder of the target's packages holds torch/version.py")
