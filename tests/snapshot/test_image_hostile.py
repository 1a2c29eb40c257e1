"""Archives that were made to harm: each is refused with one sentence, or holds nothing that leads out of it."""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from sm120kit.errors import TARGET_UNREADABLE, Sm120kitError
from sm120kit.snapshot.image import open as opening
from sm120kit.snapshot.image import tree
from sm120kit.snapshot.image.open import open_image
from tests.image_archives import (
    Member,
    Stored,
    blob_name,
    configuration,
    described,
    digest,
    docker_save,
    file,
    folder,
    gzipped,
    link,
    oci_layout,
    other_name,
    plain,
    tar,
    write,
)

LAYER = tar(file("etc/hostname", "inside"))


def refused(path: Path, reason: str) -> None:
    """The archive is refused, in one line with its name and this reason."""
    with pytest.raises(Sm120kitError) as refusal:
        open_image(str(path))
    assert refusal.value.exit_code == TARGET_UNREADABLE
    assert str(path) in refusal.value.message
    assert reason in refusal.value.message
    assert "\n" not in refusal.value.message


def of_layer(path: Path, layer: bytes, stored: Stored = plain) -> Path:
    return docker_save(path / "image.tar", layer, stored=stored)


def cut(layer: bytes) -> bytes:
    """A layer that ends in the middle of its file."""
    return layer[:600]


def of_negative_size() -> bytes:
    info, _ = file("x")
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"\xff" * 12  # minus one, in base 256
    block[148:156] = b"%06o\0 " % (sum(block[:148]) + 8 * 32 + sum(block[156:512]))
    return bytes(block) + bytes(1024)


