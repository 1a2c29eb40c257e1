"""The one table of what a launch can be asked for: option on the command line, key in a fleet.toml, place in an
:class:`~sm120kit.fleet.order.order.Order`, default, help. The command, the reader of the file and ``--print-config``
are all made from it."""

from __future__ import annotations

from functools import reduce
from typing import Any, Literal, get_args

from sm120kit.fleet.order.order import Order
from sm120kit.fleet.spec import Thinking
from sm120kit.fleet.types import LEVELS, Struct

Kind = Literal["text", "path", "count", "seconds", "gib", "switch", "choice", "texts", "variables"]
"""``path``: a relative one is meant from the working folder, in a file from the file's. ``count`` is a whole number,
``seconds`` and ``gib`` are any number; ``texts`` and ``variables`` (``NAME=VALUE``) may be given again and again."""


class Option(Struct, frozen=True):
    """One thing that can be asked for."""

    flag: str
    """On the command line; empty = it is the command's argument."""
    key: str
    """In a fleet.toml, the table before a dot: ``limits.start``."""
    kind: Kind
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = float("inf")

    @property
    def parameter(self) -> str:
        """Its name as a parameter of the command."""
        return self.flag.lstrip("-").replace("-", "_") or self.key

    @property
    def field(self) -> tuple[str, ...]:
        """Where it stands in an order: the names from the outermost on."""
        return tuple(self.key.replace("-", "_").split("."))

    @property
    def range(self) -> str:
        """What a number may be, in words."""
        if self.most == float("inf"):
            return f"{self.least:g} or more"
        return f"{self.least:g} to {self.most:g}"

    @property
    def default(self) -> Any:
        """What holds where it is not given."""
        return self.value_in(Order())

    def value_in(self, order: Order) -> Any:
        """What an order says of it."""
        return reduce(getattr, self.field, order)


_MOST_PORT = 65535
_DAY = 86400

OPTIONS: tuple[Option, ...] = (
    Option("", "model", "text", "The model: a folder, or a name that SGLang itself resolves.", "MODEL"),
    Option("--name", "name", "text", "Name of the fleet; else made from the model's.", "NAME"),
    Option("--served-model-name", "served-model-name", "text", "Name under which the model is served; else its path.",
           "NAME"),
    Option("--gpus", "gpus", "text", "Which of the GPUs that are there: all, none, or indices and UUIDs as in 0,2.",
           "all|LIST|none"),
    Option("--replicas", "replicas", "count", "Servers to start; 0 = as many as the GPUs give.", "N", most=1024),
    Option("--base-port", "base-port", "count", "Port of the first server; each next one takes the next.", "PORT",
           least=1, most=_MOST_PORT),
    Option("--base-nccl-port", "base-nccl-port", "count", "The same for the ports of torch.distributed.", "PORT",
           least=1, most=_MOST_PORT),
    Option("--host", "host", "text", "Address that the servers listen on.", "ADDRESS"),
    Option("--level", "level", "choice", "How far each server is verified.", choices=LEVELS),
    Option("--thinking", "thinking", "choice", "Whether answers must show that the model thinks first.",
           choices=get_args(Thinking)),
    Option("--stage", "stage", "path", "Copy the model to this folder, on a RAM disk, and load it from there.", "DIR"),
    Option("--log-dir", "log-dir", "path", "Folder of the logs; else beside the state of the fleet.", "DIR"),
    Option("--api-key-file", "api-key-file", "path", "File that holds the key which clients must send.", "FILE"),
    Option("--api-key-variable", "api-key-variable", "text", "The same, from this environment variable.", "NAME"),
    Option("--force", "force", "texts", "Start although preflight found this (give the id of the finding).", "ID"),
    Option("--keep", "keep", "switch", "Leave running what runs when not every server could be verified."),
    Option("--detach", "detach", "switch", "Return when all are verified; the servers go on."),
    Option("--rehearse", "rehearse", "switch", "Rehearse with stand-ins: no GPU and no SGLang is used."),
    Option("--start-limit", "limits.start", "seconds", "From a server's start until it answers.", "SECONDS",
           least=1, most=7 * _DAY),
    Option("--answer-limit", "limits.answer", "seconds", "For one answer while it is verified.", "SECONDS",
           least=1, most=_DAY),
    Option("--verify-limit", "limits.verify", "seconds", "For the whole verification of one server.", "SECONDS",
           least=1, most=_DAY),
    Option("--hang-limit", "limits.hang", "seconds", "Without an answer or progress for so long, it counts as hung.",
           "SECONDS", least=1, most=_DAY),
    Option("--drain-limit", "limits.drain", "seconds", "From SIGTERM until SIGKILL.", "SECONDS", most=_DAY),
    Option("--restarts", "restart.most", "count", "Restarts of one server within the window; 0 = never.", "N",
           most=1000),
    Option("--restart-window", "restart.window", "seconds", "The window in which restarts are counted.", "SECONDS",
           least=1, most=30 * _DAY),
    Option("--restart-delay", "restart.first-delay", "seconds", "Wait before the first restart; doubles each time.",
           "SECONDS", most=_DAY),
    Option("--restart-longest-delay", "restart.longest-delay", "seconds", "The longest wait before a restart.",
           "SECONDS", most=_DAY),
    Option("--python", "target.python", "path", "Run the servers with this interpreter.", "PATH"),
    Option("--cuda-home", "target.cuda-home", "path", "Judge and use this toolkit, in place of CUDA_HOME.", "DIR"),
    Option("--no-system-toolkits", "target.no-system-toolkits", "switch", "Leave out toolkits outside the target."),
    Option("--env-file", "target.env-file", "path", "Variables of the servers: KEY=VALUE lines.", "FILE"),
    Option("--deep", "target.deep", "switch", "Read big binaries too; takes seconds."),
    Option("--data-dir", "target.data-dir", "path", "Where repairs are kept; else $XDG_DATA_HOME/sm120kit.", "DIR"),
    Option("--gpu", "rehearsal.gpu", "text", "With --rehearse: GPUs to simulate, as in rtx-pro-6000x8.", "SPEC"),
    Option("--fault", "rehearsal.faults", "texts", "With --rehearse: what goes wrong.", "KIND[:REPLICA[:once]]"),
    Option("--load-s", "rehearsal.load-s", "seconds", "With --rehearse: what a stand-in takes to load.", "SECONDS",
           most=_DAY),
    Option("--sglang", "rehearsal.sglang", "text", "With --rehearse: SGLang to take after; else the newest known.",
           "VERSION"),
    Option("--weights-gib", "rehearsal.weights-gib", "gib",
           "With --rehearse: weights on each GPU, for a model whose config.json alone is there; 0 = read them.", "X",
           most=1 << 20),
    Option("--variable", "environment", "variables", "Set a variable for the servers.", "NAME=VALUE"),
)  # fmt: skip
"""All of them but SGLang's own arguments, which follow after ``--`` or stand under ``sglang``."""

BY_KEY = {option.key: option for option in OPTIONS}
