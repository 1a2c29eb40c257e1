"""What logs show, and in which order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sm120kit.diagnosis.logs.templates import filled
from sm120kit.diagnosis.logs.types import OnTarget
from sm120kit.diagnosis.logs.verdict import begun_small, with_target
from sm120kit.diagnosis.registry import Check, LogFailure
from sm120kit.diagnosis.types import Evidence, Finding, Manual, Outcome, Severity, Signature
from tests.diagnosis.logs.reading import FOLDER, LOGS, catalogue, expected, named, read

SIGQUIT = "[2026-11-29 15:28:09] Received sigquit from a child process. It usually means the child failed.\n"
NO_CUDART = "/usr/bin/ld: cannot find -lcudart: No such file or directory\n"
NO_LIBCUDA = "/usr/bin/ld: cannot find -lcuda: No such file or directory\n"
TIMEOUT = (
    "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, "
    "NumelOut=1, "
    "Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n"
)
CAPPED = (
    "max_running_requests is capped to 9 by the mamba state cache (max_mamba_cache_size=47, 5 state slots "
    "per request).\n"
)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_logs(path: Path) -> None:
    got = read(path.read_bytes())
    what = expected(path)
    if what == "healthy":
        assert (got.verdict, got.known, got.causes, got.suspects, got.issue) == ("nothing-wrong", False, (), (), "")
    elif what == "unknown":
        assert (got.verdict, got.known, got.causes) == ("not-known", False, ())
        assert got.suspects
        assert got.issue
    else:
        assert (got.verdict, got.known) == ("known", True)
        assert got.causes[0].check == what
        assert got.causes[0].remedies


@pytest.mark.parametrize(
    "entry", [each for each in catalogue().entries.values() if each.signatures], ids=lambda entry: entry.id
)
def test_every_example_names_its_own_check(entry: Check | LogFailure) -> None:
    for signature in entry.signatures:
        got = read(f"[2026-11-29 15:28:09 TP1] {signature.example}\n")
        if signature.rank == "wrapper":
            assert got.wrappers
        elif signature.rank == "stage":
            assert (got.verdict == "nothing-wrong") == (signature.message == "ready")
            assert got.stopped is None or got.stopped.check == entry.id
        elif signature.rank == "limit":
            assert entry.id in [each.check for each in got.limits]
            assert got.verdict == "nothing-wrong"
        else:
            assert entry.id in [cause.check for cause in got.causes]


def test_causes_come_in_the_order_of_the_log() -> None:
    assert named(NO_CUDART + NO_LIBCUDA) == ["toolkit.cudart-unlinkable", "toolkit.libcuda-stub-missing"]
    assert named(NO_LIBCUDA + NO_CUDART) == ["toolkit.libcuda-stub-missing", "toolkit.cudart-unlinkable"]


def test_what_follows_from_a_cause_comes_after_it_even_where_it_was_written_before() -> None:
    assert named(TIMEOUT + NO_CUDART) == ["toolkit.cudart-unlinkable", "multigpu.collective-timeout"]


def test_a_limit_alone_is_nothing_wrong() -> None:
    got = read(CAPPED)
    assert (got.verdict, got.causes) == ("nothing-wrong", ())
    assert (
        got.limits[0].message == "at most 9 requests run at once: the state cache has 47 slots, and a request takes 5"
    )


@pytest.mark.parametrize(
    "signature",
    [each for entry in catalogue().entries.values() for each in entry.signatures if each.rank == "limit"],
    ids=lambda signature: signature.example[:40],
)
@pytest.mark.parametrize("exception", ["RuntimeError", "ValueError", "some.package.OddError"])
def test_the_words_of_a_limit_in_an_exception_are_no_limit(signature: Signature, exception: str) -> None:
    assert read(f"{exception}: {signature.example}\n").verdict in ("known", "not-known")


@pytest.mark.parametrize(
    "line",
    [
        "/usr/bin/python3: Error while finding module specification for 'a.b' (ImportError: No module named 'a')",
        "python3: No module named a.b",
        "python: can't open file '/srv/serve.py': [Errno 2] No such file or directory",
        "docker: Error response from daemon: the widget is upside down.",
        'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nqueue.Full',
    ],
)
def test_what_nobody_caught_is_never_called_good(line: str) -> None:
    assert read(f"{line}\n").verdict in ("known", "not-known")


def test_a_wrapper_alone_is_wrong_and_not_known() -> None:
    got = read(SIGQUIT)
    assert (got.verdict, got.causes, got.issue) == ("not-known", (), "")
    assert [line.line for line in got.wrappers] == [1]
    assert "the error itself stands in the log of another process" in got.without_error


def test_killed_behind_the_report_of_a_failure_is_no_cause() -> None:
    got = read(SIGQUIT + "Killed\n")
    assert (got.verdict, got.causes) == ("not-known", ())
    assert "`Killed` in line 2 is how SGLang ends its own processes" in got.without_error
    assert named("ValueError: unknown\n" + SIGQUIT + "Killed\n") == []
    assert named(NO_CUDART + SIGQUIT + "Killed\n") == ["toolkit.cudart-unlinkable"]
    assert named("Killed\n") == ["memory.host-killed"]


START = (
    "[2026-11-29 15:14:57 TP0] Init torch distributed begin.\n[2026-11-29 15:14:58 TP1] Init torch distributed begin.\n"
)
READY = "[2026-11-29 15:15:05] The server is fired up and ready to roll!\n"


def test_a_start_that_does_not_end_is_not_called_good() -> None:
    got = read(START + "[2026-11-29 15:14:59 TP0] sglang is using nccl==2.27.3\n")
    assert (got.verdict, got.causes, got.suspects) == ("not-ready", (), ())
    assert got.stopped
    assert (got.stopped.check, got.stopped.line, got.stopped.process) == ("server.never-ready", 2, "TP1")
    assert (
        got.stopped.message == "the log ends while the server joins its ranks, through NCCL where it has several GPUs"
    )
    again = read(START + READY + START)
    assert again.stopped
    assert again.stopped.line == 5


@pytest.mark.parametrize(
    "log",
    [
        START + READY,
        START + "2026-11-29T15:15:05.123456Z  INFO sglang_server: The server is fired up and ready to roll!\n",
        START + "[2026-11-29 15:15:05 TP0] Prefill batch. #new-seq: 1, #new-token: 6\n",
        "server_args=ServerArgs(model_path='/m', nnodes=2, node_rank=1)\n" + START,
    ],
    ids=["ready", "ready, with another prefix", "an engine without a port", "the second node"],
)
def test_a_start_that_ended_is_good(log: str) -> None:
    got = read(log)
    assert (got.verdict, got.stopped) == ("nothing-wrong", None)


def test_what_failed_is_named_and_not_where_the_start_stood() -> None:
    assert read(START + SIGQUIT).stopped is None
    assert read(START + NO_CUDART).stopped is None


def test_nothing_is_left_open_in_what_is_said() -> None:
    for entry in catalogue().entries.values():
        for signature in entry.signatures:
            shown = re.search(signature.pattern, signature.example)
            known = {name: value for name, value in shown.groupdict().items() if value} if shown else {}
            templates = [signature.message, *(remedy.text for remedy in signature.remedies)]
            templates += [command for remedy in signature.remedies for command in remedy.commands]
            for template in templates:
                assert re.search(r"[{}]|\[\[|\]\]", filled(template, {}) or "") is None, template
                assert filled(template, {**known, **dict.fromkeys(_SETTINGS, "x")}) is not None, template


_SETTINGS = ("model_path", "mem_fraction_static", "sglang_version", "torch_version")


def test_a_line_with_two_readings_says_what_tells_them_apart() -> None:
    got = read("ptxas fatal   : Value 'sm_120a' is not defined for option 'gpu-name'\n")
    first, second = got.causes
    assert (first.check, first.rank) == ("toolkit.arch-unsupported", "cause")
    assert (second.check, second.rank) == ("triton.ptxas-too-old", "consequence")
    assert second.message.startswith("if Triton called it")
    assert "sm_121a" not in f"{got}"
    (alone,) = read("CUDA error: no kernel image is available for execution on the device\n").causes
    assert "one of torch, or of an extension such as sgl-kernel" in alone.message
    warned = "NVIDIA X with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
    (torch,) = read(
        warned + "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    ).causes
    assert torch.message == "this torch has no machine code for sm_120"


KERNELS = (
    "ImportError: \n[sgl_kernel] CRITICAL: Could not load any common_ops library!\nError details:\n- ImportError: "
)


@pytest.mark.parametrize(
    ("detail", "check"),
    [
        ("libcuda.so.1: cannot open shared object file: No such file or directory", "driver.unreachable"),
        (
            "libnvrtc.so.12: cannot open shared object file: No such file or directory",
            "wheels.kernel-package-wrong-cuda",
        ),
        ("/lib64/libc.so.6: version `GLIBC_2.32' not found (required by x.so)", "wheels.system-libraries-too-old"),
        ("common_ops.abi3.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs", "wheels.abi-mismatch"),
    ],
)
def test_why_the_kernels_of_sglang_were_not_loaded_stands_in_their_details(detail: str, check: str) -> None:
    assert named(f"{KERNELS}{detail}\n- ModuleNotFoundError: No module named 'common_ops'\n") == [check]


def test_what_a_line_tells_is_quoted_in_commands() -> None:
    (cause,) = read("sglang serve: error: unrecognized arguments: --max-run 4; reboot\n").causes
    (remedy,) = cause.remedies
    assert isinstance(remedy, Manual)
    assert remedy.commands == ("sm120kit doctor --sglang VERSION -- --max-run '4;' reboot",)
    (cause,) = read("sglang==0.5.23\nsglang serve: error: unrecognized arguments: --max-run 4\n").causes
    (remedy,) = cause.remedies
    assert isinstance(remedy, Manual)
    assert remedy.commands == ("sm120kit doctor --sglang 0.5.23 -- --max-run 4",)


def test_the_cause_inside_a_wrapper_is_named() -> None:
    assert named(
        "Exception: Capture cuda graph failed: CUDA error: no kernel image is available for execution on the device\n"
    ) == ["torch.arch-missing"]


def test_a_cause_has_its_line_its_process_and_its_numbers() -> None:
    first = (
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: "
        "mem_fraction_static=0.5"
    )
    got = read(
        "".join(f"line {number}\n" for number in range(6))
        + "".join(f"[2026-11-29 15:28:09 TP{rank}] {first}\n" for rank in (3, 0))
    )
    (cause,) = got.causes
    assert (cause.line, cause.text, cause.process) == (7, first, "TP3")
    assert (cause.times, cause.processes) == (2, ("TP3", "TP0"))
    assert cause.values == {"mem_fraction_static": "0.5"}
    assert "(now 0.5)" in cause.message


def test_a_setting_is_taken_from_elsewhere_in_the_log_or_left_out() -> None:
    alone = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
    (cause,) = read(alone).causes
    assert (
        cause.message == "the weights take all that --mem-fraction-static allows, and nothing is left for the KV cache"
    )
    assert cause.remedies[0].text == "Raise --mem-fraction-static"
    (cause,) = read("server_args=ServerArgs(model_path='/m', mem_fraction_static=0.85)\n" + alone).causes
    assert "(now 0.85)" in cause.message
    assert cause.remedies[0].text == "Raise --mem-fraction-static above 0.85"


@pytest.mark.parametrize(
    ("versions", "offered"),
    [
        ("sglang==0.5.12\n", ["--cuda-graph-max-bs 16"]),
        ("sglang==0.5.23\n", ["--cuda-graph-max-bs-decode 16"]),
        ("server_args=ServerArgs(model_path='/m')\n", ["--cuda-graph-max-bs 16"]),
        ("", ["--cuda-graph-max-bs 16", "--cuda-graph-max-bs-decode 16"]),
    ],
)
def test_remedies_are_those_of_the_versions_that_the_log_tells(versions: str, offered: list[str]) -> None:
    got = read(versions + "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    commands = [
        command for remedy in got.causes[0].remedies if isinstance(remedy, Manual) for command in remedy.commands
    ]
    assert commands == offered


def test_without_remedies_of_its_own_a_line_gets_what_the_page_says() -> None:
    (remedy,) = read(NO_CUDART).causes[0].remedies
    section = catalogue().checks["toolkit.cudart-unlinkable"].page.partition("## Remedy")[2].partition("## ")[0]
    assert isinstance(remedy, Manual)
    assert remedy.text == " ".join(section.split())


def test_what_a_log_tells() -> None:
    got = read(
        "Cuda compilation tools, release 13.0, V13.0.88\n"
        "| NVIDIA-SMI 580.95.05    Driver Version: 580.95.05    CUDA Version: 13.0 |\n"
        "PyTorch: 2.14.1+cu130\nsglang: 0.5.23\nflashinfer_python: 0.7.2\n"
        "ninja: Entering directory `/root/.cache/flashinfer/0.7.2.post1/120f/cached_ops'\n"
        "+ python3 -m sglang.launch_server --model-path /m --tp 2 --api-key abcdef\n" + SIGQUIT
    )
    assert {seen.package: seen.version for seen in got.versions} == {
        "nvcc": "13.0.88",
        "driver": "580.95.05",
        "torch": "2.14.1+cu130",
        "sglang": "0.5.23",
        "flashinfer-python": "0.7.2",
    }
    assert got.command == "python3 -m sglang.launch_server --model-path /m --tp 2 --api-key [redacted]"


SECRETS = (
    "--api-key swordfish1", "api_key='swordfish1'", "'api_key': 'swordfish1'", "HF_TOKEN=swordfish1",
    "Authorization: Bearer swordfish1", "https://me:swordfish1@example.org/x", "password=swordfish1",
    "AWS_SECRET_ACCESS_KEY=swordfish1", "hf_swordfish1swordfish1", "sk-swordfish1swordfish1",
)  # fmt: skip


@pytest.mark.parametrize("secret", SECRETS)
def test_secrets_are_taken_out(secret: str) -> None:
    got = read(f"ValueError: cannot start with {secret} and so on\n+ sglang serve --model-path /m {secret}\n")
    assert got.suspects
    assert "swordfish1" not in f"{got}"
    assert "and so on" in got.suspects[0].text


@pytest.mark.parametrize(
    "harmless", ["--max-total-tokens 8192", "--tokenizer-path /models/a", "max_total_num_tokens=8192"]
)
def test_what_is_no_secret_stays(harmless: str) -> None:
    assert harmless in read(f"ValueError: cannot start with {harmless}\n").suspects[0].text


def test_the_issue_has_what_others_need() -> None:
    issue = read((FOLDER / "unknown__plugin.log").read_bytes()).issue
    for piece in (
        "sglang 0.5.23",
        "WidgetError: the widget is upside down",
        "--model-path /models/qwen3",
        "tp_size = 2",
    ):
        assert piece in issue
    for secret in ("not-to-be-seen", "sk-abc", "hf_abc"):
        assert secret not in issue


def test_a_finding_on_the_target_brings_its_own_remedies() -> None:
    better = Manual("do this instead")
    finding = Finding("toolkit.cudart-unlinkable", Severity.ERROR, "/tk", "it is this one", (Evidence("x"),), (better,))
    answer = OnTarget(Outcome.FOUND, findings=(finding,))
    got = with_target(read(NO_CUDART + NO_LIBCUDA), "a venv", {"toolkit.cudart-unlinkable": answer})
    first, second = got.causes
    assert (got.target, first.on_target, first.remedies) == ("a venv", answer, (better,))
    assert second.on_target is None
    assert second.remedies


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        ("The GPU ran out of memory", "the GPU ran out of memory"),
        ("A port is taken", "a port is taken"),
        ("GPU memory ran out", "GPU memory ran out"),
        ("Python.h is missing", "Python.h is missing"),
        ("Triton finds nothing", "Triton finds nothing"),
        ("SGLang does not know it", "SGLang does not know it"),
        ("NCCL's library was replaced", "NCCL's library was replaced"),
        ("/dev/shm is too small", "/dev/shm is too small"),
    ],
)
def test_what_was_found_begins_small_unless_with_a_name(text: str, begun: str) -> None:
    assert begun_small(text) == begun
