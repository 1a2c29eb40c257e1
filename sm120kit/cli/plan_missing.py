"""What a plan lacks, said at once where it is more than one thing."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from sm120kit.cli.launch_options import newest_version
from sm120kit.errors import Sm120kitError
from sm120kit.snapshot.facts import Known

if TYPE_CHECKING:
    from sm120kit.snapshot.files import Files
    from sm120kit.snapshot.types.snapshot import Snapshot


def refuse_missing(snapshot: Snapshot | None, *, version: bool, gpus: bool, weights: bool) -> None:
    """``version``, ``gpus``, ``weights``: what is known beside the target that was read; ``None`` = none was.

    Raises:
        Sm120kitError: two or three things are not known, with the options that say them all.
    """
    found = snapshot.distributions if snapshot else None
    version = version or (isinstance(found, Known) and any(each.name == "sglang" for each in found.value))
    cards = snapshot.driver.gpus if snapshot else None
    gpus = gpus or (isinstance(cards, Known) and bool(cards.value))
    lacking = [
        words
        for known, words in (
            (version, ("which SGLang", f"--sglang {newest_version()}")),
            (gpus, ("which GPUs", "--gpu rtx-pro-6000x8")),
            (weights, ("how large the weights are", "--weights-gib X")),
        )
        if not known
    ]
    if len(lacking) > 1:
        asked = [words for words, _option in lacking]
        raise Sm120kitError(
            f"{', '.join(asked[:-1])} and {asked[-1]} is told neither here nor by an option",
            hint=f"Name them, as in: {' '.join(option for _words, option in lacking)}",
        )


def holds_weights(model: str, files: Files) -> bool:
    """Whether safetensors files lie in the model's folder, or beside its config.json."""
    folder = posixpath.dirname(model) if model.endswith(".json") else model
    try:
        return any(name.endswith(".safetensors") for name in files.names(folder or "."))
    except OSError:
        return True  # said by whoever reads it
