"""The target's variables: every dialect of env files, copies of /proc/PID/environ, running processes, secrets."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm120kit.errors import TARGET_UNREADABLE, USAGE, Sm120kitError
from sm120kit.snapshot.context import DEFAULT_PATH
from sm120kit.snapshot.environment import parse_environment, read_environment
from sm120kit.snapshot.variables import KEPT_PREFIXES, kept_variables

DIALECTS = {
    "plain": (b"CUDA_HOME=/opt/cuda\n", {"CUDA_HOME": "/opt/cuda"}),
    "export": (b"export CUDA_HOME=/opt/cuda\nexport\tCXX=g++\n", {"CUDA_HOME": "/opt/cuda", "CXX": "g++"}),
    "bash export -p": (b'declare -x CUDA_HOME="/opt/cuda"\n', {"CUDA_HOME": "/opt/cuda"}),
    "double quotes": (rb'A="two words # no comment" # a comment', {"A": "two words # no comment"}),
    "escapes": (rb'A="a \"b\" \\ \$C \n"', {"A": r'a "b" \ $C \n'}),
    "single quotes": (rb"A='a \"b\" $C' # a comment", {"A": r"a \"b\" $C"}),
    "comments": (b"# A=1\n  ; B=2\n\nC=3 # three\nD=4#four\n", {"C": "3", "D": "4#four"}),
    "systemd": (b'CXX=c++\nCXXFLAGS="-O2"\n[Service]\n', {"CXX": "c++", "CXXFLAGS": "-O2"}),
    "docker": (b"FROM_HOST\nA=\nB==\nC=a=b\n", {"A": "", "B": "=", "C": "a=b"}),
    "nothing is expanded": (b"PATH=/opt/bin:$PATH\n", {"PATH": "/opt/bin:$PATH"}),
    "windows": (b"\xef\xbb\xbfA=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
    "indented": (b"   A = 1\n\tB=  2  \n", {"B": "2"}),
    "last one counts": (b"A=1\nA=2\n", {"A": "2"}),
    "an open quote": (b"A=\"open\nB='open\nC=3\n", {"A": '"open', "B": "open", "C": "3"}),
    "names of functions": (b"BASH_FUNC_f%%=() { echo; }\nA=1\n", {"A": "1"}),
    "environ": (b"A=1\0B=two\nlines\0C==\0", {"A": "1", "B": "two\nlines", "C": "="}),
    "environ without end": (b"A=1\0B=2", {"A": "1", "B": "2"}),
    "environ keeps quotes": (b"A='1'\0B=#\0", {"A": "'1'", "B": "#"}),
    "environ, first one counts": (b"A=1\0A=2\0", {"A": "1"}),
    "environ with junk": (b"\0\0junk\0=x\0A=1\0", {"A": "1"}),
    "not UTF-8": (b"A=caf\xe9\n", {"A": "caf\udce9"}),
    "binary": (bytes(range(1, 256)), {}),
    "empty": (b"", {}),
}


@pytest.mark.parametrize(("content", "expected"), DIALECTS.values(), ids=DIALECTS.keys())
def test_dialects(content: bytes, expected: dict[str, str]) -> None:
    assert parse_environment(content) == expected


@given(st.binary(max_size=400))
def test_anything_is_read_without_a_failure(content: bytes) -> None:
    assert all(name and "\0" not in name for name in parse_environment(content))


VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)


@given(st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True), VALUES, min_size=1))
def test_a_copy_of_environ_comes_back_as_it_was(variables: dict[str, str]) -> None:
    content = "".join(f"{name}={value}\0" for name, value in variables.items()).encode()
    assert parse_environment(content) == variables


def test_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", "/opt/cuda")
    environment, words = read_environment("", 0)
    assert environment == dict(os.environ)
    assert words == "this process"


def test_an_image_has_nothing_but_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", "/opt/cuda")
    assert read_environment("", 0, unpacked=True)[0] == {"PATH": DEFAULT_PATH}


def test_a_file_replaces_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "env").write_text("export CXX=g++-12\n")
    monkeypatch.chdir(tmp_path)
    environment, words = read_environment("env", 0, unpacked=True)
    assert environment == {"CXX": "g++-12", "PATH": DEFAULT_PATH}
    assert words == "--env-file env"


@pytest.mark.parametrize("content", [None, b"", b"# nothing\n", b"\0\0"])
def test_a_file_without_variables_is_one_sentence(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "env"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Sm120kitError, match=str(path)) as caught:
        read_environment(str(path), 0)
    assert caught.value.exit_code == (USAGE if content is None else TARGET_UNREADABLE)


def test_a_pipe_as_a_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "env")
    with pytest.raises(Sm120kitError, match="not a regular file"):
        read_environment(str(tmp_path / "env"), 0)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["/bin/sleep", "60"], env={"CUDA_HOME": "/srv/cuda", "PATH": "/bin", "ODD": "a\nb"})
    while not Path(f"/proc/{process.pid}/environ").read_bytes():  # until the kernel has laid the new program out
        time.sleep(0.001)
    yield process
    process.kill()
    process.wait()


def test_a_running_process(sleeper: subprocess.Popen[bytes]) -> None:
    environment, words = read_environment("", sleeper.pid)
    assert environment == {"CUDA_HOME": "/srv/cuda", "PATH": "/bin", "ODD": "a\nb"}
    assert words == f"process {sleeper.pid}"


def test_no_such_process() -> None:
    with pytest.raises(Sm120kitError, match="there is no process 4194305 here") as caught:
        read_environment("", 4194305)
    assert caught.value.exit_code == TARGET_UNREADABLE
    assert caught.value.hint


def test_a_process_that_ended(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(Sm120kitError) as caught:
        read_environment("", sleeper.pid)
    assert caught.value.exit_code == TARGET_UNREADABLE


def test_a_process_of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("sm120kit.snapshot.environment.Files.read", refuse)
    with pytest.raises(Sm120kitError, match="belongs to another user") as caught:
        read_environment("", 1)
    assert caught.value.exit_code == TARGET_UNREADABLE
    assert "--env-file" in caught.value.hint


def test_an_environment_that_its_process_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sm120kit.snapshot.environment.Files.read", lambda *_: b"CXX='g++' # kept")
    assert read_environment("", 1)[0]["CXX"] == "'g++' # kept"


SECRETS = {
    "HF_TOKEN": "hf_secret",
    "OPENAI_API_KEY": "secret",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "SGLANG_API_KEY": "secret",
    "SGLANG_ADMIN_TOKEN": "secret",
    "SGL_PASSWORD": "secret",
    "FLASHINFER_CREDENTIALS": "secret",
    "NVIDIA_API_KEY": "secret",
    "NCCL_AUTH": "secret",
    "CUDA_PRIVATE_THING": "secret",
    "SGLANG_auth_header": "secret",
    "TRITON_WEBHOOK_URL": "secret",
    "UNRELATED": "secret",
    "LS_COLORS": "secret",
    "SSH_AUTH_SOCK": "secret",
}


def test_secrets_never_enter() -> None:
    kept = kept_variables({**SECRETS, "PATH": "/bin", "CUDA_HOME": "/opt/cuda", "SGLANG_LOG": "1"})
    assert kept == {"CUDA_HOME": "/opt/cuda", "PATH": "/bin", "SGLANG_LOG": "1"}


@given(st.sampled_from(KEPT_PREFIXES), st.sampled_from(["KEY", "TOKEN", "SECRET", "PASSWORD", "AUTH", "Token"]), VALUES)
def test_no_prefix_lets_a_secret_through(prefix: str, word: str, value: str) -> None:
    assert kept_variables({f"{prefix}X_{word}_Y": value, f"{prefix}{word}": value}) == {}


STEERING = (
    "CC", "CONDA_PREFIX", "CPATH", "CPLUS_INCLUDE_PATH", "CUDAHOSTCXX", "CUDA_HOME", "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES", "CXX", "C_INCLUDE_PATH", "FLASHINFER_CUDA_ARCH_LIST", "HOME", "LD_LIBRARY_PATH",
    "LD_PRELOAD", "LIBRARY_PATH", "MAX_JOBS", "NCCL_DEBUG", "NVCC_APPEND_FLAGS", "NVIDIA_VISIBLE_DEVICES", "PATH",
    "PYTORCH_CUDA_ALLOC_CONF", "SGLANG_ENABLE_JIT", "SGL_X", "TMPDIR", "TORCH_CUDA_ARCH_LIST", "TORCH_EXTENSIONS_DIR",
    "TRITON_PTXAS_PATH", "TVM_FFI_CACHE_DIR", "VIRTUAL_ENV", "XDG_CACHE_HOME",
)  # fmt: skip


def test_what_steers_compilers_and_loaders_is_kept() -> None:
    assert tuple(kept_variables(dict.fromkeys(STEERING, "x"))) == STEERING
