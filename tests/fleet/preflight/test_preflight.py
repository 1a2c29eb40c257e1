"""Preflight: each thing that would fail after minutes of loading is found before anything starts."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from sm120kit.capacity.types import Plan
from sm120kit.cli.main import main
from sm120kit.diagnosis.catalogue import read_catalogue
from sm120kit.diagnosis.types import Finding, Severity
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.order.order import Order, RehearsalOrder
from sm120kit.fleet.preflight import host
from sm120kit.fleet.preflight.doctor import ask_doctor
from sm120kit.fleet.preflight.gpus import ask_gpus
from sm120kit.fleet.preflight.host import ask_host
from sm120kit.fleet.preflight.model import ask_model
from sm120kit.fleet.preflight.plan import ask_plan, server_plans
from sm120kit.fleet.preflight.ports import ask_ports
from sm120kit.fleet.preflight.room import Room
from sm120kit.fleet.preflight.run import run_preflight
from sm120kit.fleet.preflight.stage import ask_stage
from sm120kit.fleet.preparation.prepare import Prepared, prepare
from sm120kit.snapshot.facts import Known, Source
from tests.fleet.conftest import Prepare
from tests.fleet.target import make_model
from tests.models import QWEN3_32B
from tests.planning import DRAFTING, QWEN36_27B, write_config

GIB = 1 << 30


def rehearsed(*arguments: str, gpu: str = "rtx-pro-6000x2", **asked: object) -> Prepared:
    """A launch that needs no target."""
    given = {"rehearse": True, "rehearsal": RehearsalOrder(gpu=gpu), "arguments": arguments, **asked}
    return prepare(Order(**given), {})  # type: ignore[arg-type]


def as_real(made: Prepared) -> Prepared:
    """The same as a launch of servers, as far as questions to the machine go."""
    return replace(made, spec=replace(made.spec, rehearsal=None))


def only(findings: tuple[Finding, ...]) -> Finding:
    assert len(findings) == 1, [finding.message for finding in findings]
    return findings[0]


@contextmanager
def taken(host: str = "127.0.0.1") -> Iterator[int]:
    with socket.create_server((host, 0)) as server:
        yield server.getsockname()[1]


# ports (others on this machine take some too, so each test looks at its own alone)


def port_findings(port: int, *arguments: str, **asked: object) -> list[Finding]:
    """What is said of this port, for one server; also where others have taken its neighbours."""
    findings = ask_ports(rehearsed(*arguments, gpu="rtx-pro-6000", **asked), {}).findings
    return [each for each in findings if port in named_ports(each)]


def named_ports(finding: Finding) -> set[int]:
    """Those of ``127.0.0.1:29500-29507, 30000``."""
    runs = [run.partition("-") for run in finding.subject.rpartition(":")[2].split(", ")]
    return {port for first, _, last in runs for port in range(int(first), int(last or first) + 1)}


def test_a_port_that_is_free() -> None:
    with taken() as port:
        pass
    assert not port_findings(port, base_port=port)


def test_a_taken_port_is_found_with_its_owner() -> None:
    with taken() as port:
        found = only(tuple(port_findings(port, base_port=port)))
    assert (found.check, found.severity) == ("launch.port-taken", Severity.ERROR)
    assert f"port {port} (HTTP of server 0) is taken" in found.message
    assert any(f"process {os.getpid()}" in evidence.text for evidence in found.evidence)


def test_ports_of_several_servers_are_one_sentence() -> None:
    for base in range(20_000, 29_000, 7):
        with ExitStack() as stack:
            try:
                for port in range(base, base + 3):
                    stack.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            findings = ask_ports(
                rehearsed(gpu="rtx-pro-6000x3", base_port=base, base_nccl_port=base + 100), {}
            ).findings
            found = next(each for each in findings if "HTTP" in each.message)
            assert f"ports {base}-{base + 2} (HTTP of servers 0-2) are taken" in found.message
            assert len([each for each in found.evidence if "belongs to process" in each.text]) == 3
            return


def test_a_port_of_torch_distributed_that_is_taken() -> None:
    with taken() as port:
        (found,) = port_findings(port, base_nccl_port=port)
    assert "torch.distributed of server 0" in found.message


def test_a_port_taken_on_every_address_counts() -> None:
    with taken("0.0.0.0") as port:
        assert port_findings(port, base_port=port)


def test_a_port_that_an_own_process_of_the_server_needs() -> None:
    with taken() as port:
        (found,) = port_findings(port, "--enable-dp-attention", base_port=port - 233)
    assert "(its own processes of server 0)" in found.message


def test_two_ports_of_one_server_are_told_of_one_server() -> None:
    with taken() as port, ExitStack() as stack:
        with suppress(OSError):  # others may have it
            stack.enter_context(socket.create_server(("127.0.0.1", port + 1)))
        (found,) = port_findings(port, "--enable-dp-attention", base_port=port - 233)
    assert {port, port + 1} <= named_ports(found)
    assert "(its own processes of server 0) are taken" in found.message


def test_an_address_of_another_machine() -> None:
    (found,) = port_findings(30000, host="192.0.2.1")
    assert "no address of this machine" in found.message


def test_a_connection_that_has_ended_holds_no_port() -> None:
    """TIME_WAIT is no owner: a server binds such a port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        inside, _ = server.accept()
        inside.close()
        client.close()
    assert not port_findings(port, base_port=port)


