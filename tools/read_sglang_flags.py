"""Prints the command-line flags of one unpacked SGLang wheel as JSON, for make_sglang_flags.py.

The wheel's own code builds its argparse parser. What that code imports from elsewhere (torch, transformers, ...), and
its own modules that cannot be executed without a GPU stack, are stood in for, so that nothing but the wheel is needed.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import json
import sys
import types
from abc import ABCMeta
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

FACTS: dict[str, dict[str, object]] = {
    "torch": {"__version__": "2.14.1"},
    "torch.version": {"cuda": "13.0", "hip": None, "xpu": None, "__version__": "2.14.1"},
}
"""Attributes that the wheel's code compares while it builds the parser."""


class AnyClass(ABCMeta):
    """A class of which every attribute exists."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return answer(name)


class Anything(metaclass=AnyClass):
    """Can be inherited, made of anything, and asked for any attribute."""

    def __init__(self, *_values: object, **_named: object) -> None:
        return None

    def __class_getitem__(cls, _parameters: object) -> type[Anything]:
        return cls

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return answer(name)


def answer(name: str) -> MagicMock:
    """A function or object by that name; questions about the platform are answered with no."""
    made = MagicMock(name=name)
    if name.startswith(("is_", "has_", "use_")):
        made.return_value = False
    return made


class StandIn(types.ModuleType):
    """A module of which every name exists; those that begin with a capital are classes, as they may be inherited."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        for key, value in FACTS.get(name, {}).items():
            setattr(self, key, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if f"{self.__name__}.{name}" in FACTS:
            return importlib.import_module(f"{self.__name__}.{name}")
        made: Any = type(name, (Anything,), {}) if name[:1].isupper() else answer(name)
        setattr(self, name, made)
        return made


class ForeignModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last to be asked: serves a :class:`StandIn` for every module that is not installed."""

    def find_spec(self, fullname: str, *_where: object) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return StandIn(spec.name)

    def exec_module(self, _module: types.ModuleType) -> None:
        return None


class OwnModules(importlib.abc.MetaPathFinder):
    """The first to be asked: the wheel's modules, each a :class:`StandIn` where its code does not run here."""

    def __init__(self) -> None:
        self.stood_in: dict[str, str] = {}

    def find_spec(self, fullname: str, path: Any = None, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith("sglang."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            self._forgive(spec.loader)
        return spec

    def _forgive(self, loader: importlib.machinery.SourceFileLoader) -> None:
        execute = loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            try:
                execute(module)
            except Exception as error:
                if module.__name__.startswith(("sglang.srt.server_args", "sglang.srt.arg_groups")):
                    raise
                self.stood_in[module.__name__] = f"{type(error).__name__}: {error}"
                sys.modules[module.__name__] = StandIn(module.__name__)

        loader.exec_module = exec_module  # type: ignore[method-assign]  # one loader of one module


def read_flags(root: Path) -> dict[str, Any]:
    """Build the parser of the wheel unpacked at ``root`` and describe its flags."""
    for name in ("sglang", "sglang.srt"):
        package = types.ModuleType(name)
        package.__path__ = [str(root / name.replace(".", "/"))]
        sys.modules[name] = package
    own = OwnModules()
    sys.meta_path.insert(0, own)
    sys.meta_path.append(ForeignModules())
    module = importlib.import_module("sglang.srt.server_args")
    parser = argparse.ArgumentParser(prog="sglang", add_help=False)
    module.ServerArgs.add_cli_args(parser)
    return {"flags": [describe(each) for each in parser._actions if each.option_strings], "stood_in": own.stood_in}


def describe(action: argparse.Action) -> dict[str, Any]:
    """One action as plain data. ``choices`` is null where they come from code that did not run."""
    choices: list[str] | None = None
    if action.choices is not None and not isinstance(action.choices, MagicMock):
        listed = list(action.choices)
        choices = [str(each) for each in listed] if all(isinstance(each, str | int) for each in listed) else None
    bad_choices = action.choices is not None and not choices
    return {
        "flags": list(action.option_strings),
        "dest": action.dest,
        "action": type(action).__name__,
        "nargs": action.nargs,
        "type": getattr(action.type, "__name__", type(action.type).__name__) if action.type else "",
        "choices": None if bad_choices else choices or [],
        "default": action.default if isinstance(action.default, str | int | float | list | None) else None,
        "const": getattr(action, "const_value", action.const),
        "deprecated": type(action).__name__.startswith("Deprecated")
        or "deprecated" in str(action.help or "").lower()[:20],
        "new_flag": getattr(action, "new_flag", None) or "",
        "refused": getattr(action, "error_message", None) or "",
    }


if __name__ == "__main__":
    json.dump(read_flags(Path(sys.argv[1])), sys.stdout, default=lambda _: None)
