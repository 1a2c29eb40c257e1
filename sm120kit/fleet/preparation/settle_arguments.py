"""What becomes of SGLang's arguments as typed: those that the fleet sets itself are merged or refused. Pure."""

from __future__ import annotations

from sm120kit.diagnosis.launch import LaunchLine, refuse
from sm120kit.engines.sglang import read_launch_line
from sm120kit.engines.sglang.arguments import take_apart, without
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.order import Order
from sm120kit.fleet.rehearsal import built_in
from sm120kit.fleet.types import Struct

_REFUSED = {
    "port": "Give --base-port PORT to launch itself: each server gets a port of its own from there on",
    "nccl_port": "Give --base-nccl-port PORT to launch itself",
    "base_gpu_id": "Choose GPUs with --gpus: each server sees its own alone, as number 0",
    "gpu_id_step": "Choose GPUs with --gpus: each server sees its own alone",
    "dist_init_addr": "Leave it out: each server has its own --nccl-port",
    "config": "Write what stands in it as arguments, or under [sglang] in a fleet.toml",
}
_ONE_MACHINE = ("nnodes", "node_rank")


class Settled(Struct, frozen=True):
    """SGLang's arguments, settled."""

    arguments: tuple[str, ...]
    """Without the model, its served name and the host, which stand below. May hold secrets."""
    line: LaunchLine
    """The whole line of one server as its version reads it, ports left out."""
    model: str
    served_model_name: str
    host: str

    @property
    def on_cpu(self) -> bool:
        """Whether the servers need no GPU."""
        return self.line.text("device") == "cpu"


def settle_arguments(order: Order, version: str, source: str) -> Settled:
    """Read the arguments as ``version`` does, and take out of them what the fleet itself sets.

    Raises:
        Sm120kitError: the version does not take one of them, one belongs to the fleet, or the model is named twice;
            exit code 2.
    """
    typed = read_launch_line(order.arguments, version, source)
    if typed.exact:  # only the words of a version whose own flags are known are held against it
        refuse(typed.problems)
    for setting, hint in _REFUSED.items():
        if setting in typed.given:
            raise Sm120kitError(f"the fleet itself sets {_flag(typed, setting)} for each server", hint=hint)
    for setting in _ONE_MACHINE:
        if (typed.number(setting) or 0) > (1 if setting == "nnodes" else 0):
            raise Sm120kitError(
                f"{typed.words(setting)}: a fleet's servers do not span machines", hint="Launch a fleet on each machine"
            )
    model = _merged("the model", order.model, typed.model_path) or (built_in.NAME if order.rehearse else "")
    served = _merged("--served-model-name", order.served_model_name, typed.text("served_model_name"))
    given_host = typed.text("host") if "host" in typed.given else ""
    host = given_host if order.host == Order().host and given_host else order.host
    if given_host and host != given_host:
        raise Sm120kitError(f"--host is given twice: {order.host} and {given_host}", hint="Give one of the two")
    arguments = without(order.arguments, ("model_path", "served_model_name", "host"), version)
    return settled(arguments, version, source, model=model, served_model_name=served, host=host)


def refuse_without_model(order: Order) -> None:
    """Refuse to launch nothing.

    Raises:
        Sm120kitError: no model is named, neither to the fleet nor to SGLang; exit code 2.
    """
    if order.model or any(each.setting == "model_path" for each in take_apart(order.arguments, "")):
        return
    raise Sm120kitError(
        "no model was named",
        hint='Name its folder, as in: sm120kit launch /models/qwen, or in a fleet.toml: model = "/models/qwen"',
    )


def settled(
    arguments: tuple[str, ...], version: str, source: str, *, model: str, served_model_name: str, host: str
) -> Settled:
    """The same from parts that are known to be good."""
    name = ("--served-model-name", served_model_name) if served_model_name else ()
    whole = ("--model-path", model, *arguments, *name, "--host", host)
    return Settled(arguments, read_launch_line(whole, version, source), model, served_model_name, host)


def _merged(what: str, option: str, argument: str) -> str:
    if option and argument and option != argument:
        raise Sm120kitError(f"{what} is named twice: {option} and {argument}", hint="Name it once")
    return option or argument


def _flag(line: LaunchLine, setting: str) -> str:
    return line.words(setting).partition(" ")[0].partition("=")[0]