# GPUs and plan


def test_idle_gpus(prepared: Prepare) -> None:
    answer = ask_gpus(prepared(), {})
    assert not answer.findings
    assert "8 GPUs" in answer.text


def test_a_gpu_with_another_server_on_it(prepared: Prepare) -> None:
    made = prepared(state=f"5 memory 97887 13150\n5 process {os.getpid()} 84000\n")
    found = only(ask_gpus(made, {}).findings)
    assert (found.check, found.severity) == ("launch.gpu-busy", Severity.ERROR)
    assert "GPU 5 has 82.8 GiB taken by others, and what is left is too little: " in found.message
    assert any("84000" in each.text or "82.03 GiB" in each.text for each in found.evidence)
    assert not ask_plan(made, {}).findings, "it is said once"


def test_a_gpu_of_which_some_is_taken(prepared: Prepare) -> None:
    found = only(ask_gpus(prepared(state="5 memory 97887 93000\n"), {}).findings)
    assert found.severity is Severity.WARNING
    assert "predicted to grant" in found.message


def test_a_display_takes_no_gpu(prepared: Prepare) -> None:
    assert not ask_gpus(prepared(state="any memory 97887 97000\n"), {}).findings


def test_without_a_plan_a_tenth_of_the_card_is_too_much(prepared: Prepare) -> None:
    made = prepared(model="Qwen/Qwen3-32B", state="0 memory 97887 80000\n1 memory 97887 95000\n", gpus="0,1")
    assert [found.severity for found in ask_gpus(made, {}).findings] == [Severity.ERROR, Severity.WARNING]


def test_requested_and_predicted(model: Path) -> None:
    made = rehearsed("--max-running-requests", "64", model=str(model))
    answer = ask_plan(made, {})
    assert answer.text == "2 servers: requested 64, predicted 64 each, with room for 40 of 2,048 tokens each"
    found = only(answer.findings)
    assert (found.check, found.severity) == ("launch.fewer-granted", Severity.NOTE)
    assert found.message.startswith("a server grants 64, and its pool has room for 40 of 2,048 tokens each")
    assert made.spec.remarks == (found.message,)


def test_requests_that_all_fit(model: Path) -> None:
    made = rehearsed("--max-running-requests", "8", model=str(model))
    answer = ask_plan(made, {})
    assert (answer.text, answer.findings) == ("2 servers: requested 8, predicted 8 each", ())
    assert made.spec.remarks == ()


