"""Which target is taken, why, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from sm120kit.errors import TARGET_UNREADABLE, USAGE, Sm120kitError
from sm120kit.snapshot import interpreter_child, target
from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.target import ResolvedTarget, TargetOptions, resolve_target
from tests.snapshot.targets import install, program, value


def resolve(**options: Any) -> ResolvedTarget:
    made = TargetOptions(**options)
    return resolve_target(made, Files(made.root))


def refusal(**options: Any) -> Sm120kitError:
    with pytest.raises(Sm120kitError) as caught:
        resolve(**options)
    assert "\n" not in caught.value.message
    return caught.value


@pytest.fixture(scope="session")
def real_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment without pip."""
    folder = tmp_path_factory.mktemp("target") / "venv"
    venv.create(folder, symlinks=True, with_pip=False)
    return folder


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No .venv in the current folder, no engine beside sm120kit."""
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setattr(target, "_ENGINES", ("no-such-engine",))


def site_of(folder: Path) -> Path:
    return folder / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"


def test_an_interpreter_that_is_named(real_venv: Path) -> None:
    python = real_venv / "bin/python"
    resolved = resolve(python=str(python))
    assert resolved.context.target.kind == "interpreter"
    assert resolved.context.target.path == str(python)
    assert resolved.context.target.why == "named by --python"
    assert resolved.context.live
    answer = value(resolved.interpreter)
    assert answer.executable == str(python)
    assert answer.version == sys.version.split()[0]
    assert answer.prefix == str(real_venv)
    assert answer.base_prefix == sys.base_prefix
    assert answer.scripts_dir == f"{real_venv}/bin"
    assert answer.site_packages == resolved.context.site_packages == (str(site_of(real_venv)),)
    assert not answer.externally_managed
    assert os.path.isfile(f"{answer.include_dir}/Python.h")


def test_a_relative_path_and_a_bare_name(real_venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(real_venv)
    assert resolve(python="./bin/../bin/python").context.target.path == f"{real_venv}/bin/python"
    monkeypatch.setenv("PATH", f"{real_venv}/bin:/usr/bin:/bin")
    named = resolve(python="python").context.target
    assert (named.path, named.why) == (f"{real_venv}/bin/python", "named by --python python")


def test_the_order_of_defaults(real_venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python, here = f"{real_venv}/bin/python", tmp_path / "cwd"

    def taken() -> tuple[str, str]:
        found = resolve().context.target
        return found.path, found.why

    monkeypatch.setenv("PATH", f"{real_venv}/bin:{os.environ['PATH']}")
    path, why = taken()
    assert (path, why) == (f"{real_venv}/bin/python3", "python3 on PATH, since no virtual environment is active")
    monkeypatch.setenv("PATH", f"{os.path.dirname(sys.executable)}:{real_venv}/bin:{os.environ['PATH']}")
    assert sys.prefix != sys.base_prefix, "these tests run in a virtual environment"
    assert taken() == (path, why), "that of sm120kit itself is not what is meant, though uvx puts it first"
    monkeypatch.setattr(target, "_ENGINES", ("pytest", "no-such-engine"))
    path, why = taken()
    assert (path, why) == (sys.executable, "the Python that runs sm120kit, since it has pytest")
    (here / ".venv").symlink_to(real_venv)
    path, why = taken()
    assert (path, why) == (f"{here}/.venv/bin/python", "the virtual environment .venv of the current folder")
    monkeypatch.setenv("CONDA_PREFIX", str(real_venv))
    path, why = taken()
    assert (path, why) == (python, "the active conda environment, CONDA_PREFIX")
    (tmp_path / "active").symlink_to(real_venv)
    monkeypatch.setenv("VIRTUAL_ENV", f"{tmp_path}/active")
    path, why = taken()
    assert (path, why) == (f"{tmp_path}/active/bin/python", "the active virtual environment, VIRTUAL_ENV")


def test_a_stale_virtual_env_is_passed_over_and_told(real_venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "/no/such/venv")
    monkeypatch.setenv("CONDA_PREFIX", str(real_venv))
    assert resolve().context.target.why == (
        "the active conda environment, CONDA_PREFIX; VIRTUAL_ENV names /no/such/venv, which has no bin/python"
    )


def test_the_environment_of_the_target_chooses(
    real_venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "/ours")
    (tmp_path / "env").write_text(f"VIRTUAL_ENV={real_venv}\n")
    found = resolve(env_file=str(tmp_path / "env")).context
    assert found.target.path == f"{real_venv}/bin/python"
    assert found.target.environment == f"--env-file {tmp_path}/env"
    assert found.environment["VIRTUAL_ENV"] == str(real_venv)


def test_our_own_interpreter_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    folder = Path(sys.executable).parent
    for name in {sys.executable, f"{folder}/python", f"{folder}/./python3"}:
        found = resolve(python=name)
        answer = value(found.interpreter)
        assert answer.version == sys.version.split()[0]
        assert answer.prefix == sys.prefix
        assert any(Path(site, "pytest").is_dir() for site in answer.site_packages)


def test_another_venv_of_the_same_program_is_asked(real_venv: Path) -> None:
    assert os.path.realpath(real_venv / "bin/python") == os.path.realpath(sys.executable)
    assert value(resolve(python=f"{real_venv}/bin/python").interpreter).prefix == str(real_venv)


def test_asked_and_own_answers_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    own = value(resolve(python=sys.executable).interpreter)
    monkeypatch.setattr(target, "is_own_interpreter", lambda *_: False)
    assert value(resolve(python=sys.executable).interpreter) == own


def test_nothing_of_the_target_is_executed_or_imported(tmp_path: Path) -> None:
    folder = tmp_path / "venv"
    venv.create(folder, symlinks=True, with_pip=False)
    site, mark, extra = site_of(folder), tmp_path / "executed", tmp_path / "extra"
    spoil = f"open({str(mark)!r}, 'a').close()"
    (site / "bad.pth").write_text(f"import os; {spoil}\n# comment\n\n{extra}\n../../../elsewhere\nno/such/folder\n")
    for name in ("sitecustomize", "usercustomize", "site", "os", "json"):
        (site / f"{name}.py").write_text(spoil)
    install(extra, "sglang", "0.5.23")
    (folder / "elsewhere").mkdir()
    found = resolve(python=f"{folder}/bin/python")
    assert not mark.exists()
    assert found.context.site_packages == (str(site), str(extra))
    subprocess.run([f"{folder}/bin/python", "-c", ""], check=False, capture_output=True)
    assert mark.exists(), "a normal start would have executed it"


def test_a_venv_that_sees_the_packages_of_its_base(tmp_path: Path) -> None:
    folder = tmp_path / "venv"
    venv.create(folder, symlinks=True, with_pip=False, system_site_packages=True)
    sites = resolve(python=f"{folder}/bin/python").context.site_packages
    asked = subprocess.run(
        [f"{folder}/bin/python", "-c", "import sys; print('\\0'.join(sys.path))"],
        capture_output=True,
        text=True,
        check=True,
    )
    on_path = [each for each in asked.stdout.strip().split("\0") if each.endswith("-packages")]
    assert list(sites) == on_path
    assert len(sites) > 1


def test_python_path_and_the_users_packages(real_venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = Path(value(resolve(python=f"{real_venv}/bin/python").interpreter).base_prefix, "bin/python3")
    version = subprocess.run(
        [base, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True
    )
    user = tmp_path / f"user/lib/python{version.stdout.strip()}/site-packages"
    install(user, "torch", "2.14.1")
    install(tmp_path / "first", "sglang", "0.5.23")
    (tmp_path / "sources").mkdir()
    monkeypatch.setenv("PYTHONUSERBASE", f"{tmp_path}/user")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}/sources:relative:{tmp_path}/first:/no/such")
    sites = resolve(python=str(base)).context.site_packages
    assert sites[:2] == (f"{tmp_path}/first", str(user))
    monkeypatch.setenv("PYTHONNOUSERSITE", "1")
    assert str(user) not in resolve(python=str(base)).context.site_packages
    assert str(user) not in resolve(python=f"{real_venv}/bin/python").context.site_packages


def test_debians_own_python() -> None:
    if not Path("/usr/bin/python3").exists() or not Path("/usr/lib/python3/dist-packages").is_dir():
        pytest.skip("this is no Debian")
    answer = value(resolve(python="/usr/bin/python3").interpreter)
    assert "/usr/lib/python3/dist-packages" in answer.site_packages
    stdlib = f"/usr/lib/python{'.'.join(answer.version.split('.')[:2])}"
    assert answer.externally_managed == Path(stdlib, "EXTERNALLY-MANAGED").exists()


class TestRefused:
    """One clear line, a hint, and the right exit code."""

    @pytest.mark.parametrize(
        "options",
        [
            {"python": "/a", "site_packages": "/b"},
            {"env_file": "/a", "pid": 1},
            {"root": "/a", "pid": 1},
            {"pid": -4},
        ],
    )
    def test_options_that_contradict_each_other(self, options: dict[str, object]) -> None:
        assert refusal(**options).exit_code == USAGE

    def test_an_interpreter_that_is_missing(self, tmp_path: Path) -> None:
        error = refusal(python=f"{tmp_path}/bin/python")
        assert error.message == f"--python {tmp_path}/bin/python does not exist"
        assert (error.exit_code, bool(error.hint)) == (TARGET_UNREADABLE, True)
        assert "no such program on PATH" in refusal(python="no-such-python").message

    def test_a_folder_or_a_plain_file_as_interpreter(self, tmp_path: Path) -> None:
        assert "is a folder" in refusal(python=str(tmp_path)).message
        (tmp_path / "python").write_text("")
        assert "is not an executable file" in refusal(python=f"{tmp_path}/python").message

    def test_the_interpreter_that_was_probably_meant(self, real_venv: Path) -> None:
        for path in (real_venv, real_venv / "bin", real_venv / "lib", real_venv / "bin/pyhton"):
            assert refusal(python=str(path)).hint == f"Did you mean --python {real_venv}/bin/python?"

    @pytest.mark.parametrize(
        ("script", "words"),
        [
            ("echo hello\n", "(exit code 0: hello)"),
            ("echo first >&2; echo 'last words' >&2; exit 3\n", "(exit code 3: last words)"),
            ("exit 0\n", "(exit code 0)"),
            ("printf '\\377\\376\\000'\n", "exit code 0"),
            ("yes garbage | head -c 3000000\n", "exit code 0: garbage"),
            (f"printf '{interpreter_child.MARK}\\000too\\000few'\n", "exit code 0"),
            ("kill -SEGV $$\n", "exit code -11"),
        ],
    )
    def test_a_program_that_is_no_python(self, tmp_path: Path, script: str, words: str) -> None:
        error = refusal(python=str(program(tmp_path / "python", f"#!/bin/sh\n{script}")))
        assert "did not answer as a Python interpreter does" in error.message
        assert words in error.message
        assert (error.exit_code, bool(error.hint)) == (TARGET_UNREADABLE, True)

    def test_an_interpreter_that_hangs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sm120kit.snapshot.interpreter.ANSWER_LIMIT_S", 0.3)
        python = program(tmp_path / "python", "#!/bin/sh\nsleep 60\n")
        assert f"{python} did not answer within 0.3 s" in refusal(python=str(python)).message

    def test_no_python_at_all(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        error = refusal()
        assert "there is no python3 on PATH" in error.message
        assert error.exit_code == TARGET_UNREADABLE

    def test_folders_that_are_missing(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        for option in ("site_packages", "cuda_home", "root"):
            for path in (f"{tmp_path}/missing", f"{tmp_path}/file"):
                error = refusal(**{option: path})
                assert path in error.message
                assert (error.exit_code, bool(error.hint)) == (TARGET_UNREADABLE, True)


class TestSitePackages:
    """No interpreter is needed."""

    def test_a_folder_of_packages(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(subprocess, "Popen", None)
        (empty := tmp_path / "empty").mkdir()
        found = resolve(site_packages=str(empty))
        assert (found.context.target.kind, found.context.target.path) == ("site-packages", str(empty))
        assert found.context.site_packages == (str(empty),)
        assert isinstance(found.interpreter, Unknown)
        assert str(empty) in found.interpreter.reason

    def test_a_folder_that_holds_no_packages_was_not_meant(self, tmp_path: Path) -> None:
        site = tmp_path / "venv/lib/python3.11/site-packages"
        install(site, "torch", "2.9.0", {"torch/__init__.py": ""})
        for other in ("venv", "venv/lib", "venv/lib/python3.11", "venv/lib/python3.11/site-packages/torch"):
            error = refusal(site_packages=str(tmp_path / other))
            assert (error.exit_code, error.hint) == (TARGET_UNREADABLE, f"Did you mean --site-packages {site}?")
        assert refusal(site_packages=str(site.parent / "site-package")).hint.endswith(f" {site}?")
        (tmp_path / "note").write_text("")
        assert "holds no package" in refusal(site_packages=str(tmp_path)).message

    def test_a_venv_is_recognised_by_its_folders(self, real_venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(subprocess, "Popen", None)
        answer = value(resolve(site_packages=str(site_of(real_venv))).interpreter)
        assert answer.prefix == str(real_venv)
        assert answer.base_prefix == os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))
        assert sys.version.startswith(answer.version)
        assert answer.executable.startswith(f"{real_venv}/bin/python")
        assert answer.site_packages == (str(site_of(real_venv)),)

    def test_an_environment_made_from_another_leads_to_the_python_below(self, tmp_path: Path) -> None:
        for name, home in (("outer", "/opt/python/bin"), ("inner", f"{tmp_path}/outer/bin")):
            (tmp_path / name / "lib/python3.10/site-packages").mkdir(parents=True)
            (tmp_path / name / "pyvenv.cfg").write_text(f"home = {home}\n")
        answer = value(resolve(site_packages=f"{tmp_path}/inner/lib/python3.10/site-packages").interpreter)
        assert (answer.prefix, answer.base_prefix) == (f"{tmp_path}/inner", "/opt/python")


class TestCudaHome:
    """``--cuda-home`` stands for CUDA_HOME and CUDA_PATH."""

    def test_a_part_of_a_toolkit_names_the_whole(self, tmp_path: Path) -> None:
        home = tmp_path / "cuda-13.0"
        for folder in ("bin", "lib64/stubs"):
            (home / folder).mkdir(parents=True)
        program(home / "bin/nvcc", "exit 0")
        for part in ("bin", "bin/nvcc", "lib64", "lib64/libcudart.so", "../cuda-13.1"):
            assert refusal(cuda_home=str(home / part)).hint == f"Did you mean --cuda-home {home}?"
        (tmp_path / "bin").mkdir()
        program(tmp_path / "bin/nvcc", "exit 0")
        (tmp_path / "cuda-12").mkdir()
        (tmp_path / "empty").mkdir()
        found = resolve(cuda_home=str(tmp_path / "cuda-12"), site_packages=str(tmp_path / "empty"))
        assert found.context.target.cuda_home == str(tmp_path / "cuda-12")

    def test_it_replaces_both_variables_and_keeps_links(
        self, tmp_path: Path, real_venv: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "cuda-13.0").mkdir()
        (tmp_path / "cuda").symlink_to("cuda-13.0")
        monkeypatch.setenv("CUDA_HOME", "/other")
        monkeypatch.setenv("CUDA_PATH", "/other")
        found = resolve(python=f"{real_venv}/bin/python", cuda_home="../cwd/../cuda/").context
        assert found.target.cuda_home == f"{tmp_path}/cuda"
        assert found.environment["CUDA_HOME"] == found.environment["CUDA_PATH"] == f"{tmp_path}/cuda"
        assert os.environ["CUDA_HOME"] == "/other"

    def test_without_it_the_variables_stay(self, real_venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CUDA_HOME", "/other")
        found = resolve(python=f"{real_venv}/bin/python").context
        assert (found.target.cuda_home, found.environment["CUDA_HOME"]) == ("", "/other")
        assert "CUDA_PATH" not in found.environment
