"""Copied into the environments in which SGLang runs on a CPU, and loaded by a .pth file whenever one starts.

Two packages that SGLang imports exist only for CUDA. ``sgl_kernel`` is served from here: on a CPU without AMX nearly
every call takes SGLang's plain torch path, and what is called all the same is written out below. torchvision's wheel
registers shape functions of operators that are compiled for CUDA only; an empty module in their place is enough.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

ABSENT = frozenset({"sgl_kernel.scalar_type"})
"""Modules whose absence SGLang handles itself, and better than a stand-in would."""


class KernelModule(ModuleType):
    """A module in which every name can be imported and fails when it is called."""

    __version__ = "0"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in CALLED:
            return CALLED[name]

        def missing(*_arguments: object, **_named: object) -> None:
            raise NotImplementedError(f"{self.__name__}.{name} has no stand-in")

        return missing


class KernelFinder(MetaPathFinder, Loader):
    """Finds ``sgl_kernel`` and everything below it."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "sgl_kernel" or fullname in ABSENT:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return KernelModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == "sgl_kernel":
            define_operators(module)


def assign_req_to_token_pool(
    requests: Any, table: Any, starts: Any, ends: Any, locations: Any, _row_length: int
) -> None:
    """Write each request's new cache locations, which lie in one row after another, into its row of the table."""
    taken = 0
    for request, start, end in zip(requests.tolist(), starts.tolist(), ends.tolist(), strict=True):
        table[request, start:end] = locations[taken : taken + end - start].to(table.dtype)
        taken += end - start


CALLED: dict[str, Callable[..., Any]] = {"assign_req_to_token_pool_cpu": assign_req_to_token_pool}


def define_operators(module: ModuleType) -> None:
    """The two operators that every CPU server calls at its start; they bind threads and open shared memory."""
    import torch

    library = torch.library.Library("sgl_kernel", "FRAGMENT")
    library.define("init_cpu_threads_env(str cpu_ids) -> str")
    library.impl("init_cpu_threads_env", lambda _cpus: "threads are not bound", "CompositeExplicitAutograd")
    library.define("initialize(int size, int rank) -> ()")
    library.impl("initialize", lambda _size, _rank: None, "CompositeExplicitAutograd")
    module.__dict__["_library"] = library


def install() -> None:
    """Put both stand-ins in place."""
    sys.modules.setdefault("torchvision._meta_registrations", ModuleType("torchvision._meta_registrations"))
    sys.meta_path.append(KernelFinder())


install()