@pytest.mark.parametrize("gpu", ["rtx-pro-6000x2", "rtx-5090x2", "b200", "h200x2"])
@pytest.mark.parametrize("asked", [("--mem-fraction-static", "0.85"), (), ("--tp-size", "2")])
def test_a_rehearsal_is_planned_as_the_plan_for_the_same_cards(
    gpu: str, asked: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hybrid = make_model(tmp_path / "qwen36", QWEN36_27B, gib=51)
    if "--tp-size" in asked and not gpu.endswith("x2"):
        gpu += "x2"
    line = ("--max-running-requests", "64", *asked)
    main(["plan", str(hybrid), "--gpu", gpu, "--sglang", "0.5.23", "--json", "--", *line])
    planned = msgspec.json.decode(capsys.readouterr().out, type=Plan)
    (rehearsal,) = server_plans(rehearsed(*line, model=str(hybrid), gpu=gpu))
    assert rehearsal.plan is not None
    assert rehearsal.plan.budget == planned.budget
    assert rehearsal.plan.predicted == planned.predicted
    assert rehearsal.plan.assumptions == planned.assumptions


def test_a_model_that_does_not_fit(model: Path) -> None:
    found = only(ask_plan(rehearsed(model=str(model), gpu="rtx-5090x2"), {}).findings)
    assert (found.check, found.severity) == ("launch.memory-short", Severity.ERROR)
    assert any("4 GPUs" in getattr(each, "text", "") for each in found.remedies)


@pytest.mark.parametrize(
    ("asked", "gpu", "check", "said", "remedy"),
    [
        (("--tp-size", "3"), "b200x3", "server.parallel-size", "64 attention heads cannot", "--tp-size 2"),
        (
            ("--context-length", "999999"),
            "b200",
            "server.context-too-long",
            "--context-length 999999 is more than the 40,960 tokens",
            "--context-length 40960",
        ),
    ],
)
def test_what_stops_a_server_whatever_its_memory(
    asked: tuple[str, ...], gpu: str, check: str, said: str, remedy: str, tmp_path: Path
) -> None:
    config = QWEN3_32B | {"max_position_embeddings": 40960}
    made = rehearsed(*asked, model=str(make_model(tmp_path / "qwen", config, gib=61)), gpu=gpu)
    answer = ask_plan(made, {})
    found = only(answer.findings)
    assert (found.check, found.severity) == (check, Severity.ERROR)
    assert said in found.message
    assert said in answer.text
    assert commands(found)[0] == remedy


def test_servers_of_a_mixed_machine_are_planned_apart(model: Path) -> None:
    made = rehearsed(model=str(model), gpu="rtx-5090,rtx-pro-6000x2")
    assert [plan.replicas for plan in server_plans(made)] == [(0,), (1, 2)]
    assert only(ask_plan(made, {}).findings).subject == "server 0"


def test_fewer_granted_than_requested_is_explained(tmp_path: Path) -> None:
    hybrid = make_model(tmp_path / "qwen36", QWEN36_27B, gib=51)
    found = only(ask_plan(rehearsed("--max-running-requests", "128", model=str(hybrid)), {}).findings)
    assert (found.check, found.severity) == ("launch.fewer-granted", Severity.WARNING)
    assert found.message == "128 requests at a time are asked for, and 14 will be granted"
    assert "73 states serve 14 requests, each counted 5" in found.evidence[0].text
    assert any("--disable-radix-cache --max-running-requests 83" in command for command in commands(found))


def test_asking_for_less_grants_more_where_drafting_sets_memory_aside(tmp_path: Path) -> None:
    hybrid = make_model(tmp_path / "qwen36", QWEN36_27B, gib=51)
    line = (*DRAFTING, "--mamba-scheduler-strategy", "extra_buffer", "--mem-fraction-static", "0.84")
    asked = Order(
        rehearse=True,
        model=str(hybrid),
        rehearsal=RehearsalOrder(gpu="b200", sglang="0.5.12"),
        arguments=(*line, "--max-running-requests", "128"),
    )
    found = only(ask_plan(prepare(asked, {}), {}).findings)
    assert found.message == "128 requests at a time are asked for, and 16 will be granted"
    assert commands(found)[0].startswith("--max-running-requests 4")


def commands(found: Finding) -> list[str]:
    return [command for each in found.remedies for command in getattr(each, "commands", ())]


# model


def model_findings(made: Prepared, **environment: str) -> tuple[Finding, ...]:
    return ask_model(as_real(made), environment).findings


def test_a_whole_model(model: Path) -> None:
    assert not model_findings(rehearsed(model=str(model)))


DAMAGES = {
    "a shard is missing": ("1 weight files are missing: model-00002", "model-00002-of-00004.safetensors", None),
    "a shard is cut off": ("the weights are not whole", "model-00004-of-00004.safetensors", 4000),
    "a shard is no safetensors": ("the weights are not whole", "model-00003-of-00004.safetensors", b"<html>no</html>"),
    "no configuration": ("cannot be told", "config.json", None),
    "configuration cut off": ("cannot be told", "config.json", 20),
    "no tokenizer": ("holds no tokenizer", "tokenizer.json", None),
    "index is none": ("is no index", "model.safetensors.index.json", b"[]"),
    "index leads out": ("which is no file beside it", "model.safetensors.index.json",
                        b'{"weight_map": {"a": "../../etc/passwd"}}'),
}  # fmt: skip


def test_what_is_missing_is_not_said_to_be_there(model: Path) -> None:
    (model / "tokenizer.json").unlink()
    answer = ask_model(rehearsed(model=str(model)), {})
    assert len(answer.findings) == 1
    assert answer.text.startswith("looked for configuration, weights and tokenizer in ")


def test_a_rehearsal_is_content_with_a_configuration_where_the_weights_are_told(tmp_path: Path) -> None:
    write_config(tmp_path, QWEN36_27B)
    hardware = RehearsalOrder(gpu="rtx-pro-6000x2", weights_gib=51)
    for named in (tmp_path, tmp_path / "config.json"):
        made = rehearsed(model=str(named), rehearsal=hardware)
        answer = ask_model(made, {})
        assert (answer.findings, answer.text) == (
            (), f"configuration in {named}, weights of 51 GiB on each GPU as given; no more is needed",
        )  # fmt: skip
        assert [each.plan.budget.weights for each in made.forecasts if each.plan] == [51 * GIB] * 2
    (missing,) = [each for each in ask_model(rehearsed(model=str(tmp_path)), {}).findings if "whole" in each.message]
    assert "--weights-gib X" in commands(missing)[-1]
    assert [each for each in model_findings(rehearsed(model=str(tmp_path))) if "whole" in each.message]


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_model(model: Path, case: str) -> None:
    said, name, damage = DAMAGES[case]
    file = model / name
    if damage is None:
        file.unlink()
    elif isinstance(damage, int):
        os.truncate(file, damage)
    else:
        file.write_bytes(damage)
    found = model_findings(rehearsed(model=str(model)))
    assert [each for each in found if said in each.message], [each.message for each in found]
    assert {each.check for each in found} == {"launch.model-incomplete"}


def test_a_link_into_a_place_that_is_not_mounted(model: Path) -> None:
    shard = model / "model-00001-of-00004.safetensors"
    shard.unlink()
    shard.symlink_to("/not/mounted/blob")
    assert "1 weight files are missing" in only(model_findings(rehearsed(model=str(model)))).message


def test_dummy_weights_and_a_tokenizer_elsewhere(model: Path) -> None:
    for file in (*model.glob("*.safetensors*"), model / "tokenizer.json"):
        file.unlink()
    assert not model_findings(rehearsed("--load-format", "dummy", "--tokenizer-path", "/t", model=str(model)))


@pytest.mark.parametrize("name", ["/models/qwen", "./qwen", "a/b/c", "~/qwen", "sp ace", "-"])
def test_what_is_no_path_and_no_name(name: str) -> None:
    found = only(model_findings(rehearsed(model=name)))
    assert (found.check, found.severity) == ("launch.model-missing", Severity.ERROR)


def test_a_rehearsal_of_a_path_that_is_not_there_says_so() -> None:
    made = rehearsed(model="/models/typo")
    found = only(ask_model(made, {}).findings)
    assert (found.check, found.severity) == ("launch.model-missing", Severity.WARNING)
    assert "there is no model at /models/typo" in found.message
    assert made.spec.remarks == (found.message,)
    assert not ask_model(rehearsed(), {}).findings
    assert rehearsed(model="Qwen/Qwen3-32B").spec.remarks == ()


def test_a_model_of_the_hub(tmp_path: Path) -> None:
    made = rehearsed(model="Qwen/Qwen3-32B")
    assert only(model_findings(made, HF_HOME=str(tmp_path))).severity is Severity.WARNING
    found = only(model_findings(made, HF_HOME=str(tmp_path), HF_HUB_OFFLINE="1"))
    assert (found.check, found.severity) == ("launch.model-missing", Severity.ERROR)


def test_a_model_in_the_cache_of_the_hub(tmp_path: Path) -> None:
    repository = tmp_path / "hub" / "models--Qwen--Qwen3-32B"
    commit = "a" * 40
    make_model(repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    made = prepare(Order(rehearse=True, model="Qwen/Qwen3-32B"), {"HF_HOME": str(tmp_path)})
    assert made.place.kind == "cached"
    assert made.spec.model == "Qwen/Qwen3-32B"
    assert made.forecasts[0].plan is not None
    assert not model_findings(made)


def test_the_file_of_a_model(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"")
    assert "is a file" in only(model_findings(rehearsed(model=str(file)))).message


# host


def host_findings(made: Prepared) -> list[str]:
    return [each.check for each in ask_host(made, {}).findings]


def with_memory(made: Prepared, size: int) -> Prepared:
    host = replace(made.case.snapshot.host, memory_available=Known(size, Source("file", "/proc/meminfo")))
    return replace(as_real(made), case=replace(made.case, snapshot=replace(made.case.snapshot, host=host)))


@pytest.mark.parametrize(
    ("gib", "severity"), [(3, Severity.ERROR), (20, Severity.WARNING), (100, None)], ids=["short", "no cache", "enough"]
)
def test_memory_of_the_machine(model: Path, gib: int, severity: Severity | None) -> None:
    found = ask_host(with_memory(rehearsed(model=str(model)), gib * GIB), {}).findings
    assert [each.severity for each in found if each.check == "launch.host-memory-short"] == (
        [severity] if severity else []
    )


def test_hierarchical_caches_and_copies_count(model: Path) -> None:
    caches = rehearsed("--enable-hierarchical-cache", "--hicache-size", "60", model=str(model))
    assert "launch.host-memory-short" in host_findings(with_memory(caches, 100 * GIB))
    staged = rehearsed(model=str(model), stage="/dev/shm/x")
    assert "launch.host-memory-short" in host_findings(with_memory(staged, 60 * GIB))


def test_a_state_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file" / "below"))
    assert host_findings(rehearsed()) == ["launch.state-unwritable"] * 2
    assert host_findings(rehearsed(log_dir=str(tmp_path / "logs"))) == ["launch.state-unwritable"]


@pytest.mark.parametrize(("hard", "severity"), [(1000, Severity.ERROR), (4000, Severity.WARNING), (20000, None)])
def test_the_limit_of_open_files(monkeypatch: pytest.MonkeyPatch, hard: int, severity: Severity | None) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (min(hard, 1024), hard))
    found = ask_host(as_real(rehearsed()), {}).findings
    assert [each.severity for each in found if each.check == "launch.file-limit"] == ([severity] if severity else [])


@pytest.mark.parametrize(("hard", "severity"), [(16, Severity.ERROR), (127, Severity.ERROR), (128, None)])
def test_a_rehearsal_needs_open_files_too(
    monkeypatch: pytest.MonkeyPatch, hard: int, severity: Severity | None
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (hard, hard))
    found = ask_host(rehearsed(), {}).findings
    assert [each.severity for each in found if each.check == "launch.file-limit"] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("free", "inodes", "severity"),
    [(1 << 20, 9, Severity.ERROR), (1 << 29, 9, Severity.WARNING), (1 << 40, 0, Severity.ERROR), (1 << 40, -1, None)],
)
def test_room_for_logs(monkeypatch: pytest.MonkeyPatch, free: int, inodes: int, severity: Severity | None) -> None:
    monkeypatch.setattr(host, "room_for", lambda path: Room(path, free, inodes, True))
    found = ask_host(rehearsed(), {}).findings
    assert {each.severity for each in found if each.check == "launch.log-disk-full"} == (
        {severity} if severity else set()
    )


