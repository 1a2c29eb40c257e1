"""Reading files of a target: inside the root, whole or refused, never waiting."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sm120kit.snapshot.files import READ_LIMIT, Files

OUTSIDE = b"must never be seen"

READS: dict[str, Callable[[Files, str], object]] = {
    "read": lambda files, path: files.read(path),
    "text": lambda files, path: files.text(path),
    "names": lambda files, path: files.names(path),
    "size": lambda files, path: files.size(path),
    "mode": lambda files, path: files.mode(path),
    "modified": lambda files, path: files.modified(path),
    "real": lambda files, path: files.real(path),
    "link": lambda files, path: files.link(path),
}
PREDICATES: dict[str, Callable[[Files, str], bool]] = {
    "is_file": lambda files, path: files.is_file(path),
    "is_dir": lambda files, path: files.is_dir(path),
    "is_executable": lambda files, path: files.is_executable(path),
    "exists": lambda files, path: files.exists(path),
    "is_link": lambda files, path: files.is_link(path),
}


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A root with an ``etc`` in it, and beside it a file that nothing inside may reach."""
    (tmp_path / "secret").write_bytes(OUTSIDE)
    root = tmp_path / "image"
    (root / "etc").mkdir(parents=True)
    (root / "etc/name").write_text("inside")
    (root / "usr/lib").mkdir(parents=True)
    return root


@pytest.mark.parametrize(
    "escape",
    [
        "../secret",
        "../../secret",
        "../../../../../../../../secret",
        "/../secret",
        "{tmp}/secret",
        "/usr/../../secret",
        "usr/lib/../../../secret",
    ],
)
def test_no_link_leaves_the_root(image: Path, escape: str) -> None:
    (image / "link").symlink_to(escape.format(tmp=image.parent))
    (image / "folder").symlink_to(Path(escape.format(tmp=image.parent)).parent)
    files = Files(str(image))
    for path in ("/link", "/folder/secret", f"/{escape}", "/etc/../../secret", f"{image.parent}/secret"):
        assert not files.exists(path)
        with pytest.raises(FileNotFoundError):
            files.read(path)


def test_an_absolute_link_leads_to_the_same_path_inside(image: Path) -> None:
    (image / "usr/lib/name").symlink_to("/etc/name")
    (image / "lib").symlink_to("/usr/lib")
    (image / "up").symlink_to("../../../../etc")
    files = Files(str(image))
    assert files.text("/lib/name") == "inside"
    assert files.real("/lib/name") == "/etc/name"
    assert files.real("/up/../lib") == "/usr/lib"
    assert files.link("/lib/name") == "/etc/name"
    assert files.names("/up") == ["name"]
    assert files.real("/") == "/"