def with_extension(size: int, content: bytes) -> bytes:
    """A pax header that says it is ``size`` bytes long."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, size
    return info.tobuf(tarfile.USTAR_FORMAT) + content + bytes(-len(content) % 512) + tar(file("y"))


LAYERS: Mapping[str, tuple[bytes, str]] = {
    "a path with ..": (tar(file("../../etc/cron.d/x", "harm")), "leads out of it"),
    "a path with .. in the middle": (tar(file("a/../../x", "harm")), "leads out of it"),
    "a hard link with ..": (tar(other_name("x", "../../etc/shadow")), "leads out of it"),
    "a hard link to nothing": (tar(other_name("x", "etc/shadow")), "which is not in it"),
    "a hard link to a folder": (tar(folder("d"), other_name("x", "d")), "another name of the folder d"),
    "a file below a file": (tar(file("a", "1"), file("a/b", "2")), "below something that is no folder"),
    "a file below a loop": (tar(link("a", "a"), file("a/b", "2")), "too many symbolic links"),
    "a size that is not there": (cut(tar(file("x", bytes(4000)))), "end too early"),
    "a size of a terabyte": (tar(file("x"))[:124] + b"%011o\0" % (1 << 32) + tar(file("x"))[136:], "tar data are dama"),
    "a negative size": (of_negative_size(), "negative size"),
    "no end": (tar(file("x"))[:512], "end too early"),
    "a pax header of a gigabyte": (with_extension(1 << 30, b""), "is 1073741824 bytes long"),
    "a pax header that lies about its records": (with_extension(16, b"99999 path=x\n"), "pax header"),
    "a pax header with a size that is none": (with_extension(10, b"10 size=x\n"), "pax header"),
    "a name of five thousand characters": (tar(file("a/" * 2500 + "b")), "more than 4096"),
    "a link text of five thousand characters": (tar(link("a", "b/" * 2500)), "more than 4096"),
    "no tar at all": (b"#!/bin/sh\n" * 100, "tar data are damaged"),
    "nothing": (b"", "end too early"),
}


@pytest.mark.parametrize("stored", [plain, gzipped])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_that_are_refused(name: str, stored: Stored, tmp_path: Path) -> None:
    layer, reason = LAYERS[name]
    path = of_layer(tmp_path, layer, stored)
    refused(path, reason)
    refused(path, "layer 1 of 1: ")


def test_a_declared_terabyte_costs_nothing(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.size = 1 << 40
    refused(of_layer(tmp_path, info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)), "end too early")


CONTAINED: Mapping[str, tuple[Member, ...]] = {
    "an absolute path": (file("/etc/x", "harm"),),
    "a path through a link to the top": (link("d", "/../../../.."), file("d/etc/x", "harm")),
    "a path through a link out": (link("d", "../../../../etc"), file("d/x", "harm")),
    "a path through a link that leads nowhere": (link("d", "/etc"), file("d/x", "harm")),
    "an absolute hard link": (file("etc/y", "harm"), other_name("etc/x", "/etc/y")),
}


@pytest.mark.parametrize("name", CONTAINED)
def test_paths_stay_inside(name: str, tmp_path: Path) -> None:
    assert not os.path.exists("/etc/x")
    files = open_image(str(of_layer(tmp_path, tar(*CONTAINED[name])))).files
    assert files.text("/etc/x") == "harm"
    assert not os.path.exists("/etc/x")


@pytest.mark.parametrize("name", [".wh.", ".wh...", ".wh..", ".wh../x", "a/.wh...", ".wh..wh.", ".wh..wh..opq"])
def test_whiteouts_of_strange_names(name: str, tmp_path: Path) -> None:
    base = tar(file("a/b", "1"), file("c", "2"))
    files = open_image(str(docker_save(tmp_path / "i.tar", base, tar(file(name))))).files
    assert files.names("/") in (["a", "c"], ["a", "c", ".wh.."], [".wh..", "a", "c"], [])


def test_whiteouts_behind_links_stay_inside(tmp_path: Path) -> None:
    base = tar(folder("etc"), file("etc/x", "1"), link("d", "../../etc"))
    files = open_image(str(docker_save(tmp_path / "i.tar", base, tar(file("d/.wh.x"))))).files
    assert files.names("/etc") == []


Change = Mapping[str, bytes | None]
NESTED = b"[" * 100_000
DOCUMENTS: Mapping[str, bytes] = {
    "no JSON": b"{",
    "not UTF-8": b'{"os": "\xff"}',
    "another kind": b'"text"',
    "nested a hundred thousand times": NESTED,
    "five megabytes": b" " * (5 << 20) + b"{}",
    "nothing": b"",
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_that_cannot_be_read(name: str, tmp_path: Path) -> None:
    bad = DOCUMENTS[name]
    refused(docker_save(tmp_path / "d.tar", LAYER, change={"manifest.json": bad}), "its manifest")
    refused(oci_layout(tmp_path / "o.tar", LAYER, change={"index.json": bad}), "its index")
    manifest = json.dumps([{"Config": "c.json", "Layers": []}]).encode()
    path = docker_save(tmp_path / "c.tar", LAYER, change={"manifest.json": manifest, "c.json": bad})
    refused(path, "its configuration")


def test_wrong_digests(tmp_path: Path) -> None:
    other = tar(file("etc/hostname", "OTHER!"))
    config = json.dumps(configuration([LAYER])).encode()
    name = f"{digest(config).partition(':')[2]}.json"
    spoiled = config.replace(b"amd64", b"arm64")
    refused(docker_save(tmp_path / "1.tar", LAYER, change={name: spoiled}), "its configuration is not what its digest")
    layer = f"{0:064x}/layer.tar"
    refused(docker_save(tmp_path / "2.tar", LAYER, change={layer: other}), "what it holds is not what its digest says")
    refused(oci_layout(tmp_path / "3.tar", LAYER, change={blob_name(LAYER): other}), "is not what its digest says")
    longer = oci_layout(tmp_path / "4.tar", LAYER, change={blob_name(LAYER): LAYER + bytes(512)})
    refused(longer, f"layer 1 has {len(LAYER) + 512} bytes, and its manifest says {len(LAYER)}")


def test_a_layer_whose_stored_bytes_were_changed(tmp_path: Path) -> None:
    stored = gzipped(LAYER)
    changed = stored[:4] + b"\1\1\1\1" + stored[8:]  # the time in the header of gzip: what it holds stays the same
    path = oci_layout(tmp_path / "i.tar", LAYER, stored=gzipped, change={blob_name(stored): changed})
    refused(path, "layer 1 of 1: what is stored is not what its digest says")


def test_parts_that_are_missing(tmp_path: Path) -> None:
    layer = f"{0:064x}/layer.tar"
    refused(docker_save(tmp_path / "1.tar", LAYER, change={layer: None}), f"layer 1 is missing ({layer})")
    refused(oci_layout(tmp_path / "2.tar", LAYER, change={blob_name(LAYER): None}), "layer 1 is missing")
    for name in ("../../../../etc/passwd", "/etc/passwd"):
        manifest = json.dumps([{"Config": name, "Layers": []}]).encode()
        path = docker_save(tmp_path / "3.tar", LAYER, change={"manifest.json": manifest})
        refused(path, f"its configuration is missing ({name})")
    refused(docker_save(tmp_path / "4.tar", LAYER, LAYER, change={f"{1:064x}/layer.tar": b""}), "layer 2 of 2")


def test_counts_that_do_not_fit(tmp_path: Path) -> None:
    config = json.dumps(configuration([LAYER, LAYER])).encode()
    manifest = json.dumps([{"Config": "c.json", "Layers": [f"{0:064x}/layer.tar"]}]).encode()
    path = docker_save(tmp_path / "i.tar", LAYER, change={"manifest.json": manifest, "c.json": config})
    refused(path, "it has 1 layers, and its configuration names 2")
    many = json.dumps([{"Config": "c.json", "Layers": [f"{0:064x}/layer.tar"] * 600}]).encode()
    refused(docker_save(tmp_path / "j.tar", LAYER, change={"manifest.json": many, "c.json": config}), "600 layers")


def test_digests_that_are_paths(tmp_path: Path) -> None:
    index = {"manifests": [{"digest": "sha256:../../oci-layout", "size": 1}]}
    path = oci_layout(tmp_path / "i.tar", LAYER, change={"index.json": json.dumps(index).encode()})
    refused(path, "something that is no digest")
    blob = json.dumps({"config": described(LAYER), "layers": []}).encode()
    index = {"manifests": [{"digest": f"md5:{digest(blob)[7:39]}", "size": 1}]}
    more = {"index.json": json.dumps(index).encode(), f"blobs/md5/{digest(blob)[7:39]}": blob}
    refused(oci_layout(tmp_path / "j.tar", LAYER, change=more), "digest of an unknown kind")


def test_indexes_in_indexes(tmp_path: Path) -> None:
    members: dict[str, bytes | None] = {}
    inner = json.dumps({"manifests": []}).encode()
    for _ in range(10):
        members[blob_name(inner)] = inner
        inner = json.dumps(
            {"manifests": [{**described(inner), "mediaType": "application/vnd.oci.image.index.v1+json"}]}
        ).encode()
    members["index.json"] = inner
    refused(oci_layout(tmp_path / "i.tar", LAYER, change=members), "leads through too many others")


def test_not_one_image(tmp_path: Path) -> None:
    rows = [{"Config": "c.json", "RepoTags": [f"some/name:{number}"], "Layers": []} for number in (1, 2)]
    path = docker_save(tmp_path / "1.tar", LAYER, change={"manifest.json": json.dumps(rows).encode()})
    refused(path, "it holds 2 images: some/name:1, some/name:2")
    refused(docker_save(tmp_path / "2.tar", LAYER, change={"manifest.json": b"[]"}), "its manifest names no image")
    refused(oci_layout(tmp_path / "3.tar", LAYER, change={"index.json": b'{"manifests": []}'}), "names no image")


def test_links_among_the_parts(tmp_path: Path) -> None:
    """Dockers before 25 wrote a layer that repeats as a link; a loop of such links is refused."""
    layer = f"{0:064x}/layer.tar"
    with tarfile.open(docker_save(tmp_path / "i.tar", LAYER)) as archive:
        members = [(each, (archive.extractfile(each) or io.BytesIO()).read()) for each in archive]
    others = [member for member in members if member[0].name != layer]
    good = [*others, file("first/layer.tar", LAYER), link(layer, "../first/layer.tar")]
    (tmp_path / "good.tar").write_bytes(tar(*good))
    assert open_image(str(tmp_path / "good.tar")).files.text("/etc/hostname") == "inside"
    (tmp_path / "loop.tar").write_bytes(tar(*others, link(layer, "layer.tar")))
    refused(tmp_path / "loop.tar", "layer 1 is no file")
    (tmp_path / "out.tar").write_bytes(tar(*others, link(layer, "../../../../../etc/passwd")))
    refused(tmp_path / "out.tar", "layer 1 is missing")


def test_what_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "it"
    for content, reason in (
        (b"", "it is empty"),
        (os.urandom(5000), "tar data are damaged"),
        (tar(file("a")), "neither an OCI layout nor what docker save writes"),
        (tar(folder("etc"), folder("usr")), "docker export"),
        (b"\x1f\x8b" + bytes(50), "gzip data are damaged"),
        (gzip.compress(tar(file("a", os.urandom(99_999))))[:50_000], "end too early"),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 50, "zstd data are damaged"),
    ):
        path.write_bytes(content)
        refused(path, reason)
    refused(tmp_path / "nothing", "No such file")
    refused(tmp_path, "not a regular file")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "not a regular file")
    refused(Path("/dev/zero"), "not a regular file")


def test_an_archive_that_ends_in_a_layer(tmp_path: Path) -> None:
    path = docker_save(tmp_path / "i.tar", tar(file("x", os.urandom(99_999))))
    path.write_bytes(path.read_bytes()[:50_000])
    refused(path, "end too early")


def test_too_many_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tree, "MOST_ENTRIES", 1000)
    refused(of_layer(tmp_path, tar(*(file(f"{number}") for number in range(1001)))), "more than 1000 files")


def test_names_that_fill_the_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tree, "MOST_NAMES", 100_000)
    layer = tar(*(file(f"{'n' * 200}/{number}") for number in range(600)))
    refused(of_layer(tmp_path, layer), "names of more than 100000 characters")


def test_links_that_take_for_ever(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tree, "MOST_STEPS", 100_000)
    chain = [link(f"l{number}", "d/../" * 700 + f"l{number + 1}") for number in range(38)]
    layer = tar(folder("d"), folder("l38"), *chain, *(file(f"l0/{number}") for number in range(100)))
    refused(of_layer(tmp_path, layer), "too many links")


def test_layers_that_inflate_without_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(opening, "FREE_INFLATION", 64 << 20)
    bomb = tar(file("x", bytes(80 << 20)))
    refused(of_layer(tmp_path, bomb, gzipped), "when they are inflated")
    path = tmp_path / "outer.tar.gz"
    path.write_bytes(gzip.compress(bomb, 1))
    refused(path, "when they are inflated")
    manifest = json.dumps([{"Config": "c.json", "Layers": [f"{0:064x}/layer.tar"] * 30}]).encode()
    half = tar(file("x", bytes(40 << 20)))
    config = json.dumps(configuration([half] * 30)).encode()
    change = {"manifest.json": manifest, "c.json": config}
    refused(docker_save(tmp_path / "again.tar", half, stored=gzipped, change=change), "when they are inflated")


def test_without_a_module_for_zstd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import zstandard

    path = of_layer(tmp_path, LAYER, zstandard.ZstdCompressor().compress)
    for name in ("compression", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(Sm120kitError) as refusal:
        open_image(str(path))
    assert "compressed with zstd" in refusal.value.message
    assert "pip install zstandard" in refusal.value.hint


@pytest.mark.parametrize(
    "make",
    [
        lambda path: of_layer(path, with_extension(1 << 30, b"")),
        lambda path: of_layer(path, tar(*(file(f"d/{number}") for number in range(20_000)))),
        lambda path: of_layer(path, tar(file("x", bytes(200 << 20))), gzipped),
    ],
    ids=["a header of a gigabyte", "many files", "two hundred megabytes of nothing"],
)
def test_the_command_needs_little_memory_and_says_one_thing(make: Callable[[Path], Path], tmp_path: Path) -> None:
    """The whole command within 300 MB of address space, and within seconds."""

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))

    done = subprocess.run(
        [sys.executable, "-m", "sm120kit", "doctor", "--json", "--image-archive", str(make(tmp_path))],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        preexec_fn=bounded,
    )
    assert done.returncode in (0, TARGET_UNREADABLE), done.stderr
    if done.returncode:
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) <= 2
    else:
        assert json.loads(done.stdout)["target"].startswith(str(tmp_path))


def test_every_member_of_an_outer_archive_is_ours_to_choose(tmp_path: Path) -> None:
    """Names of parts are looked up as they stand, however they are written."""
    config = json.dumps(configuration([LAYER])).encode()
    manifest = json.dumps([{"Config": "./c.json", "Layers": ["./a/../l.tar"]}]).encode()
    path = write(tmp_path / "i.tar", {"./c.json": config, "./l.tar": LAYER, "./manifest.json": manifest})
    assert open_image(str(path)).files.text("/etc/hostname") == "inside"