def test_temporary_files_that_lie_too_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/tmp/" + "x" * 60)
    assert host_findings(rehearsed()) == ["launch.socket-path-long"]


@pytest.mark.parametrize(
    ("address", "arguments", "found"),
    [("0.0.0.0", (), True), ("0.0.0.0", ("--api-key", "k"), False), ("127.0.0.1", (), False), ("::1", (), False)],
)
def test_servers_that_are_open_to_the_network(address: str, arguments: tuple[str, ...], found: bool) -> None:
    assert host_findings(rehearsed(*arguments, host=address)) == (["launch.open-to-network"] if found else [])


# stage


def test_a_copy_that_does_not_fit(model: Path) -> None:
    found = only(ask_stage(rehearsed(model=str(model), stage="/dev/shm/sm120kit-test"), {}).findings)
    assert (found.check, found.severity) == ("launch.stage-no-room", Severity.ERROR)
    assert "the model has 61.00 GiB" in found.message


def test_a_disk_that_is_none_of_memory(model: Path, tmp_path: Path) -> None:
    for shard in model.glob("*.safetensors"):
        os.truncate(shard, 100)
    (tmp_path / "stage").mkdir()
    findings = ask_stage(rehearsed(model=str(model), stage="/var/tmp/sm120kit-test"), {}).findings
    assert [each.severity for each in findings] in ([Severity.WARNING], [])
    assert not Path("/var/tmp/sm120kit-test").exists(), "a question makes nothing"


