"""Toolkits of wheels that are broken in the ways people's are, each as the recipe that makes it from a healthy one."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.wheels.trees import TOOLKIT_WHEELS, add_link_names, add_missing, lay, tree


@dataclass(frozen=True)
class Recipe:
    """A toolkit of ``release``: single parts of another release or left out, link names added, some taken away."""

    release: str
    swap: Mapping[str, str] = field(default_factory=dict)
    """Part -> the release it comes from."""
    drop: frozenset[str] = frozenset()
    link_names: bool = True
    remove: str = ""
    """A path below the CUDA home that is taken away at last."""
    overlay: str = ""
    """The FlashInfer whose libcudacxx is copied into ``include/`` by hand."""

    def requirements(self) -> list[str]:
        """The wheels it is made of."""
        return [
            TOOLKIT_WHEELS[self.swap.get(part, self.release)][part]
            for part in TOOLKIT_WHEELS[self.release]
            if part not in self.drop
        ]


HEALTHY = {release: Recipe(release) for release in TOOLKIT_WHEELS}

BROKEN = {
    "pure": Recipe("13.0", link_names=False),
    "no_lib64": Recipe("13.0", remove="lib64"),
    "no_devlink": Recipe("13.0", remove="lib/libcudart.so"),
    "no_stub": Recipe("13.0", remove="lib/stubs"),
    "no_cccl": Recipe("13.0", drop=frozenset({"cccl"})),
    "hdr_newer": Recipe("13.0", swap={"runtime": "13.2"}),
    "hdr_older": Recipe("13.2", swap={"runtime": "13.0"}),
    "crt_newer": Recipe("13.0", swap={"crt": "13.5"}),
    "crt_older": Recipe("13.2", swap={"crt": "13.0"}),
    "nvvm_newer": Recipe("13.0", swap={"nvvm": "13.5"}),
    "nvvm_older": Recipe("13.2", swap={"nvvm": "13.0"}),
    "natural": Recipe(
        "13.0",
        swap={"crt": "13.5", "nvvm": "13.5", "runtime": "13.5"},
        drop=frozenset({"cccl"}),
        link_names=False,
    ),
    "no_crt": Recipe("13.0", drop=frozenset({"crt"})),
    "no_nvvm": Recipe("13.0", drop=frozenset({"nvvm"})),
    "no_runtime": Recipe("13.0", drop=frozenset({"runtime"}), link_names=False),
    "overlay_13.0": Recipe("13.0", overlay="flashinfer-python==0.7.2.post1"),
    "overlay_13.5": Recipe("13.5", overlay="flashinfer-python==0.6.12"),
}
"""``natural`` is what ``pip install nvidia-cuda-nvcc==13.0.88`` resolves to: its requirements are unpinned."""


@dataclass(frozen=True)
class Made:
    """A recipe carried out."""

    site_packages: Path
    cuda_home: Path


@contextlib.contextmanager
def make(recipe: Recipe, *beside: str) -> Iterator[Made]:
    """Carry out a recipe in a site-packages folder that also holds the wheels ``beside``; gone afterwards."""
    with tree(*recipe.requirements(), *beside) as site_packages:
        cuda_home = site_packages / "nvidia" / "cu13"
        if recipe.link_names:
            add_link_names(cuda_home)
        if recipe.overlay:
            add_missing(lay(recipe.overlay) / "flashinfer/data/cccl/libcudacxx/include", cuda_home / "include")
        if recipe.remove:
            _remove(cuda_home / recipe.remove)
        yield Made(site_packages, cuda_home)


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    else:
        shutil.rmtree(path)
