"""An unpacked image: its Pythons by folder names alone, nothing executed, nothing outside."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.snapshot.context import DEFAULT_PATH
from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.installed import python_of
from sm120kit.snapshot.target import ResolvedTarget, TargetOptions, resolve_target
from tests.snapshot.targets import install, program, value


@pytest.fixture(autouse=True)
def nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.setenv("VIRTUAL_ENV", "/of/the/host")


def resolve(root: Path, **options: Any) -> ResolvedTarget:
    return resolve_target(TargetOptions(root=str(root), **options), Files(str(root)))


def python(root: Path, prefix: str, version: str) -> None:
    """An interpreter as images hold them."""
    program(root / prefix.strip("/") / f"bin/python{version}", "\x7fELF")
    (root / prefix.strip("/") / "bin/python3").symlink_to(f"python{version}")


def site(root: Path, path: str, **packages: str) -> str:
    folder = root / path.strip("/")
    folder.mkdir(parents=True, exist_ok=True)
    for name, version in packages.items():
        install(folder, name, version, {f"{name}/__init__.py": ""})
    return path


def make_venv(
    root: Path, prefix: str, version: str, home: str = "/usr/bin", *, system: bool = False, **packages: str
) -> str:
    folder = root / prefix.strip("/")
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python3").symlink_to(f"{home}/python3")
    (folder / "bin/python").symlink_to("python3")
    (folder / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = {str(system).lower()}\n")
    (folder / "lib64").symlink_to("lib")
    return site(root, f"{prefix}/lib/python{version}/site-packages", **packages)


def test_a_debian_image(tmp_path: Path) -> None:
    python(tmp_path, "/usr", "3.12")
    local = site(tmp_path, "/usr/local/lib/python3.12/dist-packages", torch="2.14.1")
    system = site(tmp_path, "/usr/lib/python3/dist-packages")
    (tmp_path / "usr/lib/python3.12/lib-dynload").mkdir(parents=True)
    (tmp_path / "usr/lib/python3.12/lib-dynload/_x.cpython-312-aarch64-linux-gnu.so").write_text("")
    (tmp_path / "usr/lib/python3.12/EXTERNALLY-MANAGED").write_text("")
    found = resolve(tmp_path)
    answer = value(found.interpreter)
    assert found.context.site_packages == answer.site_packages == (local, system)
    assert (answer.executable, answer.version, answer.prefix) == ("/usr/bin/python3.12", "3.12", "/usr")
    assert answer.soabi == "cpython-312-aarch64-linux-gnu"
    assert answer.externally_managed
    assert found.context.target.kind == "root"
    assert found.context.target.why == "named by --root, with the packages of Python 3.12 in /usr"
    assert not found.context.target.live
    assert found.context.environment == {"PATH": DEFAULT_PATH}


def test_a_python_image_keeps_its_packages_below_usr_local(tmp_path: Path) -> None:
    python(tmp_path, "/usr/local", "3.12")
    python(tmp_path, "/usr", "3.11")
    own = site(tmp_path, "/usr/local/lib/python3.12/site-packages", sglang="0.5.23")
    site(tmp_path, "/usr/lib/python3/dist-packages")
    (tmp_path / "usr/lib/python3.11").mkdir()
    found = resolve(tmp_path)
    assert found.context.site_packages == (own,)
    assert value(found.interpreter).prefix == "/usr/local"
    assert "1 more in the image" in found.context.target.why


def test_a_fedora_image(tmp_path: Path) -> None:
    python(tmp_path, "/usr", "3.13")
    first = site(tmp_path, "/usr/local/lib64/python3.13/site-packages", torch="2.14.1")
    second = site(tmp_path, "/usr/lib/python3.13/site-packages")
    third = site(tmp_path, "/usr/lib64/python3.13/site-packages")
    assert resolve(tmp_path).context.site_packages == (first, second, third)


@pytest.mark.parametrize("prefix", ["/opt/venv", "/opt/conda", "/app/.venv", "/venv"])
def test_an_environment_where_images_put_one(tmp_path: Path, prefix: str) -> None:
    python(tmp_path, "/usr", "3.12")
    site(tmp_path, "/usr/lib/python3/dist-packages")
    (tmp_path / "usr/lib/python3.12").mkdir()
    own = make_venv(tmp_path, prefix, "3.12", torch="2.14.1")
    found = resolve(tmp_path)
    assert found.context.site_packages == (own,)
    answer = value(found.interpreter)
    assert (answer.prefix, answer.base_prefix) == (prefix, "/usr")
    assert answer.executable == f"{prefix}/bin/python3"


def test_the_one_with_an_engine_wins_and_the_variables_come_first(tmp_path: Path) -> None:
    make_venv(tmp_path, "/opt/a", "3.12", click="8.1")
    with_torch = make_venv(tmp_path, "/opt/b", "3.12", torch="2.14.1")
    assert resolve(tmp_path).context.site_packages == (with_torch,)
    named = make_venv(tmp_path, "/srv/named", "3.11", torch="2.13.0")
    on_path = make_venv(tmp_path, "/srv/path", "3.11", sglang="0.5.23")
    (tmp_path / "env").write_text("VIRTUAL_ENV=/srv/named\nPATH=/srv/path/bin:/usr/bin\n")
    assert resolve(tmp_path, env_file=f"{tmp_path}/env").context.site_packages == (named,)
    (tmp_path / "env").write_text("PATH=/srv/path/bin:/usr/bin\n")
    assert resolve(tmp_path, env_file=f"{tmp_path}/env").context.site_packages == (on_path,)


def test_a_venv_that_sees_the_system(tmp_path: Path) -> None:
    python(tmp_path, "/usr", "3.12")
    system = site(tmp_path, "/usr/local/lib/python3.12/dist-packages", torch="2.14.1")
    own = make_venv(tmp_path, "/opt/venv", "3.12", system=True, sglang="0.5.23")
    assert resolve(tmp_path).context.site_packages == (own, system)


def test_pth_files_and_absolute_links_stay_inside(tmp_path: Path) -> None:
    own = make_venv(tmp_path, "/opt/venv", "3.12", torch="2.14.1")
    site(tmp_path, "/srv/extra", sglang="0.5.23")
    outside = site(tmp_path.parent, f"/{tmp_path.name}-outside", secret="1")
    (tmp_path / own.strip("/") / "x.pth").write_text(
        f"/srv/extra\n{tmp_path.parent}{outside}\n../../../../../..{outside}\n"
    )
    assert resolve(tmp_path).context.site_packages == (own, "/srv/extra")


def test_paths_given_are_paths_inside(tmp_path: Path) -> None:
    own = make_venv(tmp_path, "/opt/venv", "3.12", torch="2.14.1")
    other = make_venv(tmp_path, "/opt/other", "3.11", click="8.1")
    (tmp_path / "usr/local/cuda-13.0").mkdir(parents=True)
    (tmp_path / "usr/local/cuda").symlink_to("/usr/local/cuda-13.0")
    found = resolve(tmp_path, python="/opt/other/bin/python", cuda_home="usr/local/./cuda/")
    assert found.context.site_packages == (other,)
    assert value(found.interpreter).executable == "/opt/other/bin/python3"
    assert found.context.target.cuda_home == found.context.environment["CUDA_HOME"] == "/usr/local/cuda"
    assert "--python /opt/other/bin/python" in found.context.target.why
    named = resolve(tmp_path, site_packages=own)
    assert (named.context.target.kind, named.context.site_packages) == ("site-packages", (own,))
    assert not named.context.live


@pytest.mark.parametrize("option", ["python", "site_packages", "cuda_home"])
def test_a_path_of_the_host_is_refused_with_the_reason(tmp_path: Path, option: str) -> None:
    make_venv(tmp_path, "/opt/venv", "3.12")
    given = f"{tmp_path}/opt/venv/bin/python"
    with pytest.raises(Sm120kitError, match="does not exist inside") as caught:
        resolve(tmp_path, **{option: given})
    assert caught.value.exit_code == TARGET_UNREADABLE
    assert f"leave out {tmp_path}" in caught.value.hint


def test_an_image_without_python_can_still_be_examined(tmp_path: Path) -> None:
    (tmp_path / "usr/local/cuda").mkdir(parents=True)
    found = resolve(tmp_path)
    assert found.context.site_packages == ()
    assert isinstance(found.interpreter, Unknown)
    assert found.context.target.path == str(tmp_path)


def test_an_interpreter_without_its_library(tmp_path: Path) -> None:
    python(tmp_path, "/opt/strange", "3.12")
    found = resolve(tmp_path, python="/opt/strange/bin/python3")
    assert isinstance(found.interpreter, Unknown)
    assert found.context.site_packages == ()


@pytest.mark.parametrize(
    "path",
    ["/srv/packages", "/srv/lib/site-packages", "relative/lib/python3.12/site-packages", "/lib/pythonX/site-packages"],
)
def test_folders_that_do_not_tell_their_python(tmp_path: Path, path: str) -> None:
    assert python_of(Files(str(tmp_path)), path) is None


def test_loops_and_odd_things_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/loop").symlink_to("loop")
    (tmp_path / "opt/file").write_text("")
    (tmp_path / "usr").symlink_to("usr")
    (tmp_path / "venv/lib/python3.12").mkdir(parents=True)
    (tmp_path / "venv/lib/python3.12/site-packages").symlink_to("/nowhere")
    (tmp_path / "venv/pyvenv.cfg").mkdir()
    assert isinstance(resolve(tmp_path).interpreter, Unknown)


def test_a_venv_that_names_itself_as_its_base_ends(tmp_path: Path) -> None:
    own = make_venv(tmp_path, "/opt/a", "3.12", home="/opt/b/bin", system=True, torch="2.14.1")
    other = make_venv(tmp_path, "/opt/b", "3.12", home="/opt/a/bin", system=True)
    assert resolve(tmp_path, python="/opt/a/bin/python").context.site_packages == (own, other)
