"""A stand-in's command line: quick where its profile knows the flags, else read with the table of all flags."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sm120kit.cli.main import main
from sm120kit.fleet.rehearsal.arguments import ArgumentError, read_arguments
from sm120kit.fleet.rehearsal.profile import Profile, make_profile, profile_of, read_profile
from sm120kit.fleet.rehearsal.settings import resolve
from tests.fleet.rehearsal.stand_ins import PATIENCE_S, VERSIONS, spec_of, started
from tests.fleet.target import make_model
from tests.planning import QWEN36_27B

pytestmark = pytest.mark.rehearsal


def _profile(folder: Path, *arguments: str, version: str = "0.5.23") -> Profile:
    spec = spec_of(version=version, arguments=arguments)
    return make_profile(spec, spec.replicas[0], folder)


def test_a_profile_is_private_and_read_as_it_was_written(tmp_path: Path) -> None:
    spec = spec_of(arguments=("--max-running-requests", "4"))
    path = profile_of(spec, spec.replicas[0], tmp_path)
    assert path.stat().st_mode & 0o777 == 0o600
    written = make_profile(spec, spec.replicas[0], tmp_path)
    assert {name: _listed(value) for name, value in read_profile(str(path))._asdict().items()} == {
        name: _listed(value) for name, value in written._asdict().items()
    }


def _listed(value: object) -> object:
    if isinstance(value, tuple | list):
        return [_listed(each) for each in value]
    return {name: _listed(each) for name, each in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("version", VERSIONS)
def test_a_plan_beside_its_log_reads_its_record(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As of a genuine server: no setting is blank that has a value there."""
    model = make_model(tmp_path / "qwen36", QWEN36_27B, gib=51)
    asked = ("--max-running-requests", "64", "--mem-fraction-static", "0.85")
    log = tmp_path / "log"
    settings = resolve(asked, version, str(model)).settings
    log.write_text(f"server_args={settings}\nLoad weight end. avail mem=43.09 GB, mem usage=51.00 GB\n")
    plan = ("plan", str(model), "--sglang", version, "--gpu", "rtx-pro-6000", "--free-gib", "94.09", "--json")
    assert main([*plan, "--check", str(log)]) == 0
    beside = json.loads(capsys.readouterr().out)
    assert main([*plan, "--", *asked]) == 0
    assert json.loads(capsys.readouterr().out)["predicted"] == beside["predicted"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("extra", [(), ("--log-requests",), ("--mem-frac", "0.7")], ids=["quick", "switch", "whole"])
def test_settings_are_those_of_the_command_line(version: str, extra: tuple[str, ...], tmp_path: Path) -> None:
    own = ("--max-running-requests", "7", "--reasoning-parser=qwen3")
    profile = _profile(tmp_path, *own, version=version)
    words = [*own, "--host", "127.0.0.2", "--port=1234", "--random-seed", "9", *extra]
    settings = read_arguments(profile, words).settings
    told = [settings[name] for name in ("max_running_requests", "reasoning_parser", "host", "port", "random_seed")]
    assert told == [7, "qwen3", "127.0.0.2", 1234, 9]
    assert settings["log_requests"] is ("--log-requests" in extra)
    assert settings["mem_fraction_static"] == (0.7 if "--mem-frac" in extra else 0.858)
    assert settings["served_model_name"] == settings["model_path"]


def test_the_older_version_has_its_own_names(tmp_path: Path) -> None:
    profile = _profile(tmp_path, "--mamba-scheduler-strategy", "extra_buffer", version="0.5.12")
    assert profile.settings["mamba_scheduler_strategy"] == "extra_buffer"
    assert "mamba_radix_cache_strategy" not in profile.settings


@pytest.mark.parametrize("words", [["--no-such-flag"], ["--port", "x"], ["--port"], ["stray"]])
def test_what_sglang_would_refuse_is_refused(words: list[str], tmp_path: Path) -> None:
    with pytest.raises(ArgumentError):
        read_arguments(_profile(tmp_path), words)


def test_secrets_come_by_file_and_are_told_nowhere(tmp_path: Path) -> None:
    config = tmp_path / "arguments.yaml"
    config.write_text('# private\napi-key: "top \\"secret"\nadmin_api_key: other\nenable-metrics: true\n')
    spec = spec_of(arguments=("--max-running-requests", "4", "--api-key", "typed"))
    path = profile_of(spec, spec.replicas[0], tmp_path)
    assert "typed" not in path.read_text()
    given = read_arguments(read_profile(str(path)), ["--port", "1", "--config", str(config)])
    assert given.key == 'top "secret'
    assert given.settings["enable_metrics"] is True
    assert 'top "secret' not in given.settings.values()
    assert "other" not in str(given.settings["admin_api_key"])
    assert read_arguments(read_profile(str(path)), ["--api-key", "k"]).words == ["--api-key", "<redacted>"]


def test_a_key_opens_what_it_guards(tmp_path: Path) -> None:
    config = tmp_path / "arguments.yaml"
    config.write_text('api-key: "topsecret"\n')
    with started(spec_of(), tmp_path, "--config", str(config)) as server:
        server.ready()
        assert server.ask("GET", "/server_info")[0] == 401
        assert server.ask("GET", "/server_info", key="wrong")[0] == 401
        assert server.ask("GET", "/health")[0] == 200
        status, body = server.ask("GET", "/server_info", key="topsecret")
        assert status == 200
        assert b"topsecret" not in body
        assert "topsecret" not in server.log


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--attention-backend", "nope"], 2, "sglang serve: error: --attention-backend cannot be 'nope'"),
        (["--config", "/nothing/here.yaml"], 2, "No such file"),
    ],
)
def test_bad_arguments_end_it_at_once(words: list[str], code: int, said: str, tmp_path: Path) -> None:
    with started(spec_of(), tmp_path, *words) as server:
        assert server.process.wait(PATIENCE_S) == code
        assert said in server.log


def test_without_a_profile_it_does_not_start(tmp_path: Path) -> None:
    import subprocess
    import sys

    module = "sm120kit.fleet.rehearsal.server"
    (tmp_path / "broken.json").write_text("{}")
    for words in ([], ["--port", "1"], ["--profile", "/nothing"], ["--profile", str(tmp_path / "broken.json")]):
        ended = subprocess.run([sys.executable, "-m", module, *words], capture_output=True, check=False, timeout=20)
        assert ended.returncode == 2
        assert b"--profile" in ended.stderr
        assert b"Traceback" not in ended.stderr