def test_a_chain_of_links_that_climbs_step_by_step_stays_inside(image: Path) -> None:
    (image / "a").symlink_to("usr/lib/b")
    (image / "usr/lib/b").symlink_to("../../../c")
    (image / "c").symlink_to("../secret")
    (image / "secret").write_text("inside too")
    assert Files(str(image)).text("/a") == "inside too"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_whatever_the_links_nothing_outside_is_read(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    chance = random.Random(seed)
    base = tmp_path_factory.mktemp("tree")
    (base / "secret").write_bytes(OUTSIDE)
    root = base / "root"
    names = ["a", "b", "c", "secret"]
    root.mkdir()
    folders = [root]
    for _ in range(chance.randint(1, 12)):
        place = chance.choice(folders) / chance.choice(names)
        if os.path.lexists(place):
            continue
        kind = chance.randrange(3)
        if kind == 0:
            place.mkdir()
            folders.append(place)
        elif kind == 1:
            place.write_text("inside")
        else:
            steps = [chance.choice([*names, "..", "..", "."]) for _ in range(chance.randint(1, 6))]
            start = chance.choice(["", "/", f"{base}/", f"{root}/"])
            place.symlink_to(start + "/".join(steps))
    files = Files(str(root))
    for _ in range(30):
        path = "/" + "/".join(chance.choice([*names, "..", "."]) for _ in range(chance.randint(1, 6)))
        with contextlib.suppress(OSError):
            assert files.read(path) != OUTSIDE
        with contextlib.suppress(OSError):
            real = files.real(path)
            assert real.startswith("/")
            # No link is left in it that could lead anywhere else.
            assert os.path.realpath(f"{root}{real}") == f"{root}{real}".rstrip("/")


@pytest.mark.parametrize("confined", [False, True], ids=["live", "root"])
class TestOddThings:
    """The same of a live target and of an image."""

    def files_at(self, folder: Path, confined: bool) -> tuple[Files, str]:
        return (Files(str(folder)), "") if confined else (Files(), str(folder))

    @pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
    @pytest.mark.parametrize(
        "name", ["missing", "dangling", "loop", "file/below", "nul\0byte", "\ud800", "x" * 300, "deep"]
    )
    def test_each_failure_is_an_oserror(
        self, tmp_path: Path, confined: bool, read: Callable[[Files, str], object], name: str
    ) -> None:
        (tmp_path / "dangling").symlink_to("nowhere")
        (tmp_path / "loop").symlink_to("loop")
        (tmp_path / "file").write_text("")
        files, base = self.files_at(tmp_path, confined)
        path = f"{base}/{name}" if name != "deep" else base + "/d" * 3000
        if read is READS["link"] and name in ("dangling", "loop"):
            assert read(files, path)
            return
        with pytest.raises(OSError) as caught:  # noqa: PT011 - any kind of it
            read(files, path)
        assert caught.value.strerror
        assert caught.value.filename in (path, repr(path))

    @pytest.mark.parametrize("ask", PREDICATES.values(), ids=PREDICATES.keys())
    @pytest.mark.parametrize("name", ["missing", "file/below", "nul\0byte", "\udfff", "x" * 300])
    def test_predicates_never_raise(
        self, tmp_path: Path, confined: bool, ask: Callable[[Files, str], bool], name: str
    ) -> None:
        (tmp_path / "file").write_text("")
        files, base = self.files_at(tmp_path, confined)
        assert ask(files, f"{base}/{name}") is False

    def test_links_that_lead_nowhere_are_links(self, tmp_path: Path, confined: bool) -> None:
        (tmp_path / "dangling").symlink_to("nowhere")
        (tmp_path / "loop").symlink_to("loop")
        files, base = self.files_at(tmp_path, confined)
        for name in ("dangling", "loop"):
            assert files.is_link(f"{base}/{name}")
            assert not files.exists(f"{base}/{name}")

    def test_a_long_circle_of_links_ends(self, tmp_path: Path, confined: bool) -> None:
        for number in range(60):
            (tmp_path / str(number)).symlink_to(str((number + 1) % 60))
        files, base = self.files_at(tmp_path, confined)
        with pytest.raises(OSError) as caught:  # noqa: PT011 - its number is looked at
            files.real(f"{base}/0")
        assert caught.value.errno == errno.ELOOP

    def test_a_pipe_nobody_writes_to_is_refused_at_once(self, tmp_path: Path, confined: bool) -> None:
        os.mkfifo(tmp_path / "pipe", 0o755)
        files, base = self.files_at(tmp_path, confined)
        with pytest.raises(OSError, match="not a regular file"):
            files.read(f"{base}/pipe")
        assert files.exists(f"{base}/pipe")
        assert not files.is_file(f"{base}/pipe")
        assert not files.is_executable(f"{base}/pipe")

    def test_a_socket_and_a_folder_are_refused(
        self, tmp_path: Path, confined: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("socket")
            files, base = self.files_at(tmp_path, confined)
            for path in (f"{base}/socket", f"{base}/"):
                with pytest.raises(OSError, match="not a regular file"):
                    files.read(path)

    def test_a_huge_file_is_read_to_the_limit(self, tmp_path: Path, confined: bool) -> None:
        with (tmp_path / "huge").open("wb") as huge:
            huge.truncate(1 << 40)
        files, base = self.files_at(tmp_path, confined)
        assert len(files.read(f"{base}/huge")) == READ_LIMIT
        assert files.read(f"{base}/huge", 10) == bytes(10)
        assert files.size(f"{base}/huge") == 1 << 40

    def test_names_and_text_that_are_not_utf8(self, tmp_path: Path, confined: bool) -> None:
        (tmp_path / os.fsdecode(b"caf\xe9")).write_bytes(b"\xff\xfe!")
        files, base = self.files_at(tmp_path, confined)
        assert files.names(f"{base}/") == ["caf\udce9"]
        assert files.text(f"{base}/caf\udce9") == "\ufffd\ufffd!"

    def test_a_file_that_may_not_be_read(self, tmp_path: Path, confined: bool) -> None:
        (tmp_path / "file").write_text("x")
        (tmp_path / "file").chmod(0)
        files, base = self.files_at(tmp_path, confined)
        if os.geteuid():
            with pytest.raises(PermissionError):
                files.read(f"{base}/file")
        assert files.is_file(f"{base}/file")
        assert not files.is_executable(f"{base}/file")


def test_a_device_is_not_even_opened() -> None:
    with pytest.raises(OSError, match="not a regular file"):
        Files().read("/dev/zero")


def test_text_of_proc_has_no_size_and_is_read_all_the_same() -> None:
    assert "proc" in Files().text("/proc/self/mountinfo")