# the doctor, and all together


def test_the_doctor_is_asked_with_the_launch_line(prepared: Prepare) -> None:
    found = ask_doctor(prepared("--attention-backend", "fa3"), {}).findings
    assert "attention.backend-unsupported" in {each.check for each in found if each.severity is Severity.ERROR}


def test_a_server_on_the_cpu_is_not_held_up_by_cuda(prepared: Prepare) -> None:
    made = prepared("--device", "cpu", state="system init !9\n")
    assert not [each for each in ask_doctor(made, {}).findings if each.severity is Severity.ERROR]


def test_a_rehearsal_of_a_backend_that_will_not_run() -> None:
    stopping = run_preflight(rehearsed("--attention-backend", "fa3"), {}).stopping
    assert "attention.backend-unsupported" in {each.check for each in stopping}


def test_every_question_is_asked() -> None:
    answer = run_preflight(rehearsed(gpu="rtx-pro-6000"), {})
    assert [each.question for each in answer.answers] == ["model", "ports", "gpus", "plan", "stage", "host", "doctor"]
    assert not [each for each in answer.findings if each.check != "launch.port-taken"]


def test_what_is_forced_stays_in_the_data() -> None:
    with taken() as port:
        made = rehearsed(base_port=port, gpu="rtx-pro-6000", force=("launch.port-taken",))
        answer = run_preflight(made, {})
    assert not answer.stopping
    assert answer.findings
    assert all(answer.is_forced(each) for each in answer.findings)


def test_an_id_that_there_is_not() -> None:
    with pytest.raises(Sm120kitError) as refused:
        run_preflight(rehearsed(force=("launch.gpu-bussy",)), {})
    assert refused.value.exit_code == 2
    assert "launch.gpu-busy" in refused.value.hint


def test_every_finding_of_preflight_has_a_page() -> None:
    import re

    folder = Path(__file__).resolve().parents[3] / "sm120kit" / "fleet" / "preflight"
    used = {name for path in folder.glob("*.py") for name in re.findall(r'"(launch\.[a-z-]+)"', path.read_text())}
    pages = {name for name in read_catalogue().failures if name.startswith("launch.")}
    assert used == pages
