"""Layers laid on one another as the OCI image specification says, read out of archives of every kind."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sm120kit.snapshot.image import open as opening
from sm120kit.snapshot.image.files import ImageFiles
from sm120kit.snapshot.image.open import open_image
from sm120kit.snapshot.image.sources import FileSource, Gzip, Part
from tests.image_archives import (
    Stored,
    blob_name,
    digest,
    docker_save,
    file,
    folder,
    gzipped,
    link,
    oci_layout,
    other_name,
    plain,
    special,
    tar,
    write,
)


def zstandard(layer: bytes) -> bytes:
    import zstandard as module

    return module.ZstdCompressor(level=1).compress(layer)


def files_of(path: Path, *layers: bytes, stored: Stored = plain) -> ImageFiles:
    return open_image(str(docker_save(path / "image.tar", *layers, stored=stored))).files


BASE = tar(
    folder("etc"),
    file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nsrv:x:1000:1000::/srv/home:/bin/sh\n"),
    file("etc/os-release", "PRETTY_NAME=Test\n"),
    folder("usr/lib"),
    link("lib", "usr/lib"),
    file("usr/lib/a.so", b"\x7fELF" + bytes(3000)),
    file("opt/old/one", "1"),
    file("opt/old/two", "2"),
)


@pytest.mark.parametrize("write", [docker_save, oci_layout])
@pytest.mark.parametrize("stored", [plain, gzipped, zstandard])
def test_both_layouts_and_every_compression(write: Callable[..., Path], stored: Stored, tmp_path: Path) -> None:
    path = write(tmp_path / "i.tar", BASE, tar(file("lib/b.so", "b")), stored=stored, environment=["PATH=/x", "A=b=c"])
    image = open_image(str(path))
    assert image.environment == {"PATH": "/x", "A": "b=c", "HOME": "/root"}
    assert image.files.names("/") == ["etc", "lib", "opt", "usr"]
    assert image.files.names("/lib") == image.files.names("/usr/lib") == ["a.so", "b.so"]
    assert image.files.real("/lib/b.so") == "/usr/lib/b.so"
    assert image.files.text("/etc/os-release") == "PRETTY_NAME=Test\n"
    assert image.files.read("/lib/a.so", 4) == b"\x7fELF"
    assert image.files.pieces("/lib/a.so", [(3000, 100), (3003, 4), (9999, 5)]) == [bytes(4), bytes(1), b""]
    assert image.files.size("/usr/lib/a.so") == 3004
    assert image.files.modified("/etc/passwd") == 1_700_000_000
    assert image.files.link("/lib") == "usr/lib"
    assert image.name.endswith("linux/amd64")


@pytest.mark.parametrize("write", [docker_save, oci_layout])
@pytest.mark.parametrize("compress", [gzip.compress, zstandard])
def test_an_archive_compressed_as_a_whole(
    write: Callable[..., Path], compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = write(tmp_path / "i.tar", BASE, stored=gzipped)
    path.write_bytes(compress(path.read_bytes()))
    assert open_image(str(path)).files.text("/etc/os-release") == "PRETTY_NAME=Test\n"


def test_what_newer_dockers_write_is_read_by_its_digests(tmp_path: Path) -> None:
    members = members_of(oci_layout(tmp_path / "1.tar", BASE))
    both = tmp_path / "both.tar"
    both.write_bytes(tar(*(file(*each) for each in {**members, "manifest.json": b"damaged"}.items())))
    assert "OCI layout" in open_image(str(both)).name


def members_of(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {each.name: (archive.extractfile(each) or io.BytesIO()).read() for each in archive}


def test_one_image_among_platforms_names_and_attestations(tmp_path: Path) -> None:
    """The one for this machine is read; what is not an image, or not in the archive, does not count."""
    members = members_of(oci_layout(tmp_path / "1.tar", BASE))
    (own,) = json.loads(members["index.json"])["manifests"]
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, "")
    attestation = {**own, "digest": digest(b"a"), "annotations": {"vnd.docker.reference.type": "attestation-manifest"}}
    other = {**own, "digest": digest(b"b"), "platform": {"os": "linux", "architecture": "s390x"}}
    mine = {**own, "platform": {"os": "linux", "architecture": machine}}
    for manifests in ([own, attestation], [own, own], [other, mine], [mine, other, attestation], [own, other]):
        index = {"index.json": json.dumps({"manifests": manifests}).encode()}
        there = {} if manifests == [own, other] else {blob_name(b"b"): b"b"}
        path = write(tmp_path / "2.tar", {**members, **index, **there})
        assert open_image(str(path)).files.text("/etc/os-release") == "PRETTY_NAME=Test\n"
        path.unlink()


def test_home_is_that_of_the_images_user(tmp_path: Path) -> None:
    for user, home in (("srv", "/srv/home"), ("1000:1000", "/srv/home"), ("", "/root"), ("7", "/")):
        image = open_image(str(docker_save(tmp_path / f"{user or 'none'}.tar", BASE, user=user)))
        assert image.environment["HOME"] == home


def test_whiteouts_take_away_what_lower_layers_brought(tmp_path: Path) -> None:
    files = files_of(tmp_path, BASE, tar(file("opt/old/.wh.one"), file("etc/.wh.nothing"), file("gone/.wh.x")))
    assert files.names("/opt/old") == ["two"]
    assert not files.exists("/gone")
    assert files.exists("/etc/passwd")


def test_a_folder_that_is_taken_away_goes_with_all_below(tmp_path: Path) -> None:
    files = files_of(tmp_path, BASE, tar(file("opt/.wh.old")), tar(file("opt/new", "n")))
    assert files.names("/opt") == ["new"]


@pytest.mark.parametrize("first", [True, False])
def test_an_opaque_folder_keeps_what_its_own_layer_brings(first: bool, tmp_path: Path) -> None:
    members = [file("opt/old/.wh..wh..opq"), file("opt/old/three", "3")]
    files = files_of(tmp_path, BASE, tar(*(members if first else reversed(members))))
    assert files.names("/opt/old") == ["three"]


def test_a_whiteout_spares_a_file_of_its_own_layer(tmp_path: Path) -> None:
    files = files_of(tmp_path, BASE, tar(file("opt/old/one", "new"), file("opt/old/.wh.one")))
    assert files.text("/opt/old/one") == "new"


def test_marks_of_aufs_mean_nothing(tmp_path: Path) -> None:
    assert files_of(tmp_path, BASE, tar(file("opt/.wh..wh.plnk"))).names("/opt") == ["old"]


def test_later_layers_replace_by_kind(tmp_path: Path) -> None:
    files = files_of(tmp_path, BASE, tar(file("opt/old", "a file now"), folder("lib"), file("lib/own", "x")))
    assert files.text("/opt/old") == "a file now"
    assert not files.is_link("/lib")
    assert files.names("/lib") == ["own"]
    assert files.names("/usr/lib") == ["a.so"]


def test_hard_links_are_one_file(tmp_path: Path) -> None:
    files = files_of(tmp_path, BASE, tar(other_name("usr/lib/c.so", "usr/lib/a.so"), file("opt/.wh.old")))
    assert files.read("/lib/c.so", 4) == b"\x7fELF"
    assert not files.is_link("/lib/c.so")


def test_links_are_followed_inside_and_nowhere_else(tmp_path: Path) -> None:
    members = [
        link("up", "../../../../etc/passwd"),
        link("loop", "loop"),
        link("absolute", "/etc/passwd"),
        link("out", "../../../../../../proc/version"),
    ]
    files = files_of(tmp_path, BASE, tar(*members))
    assert files.text("/up").startswith("root:")
    assert files.real("/absolute") == "/etc/passwd"
    assert not files.exists("/out")
    assert files.is_link("/loop")
    with pytest.raises(OSError, match="too many symbolic links"):
        files.text("/loop")


def test_devices_and_pipes_are_names_alone(tmp_path: Path) -> None:
    kinds = {"zero": tarfile.CHRTYPE, "disk": tarfile.BLKTYPE, "pipe": tarfile.FIFOTYPE}
    files = files_of(tmp_path, tar(*(special(f"dev/{name}", kind) for name, kind in kinds.items())))
    assert stat.S_ISCHR(files.mode("/dev/zero"))
    for name in kinds:
        with pytest.raises(OSError, match="not a regular file"):
            files.read(f"/dev/{name}")


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_and_foreign_names(form: int, tmp_path: Path) -> None:
    long = "/".join(["a" * 90] * 4)
    files = files_of(tmp_path, tar(file(f"{long}/é\udcff", "x"), link("l", long), form=form))
    assert files.names(f"/{long}") == ["é\udcff"]
    assert files.text("/l/é\udcff") == "x"


def test_a_sparse_file_is_there_and_not_read(tmp_path: Path) -> None:
    info = tarfile.TarInfo("core")
    info.size = 4
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.realsize": "1000000", "GNU.sparse.name": "big"}
    files = files_of(tmp_path, tar((info, b"data")))
    assert files.size("/big") == 1_000_000
    with pytest.raises(OSError, match="sparse"):
        files.read("/big")


def test_errors_are_those_of_the_system(tmp_path: Path) -> None:
    files = files_of(tmp_path, BASE)
    for look, error in (
        (lambda: files.read("/nothing"), FileNotFoundError),
        (lambda: files.read("/etc"), IsADirectoryError),
        (lambda: files.names("/etc/passwd"), NotADirectoryError),
        (lambda: files.size("/etc/passwd/x"), NotADirectoryError),
    ):
        with pytest.raises(error):
            look()
    assert not files.exists("/nothing")


def test_any_place_of_a_compressed_layer_can_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Thirty megabytes in two members of one gzip stream, read at random, with few places to begin at."""
    monkeypatch.setattr(opening, "MOST_STATES", 3)
    chance = random.Random(7)
    big = chance.randbytes(15 << 20) + bytes(15 << 20)
    layer = tar(file("first", b"1"), file("big", big), file("last", b"2"))

    def in_two(data: bytes) -> bytes:
        half = len(data) // 2
        return gzip.compress(data[:half], 1) + gzip.compress(data[half:], 1)

    files = files_of(tmp_path, layer, stored=in_two)
    for _ in range(40):
        offset, size = chance.randrange(len(big)), chance.randrange(1, 3 << 20)
        assert files.pieces("/big", [(offset, size)]) == [big[offset : offset + size]]
    assert files.text("/last") + files.text("/first") == "21"


def test_places_to_begin_at_hold_no_more_of_the_stream_than_they_need(tmp_path: Path) -> None:
    """A state of the inflater holds on to what it was given: with a megabyte each, a small bomb fills the memory."""
    stored = gzipped(bytes(64 << 20)) * 4
    path = tmp_path / "stream"
    path.write_bytes(stored)
    source = Gzip(Part(FileSource(str(path)), 0, len(stored)), 1024)
    assert sum(map(len, source.pieces())) == 256 << 20
    held = [len(state._inflater.unconsumed_tail) for state in source._states]
    assert len(held) > 60
    assert max(held) <= 32 << 10


def test_the_same_archive_is_read_once_and_another_of_its_name_anew(tmp_path: Path) -> None:
    path = docker_save(tmp_path / "i.tar", BASE)
    assert open_image(str(path)) is open_image(str(path))
    docker_save(path, BASE, tar(file("new", "n")))
    assert open_image(str(path)).files.exists("/new")
