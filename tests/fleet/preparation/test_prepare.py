"""From an order to a spec, on a target with a driver that answers as real ones do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sm120kit.engines.sglang import read_launch_line
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.order import Order, RehearsalOrder, TargetOrder
from sm120kit.fleet.preparation.prepare import prepare
from sm120kit.fleet.preparation.unread import unread_snapshot
from sm120kit.fleet.preparation.warm_key import warm_key
from sm120kit.fleet.supervision.command import command_of
from sm120kit.snapshot.facts import Known, Source
from tests.fleet.conftest import Prepare
from tests.fleet.target import make_environment

GIB = 1 << 30


def test_one_server_for_each_gpu(prepared: Prepare, model: Path, tmp_path: Path) -> None:
    spec = prepared("--max-running-requests", "64", "--reasoning-parser", "qwen3").spec
    assert [(each.index, each.port, each.nccl_port) for each in spec.replicas] == [
        (number, 30000 + number, 29500 + number) for number in range(8)
    ]
    assert [each.gpus[0].uuid for each in spec.replicas] == [
        f"GPU-0000000{n}-0000-0000-0000-000000000000" for n in range(8)
    ]
    assert (spec.name, spec.model, spec.sglang) == ("qwen3-32b", str(model), "0.5.23")
    assert spec.python == str(tmp_path / "venv/bin/python")
    assert (spec.requested, spec.reasoning_parser) == (64, "qwen3")
    expected = spec.replicas[0].expected
    assert expected is not None
    assert expected.granted == 64
    assert expected.footprint is not None
    assert 75 * GIB < expected.footprint < 94 * GIB
    assert expected.roofline_tokens_per_second is not None
    assert len(spec.warm_key) == 32
    assert not spec.replicas[0].arguments, "one size of cards: SGLang's own choice is right for each"


def test_what_a_healthy_run_needs_is_in_the_environment(prepared: Prepare) -> None:
    spec = prepared(environment={"NCCL_DEBUG": "INFO"}).spec
    assert spec.environment["NCCL_DEBUG"] == "INFO"
    assert "CUDA_VISIBLE_DEVICES" not in spec.environment
    assert "HOME" not in spec.environment, "it is the caller's and stays as it is"


@pytest.mark.parametrize(("gpus", "indices"), [("2,0", [2, 0]), ("GPU-rehearsal-3", [3]), ("all", list(range(8)))])
def test_gpus_are_chosen(gpus: str, indices: list[int]) -> None:
    spec = prepare(Order(rehearse=True, gpus=gpus), {}).spec
    assert [each.gpus[0].index for each in spec.replicas] == indices


def test_groups_of_gpus() -> None:
    spec = prepare(Order(rehearse=True, gpus="0,1,4,5", arguments=("--tp", "2")), {}).spec
    assert [[gpu.index for gpu in each.gpus] for each in spec.replicas] == [[0, 1], [4, 5]]
    made = command_of(spec, spec.replica(1), folder="/tmp/f", base_environment={}, mark="m")
    assert made.environment["CUDA_VISIBLE_DEVICES"].count("GPU-") == 2


def test_servers_without_a_gpu(prepared: Prepare) -> None:
    spec = prepared("--device", "cpu", replicas=2, state="system init !9\n").spec
    assert [each.gpus for each in spec.replicas] == [(), ()]
    assert spec.warm_key == ""


def test_a_mixed_machine_gives_each_server_its_own_defaults(prepared: Prepare) -> None:
    small = "7 memory 32607 32000\n"
    spec = prepared("--chunked-prefill-size", "2048", state=small, gpus="0,7").spec
    large_card, small_card = (each.arguments for each in spec.replicas)
    assert large_card[0] == small_card[0] == "--mem-fraction-static"
    assert float(large_card[1]) > float(small_card[1])
    assert "--chunked-prefill-size" not in large_card
    assert large_card[2:] == ("--cuda-graph-max-bs-decode", "256")
    assert small_card[2:] == ("--cuda-graph-max-bs-decode", "48")
    made = command_of(spec, spec.replica(0), folder="/tmp/f", base_environment={}, mark="m")
    assert set(large_card) <= set(made.argv)


def test_the_flags_of_the_version_are_used(built_nvml: Path, tmp_path: Path, model: Path) -> None:
    python = make_environment(tmp_path / "old", {"sglang": "0.5.12", "torch": "2.11.0"})
    (built_nvml.parent / "state").write_text("7 memory 32607 32000\n")
    order = Order(model=str(model), gpus="0", target=TargetOrder(python=str(python)))
    spec = prepare(
        order, {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LD_LIBRARY_PATH": str(built_nvml.parent)}
    ).spec
    assert "--cuda-graph-max-bs" in spec.replicas[0].arguments


def warm(
    *arguments: str, driver: str = "580.95.05", model: bytes = b"{}", cc: str = "12.0", home: str = "/root"
) -> str:
    snapshot = unread_snapshot()
    known = Known(driver, Source("driver", "NVML"))
    return warm_key(
        replace(snapshot, driver=replace(snapshot.driver, version=known)),
        read_launch_line(arguments, "0.5.23"),
        compute_capabilities=(cc, cc),
        model_config=model,
        environment={"HOME": home, "UNRELATED": str(len(arguments))},
    )


def test_the_warm_key_tells_what_kernels_depend_on() -> None:
    base = warm()
    same = (warm("--log-level", "debug"), warm("--api-key", "a-secret"), warm("--port", "1", "--host", "::1"))
    assert set(same) == {base}
    others = (
        warm("--attention-backend", "triton"),
        warm("--tp", "2"),
        warm(driver="590.1"),
        warm(model=b"[]"),
        warm(cc="10.0"),
        warm(home="/home/other"),
    )
    assert len({base, *others}) == 1 + len(others)
    assert warm("--device", "cpu") == ""


def test_the_key_comes_from_where_it_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("sesame-123\n")
    asked = Order(rehearse=True, api_key_file=str(file))
    assert prepare(asked, {}).spec.arguments[0] == "--api-key=sesame-123"
    file.write_text("two words\n")
    with pytest.raises(Sm120kitError) as refused:
        prepare(asked, {})
    assert "two words" not in str(refused.value)
    by_name = Order(rehearse=True, api_key_variable="KEY")
    assert prepare(by_name, {"KEY": "sesame-123"}).spec.arguments[0] == "--api-key=sesame-123"
    with pytest.raises(Sm120kitError, match="KEY holds no API key"):
        prepare(by_name, {})


def test_model_name_and_host_may_stand_among_the_arguments(model: Path) -> None:
    given = (f"--model-path={model}", "--served-model-name", "q", "--host", "0.0.0.0")
    spec = prepare(Order(rehearse=True, arguments=given), {}).spec
    assert (spec.model, spec.served_model_name, spec.host, spec.arguments) == (str(model), "q", "0.0.0.0", ())


def test_a_staged_model_keeps_its_name_for_clients(model: Path, tmp_path: Path) -> None:
    spec = prepare(Order(rehearse=True, model=str(model), stage=str(tmp_path / "ram")), {}).spec
    assert spec.model.startswith(f"{tmp_path}/ram/Qwen3-32B-")
    assert spec.served_model_name == str(model)


REFUSED: dict[str, tuple[tuple[str, ...], dict[str, Any], str]] = {
    "the port": (("--port", "1"), {}, "the fleet itself sets --port"),
    "the port, shortened": (("--nccl-p", "1"), {}, "the fleet itself sets --nccl-p"),
    "the GPU": (("--base-gpu-id=1",), {}, "the fleet itself sets --base-gpu-id"),
    "rendezvous": (("--dist-init-addr", "a:1"), {}, "the fleet itself sets --dist-init-addr"),
    "a file of arguments": (("--config", "x.yaml"), {}, "the fleet itself sets --config"),
    "several machines": (("--nnodes", "2"), {}, "do not span machines"),
    "a typo": (("--max-runing-requests", "4"), {}, "Write --max-running-requests"),
    "a flag of before": (("--cuda-graph-max-bs", "4"), {}, "Write --cuda-graph-max-bs-decode"),
    "a value": (("--tp", "two"), {}, "'two' is no whole number for --tp"),
    "two models": (("--model-path", "/other"), {}, "the model is named twice"),
    "no such GPU": ((), {"gpus": "8"}, "there is no GPU 8"),
    "the same twice": ((), {"gpus": "0,GPU-rehearsal-0"}, "names GPU 0 twice"),
    "several at once": ((), {"gpus": "GPU-rehearsal"}, "fits several GPUs"),
    "an empty place": ((), {"gpus": "0,,1"}, "empty place"),
    "a MIG instance": ((), {"gpus": "MIG-1"}, "is a MIG instance"),
    "no GPU asked for": ((), {"gpus": "none"}, "leaves nothing to start"),
    "uneven": (("--tp", "3"), {}, "do not share out 8 GPUs evenly: 2 would be left"),
    "pipelines": (("--tp", "2", "--pp-size", "2"), {"gpus": "0,1"}, "servers of 4 GPUs each do not share out 2"),
    "SGLang that is no version": ((), {"rehearsal": RehearsalOrder(sglang="latest")}, "--sglang latest is no version"),
    "no such fault": ((), {"rehearsal": RehearsalOrder(faults=("hangs",))}, "'hangs' is no fault"),
    "a fault of nobody": ((), {"rehearsal": RehearsalOrder(faults=("hang:8",))}, "there is no server 8"),
    "too many": ((), {"replicas": 9}, "needs 9 GPUs, 1 for each, and there are 8"),
    "ports in the way": ((), {"base_nccl_port": 30004}, "would take port 30004"),
    "ports past the end": ((), {"base_port": 65530}, "on port 65537, and the highest that works is 65535"),
    "nothing to stage": ((), {"model": "Qwen/Qwen3-32B", "stage": "/dev/shm/x"}, "--stage copies a model that lies"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_before_anything_starts(case: str, model: Path) -> None:
    arguments, asked, said = REFUSED[case]
    with pytest.raises(Sm120kitError) as refused:
        prepare(Order(**{"rehearse": True, "model": str(model), "arguments": arguments, **asked}), {})
    assert said in f"{refused.value.message}\n{refused.value.hint}"
    assert refused.value.exit_code in (2, 4)


@pytest.mark.parametrize(
    ("state", "said"),
    [("3 mig 1\n", "GPU 3 is split"), ("system init !9\n", "no GPU was found")],
    ids=["MIG", "no driver"],
)
def test_gpus_that_no_server_can_be_started_on(prepared: Prepare, state: str, said: str) -> None:
    with pytest.raises(Sm120kitError, match=said):
        prepared(state=state)


def test_an_environment_without_sglang(tmp_path: Path, model: Path) -> None:
    python = make_environment(tmp_path / "empty", {"torch": "2.14.1"})
    with pytest.raises(Sm120kitError, match="no SGLang is installed") as refused:
        prepare(Order(model=str(model), target=TargetOrder(python=str(python))), {"PATH": "/usr/bin:/bin"})
    assert refused.value.exit_code == 4


def test_older_versions_need_a_port_that_is_higher_by_ten_thousand() -> None:
    asked = Order(rehearse=True, base_port=55530, rehearsal=RehearsalOrder(sglang="0.5.12"))
    with pytest.raises(Sm120kitError, match="on port 55537, and the highest that works is 55535") as refused:
        prepare(asked, {})
    assert "--base-port 55528" in refused.value.hint
    prepare(Order(rehearse=True, base_port=55528, rehearsal=RehearsalOrder(sglang="0.5.12")), {})


def test_attention_data_parallelism_takes_more_ports() -> None:
    spec = prepare(Order(rehearse=True, arguments=("--enable-dp-attention",)), {}).spec
    assert [each.port for each in spec.replicas] == list(range(30000, 30080, 10))


def test_a_rehearsal_reads_no_target() -> None:
    made = prepare(Order(rehearse=True, rehearsal=RehearsalOrder(gpu="rtx-pro-6000x2")), {})
    assert made.spec.name == "rehearsal-stand-in"
    assert made.spec.rehearsal is not None
    assert len(made.spec.replicas) == 2
    assert made.spec.environment == {}


def test_what_a_simulated_gpu_could_do_at_most_is_known(model: Path) -> None:
    expected = prepare(Order(rehearse=True, model=str(model)), {}).spec.replicas[0].expected
    assert expected is not None
    assert expected.roofline_tokens_per_second is not None


@pytest.mark.parametrize(
    ("arguments", "gpus"),
    [
        (("--tp", "2", "--pp-size", "2"), 4),
        (("--dp-size", "2"), 2),
        (("--tp", "4", "--dp", "4", "--enable-dp-attention"), 4),
    ],
)
def test_every_rank_gets_a_gpu(arguments: tuple[str, ...], gpus: int) -> None:
    spec = prepare(Order(rehearse=True, arguments=arguments), {}).spec
    assert {len(each.gpus) for each in spec.replicas} == {gpus}


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"model": "/models/\udcff"}, "the model's name"),
        ({"arguments": ("--chat-template", "\udcff")}, "an argument of SGLang"),
        ({"log_dir": "/logs/\udcff"}, "--log-dir"),
    ],
)
def test_bytes_that_are_no_text_are_refused(asked: dict[str, Any], what: str) -> None:
    with pytest.raises(Sm120kitError, match=f"{what} holds bytes that are no UTF-8"):
        prepare(Order(rehearse=True, **asked), {})


def test_a_place_for_state_that_is_no_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state/\udcff")
    with pytest.raises(Sm120kitError, match=r"XDG_STATE_HOME.* holds bytes"):
        prepare(Order(rehearse=True), {})


@pytest.mark.parametrize("key", ["", "-begins-like-a-flag"])
def test_a_key_that_no_file_can_hold_is_refused_before_anything_starts(key: str) -> None:
    with pytest.raises(Sm120kitError, match="--api-key is empty or begins with a dash") as caught:
        prepare(Order(rehearse=True, arguments=(f"--api-key={key}",)), {})
    assert "flag" not in caught.value.message
