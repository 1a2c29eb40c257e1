"""Writes archives of container images with tarfile, in both layouts, from lists of members; good and hostile ones."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Member = tuple[tarfile.TarInfo, bytes]


def file(name: str, content: bytes | str = b"", mode: int = 0o644, mtime: int = 1_700_000_000) -> Member:
    """A regular file."""
    data = content.encode() if isinstance(content, str) else content
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(data), mode, mtime
    return info, data


def special(name: str, kind: bytes, link: str = "", mode: int = 0o755) -> Member:
    """A folder, link, device or pipe."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, mode
    return info, b""


def folder(name: str) -> Member:
    """A folder."""
    return special(name, tarfile.DIRTYPE)


def link(name: str, text: str) -> Member:
    """A symbolic link."""
    return special(name, tarfile.SYMTYPE, text)


def other_name(name: str, of: str) -> Member:
    """A hard link."""
    return special(name, tarfile.LNKTYPE, of)


def tar(*members: Member, form: int = tarfile.PAX_FORMAT) -> bytes:
    """A layer, not compressed."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def tar_of(root: Path) -> tuple[bytes, ...]:
    """What lies below a folder, as two layers: the second holds all that ends in an odd number of characters."""
    paths = sorted(root.rglob("*"))
    return tuple(_layer(root, [path for path in paths if len(path.name) % 2 == odd]) for odd in (0, 1))


def _layer(root: Path, paths: Sequence[Path]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in paths:
            archive.add(path, str(path.relative_to(root)), recursive=False)
    return buffer.getvalue()


def digest(data: bytes) -> str:
    """``sha256:…``."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def configuration(layers: Sequence[bytes], environment: Iterable[str] = (), user: str = "") -> dict[str, Any]:
    """What engines write down of an image, as far as it matters."""
    return {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Env": list(environment), "User": user},
        "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]},
    }


Stored = Callable[[bytes], bytes]


def plain(layer: bytes) -> bytes:
    """A layer as it is."""
    return layer


def gzipped(layer: bytes) -> bytes:
    """A layer behind gzip."""
    return gzip.compress(layer, 1, mtime=0)


def docker_save(
    path: Path,
    *layers: bytes,
    environment: Iterable[str] = (),
    user: str = "",
    stored: Stored = plain,
    change: Mapping[str, bytes | None] | None = None,
) -> Path:
    """What ``docker save`` wrote before version 25. ``change`` replaces members by name, or leaves them out."""
    config = json.dumps(configuration(layers, environment, user)).encode()
    config_name = f"{digest(config).partition(':')[2]}.json"
    members = {f"{number:064x}/layer.tar": stored(layer) for number, layer in enumerate(layers)}
    manifest = [{"Config": config_name, "RepoTags": ["test/image:1"], "Layers": list(members)}]
    return write(path, {**members, config_name: config, "manifest.json": json.dumps(manifest).encode()}, change)


def oci_layout(
    path: Path,
    *layers: bytes,
    environment: Iterable[str] = (),
    user: str = "",
    stored: Stored = plain,
    change: Mapping[str, bytes | None] | None = None,
) -> Path:
    """The OCI image layout, with one image in one index."""
    config = json.dumps(configuration(layers, environment, user)).encode()
    blobs = [stored(layer) for layer in layers]
    manifest = json.dumps(
        {"schemaVersion": 2, "config": described(config), "layers": [described(blob) for blob in blobs]}
    ).encode()
    index = {"schemaVersion": 2, "manifests": [{**described(manifest), "annotations": {REFERENCE: "1"}}]}
    members = {blob_name(blob): blob for blob in (*blobs, config, manifest)}
    members["index.json"] = json.dumps(index).encode()
    members["oci-layout"] = b'{"imageLayoutVersion": "1.0.0"}'
    return write(path, members, change)


REFERENCE = "org.opencontainers.image.ref.name"


def described(blob: bytes) -> dict[str, Any]:
    """A descriptor."""
    return {"digest": digest(blob), "size": len(blob)}


def blob_name(blob: bytes) -> str:
    """Where a part lies in an OCI layout."""
    return f"blobs/sha256/{digest(blob).partition(':')[2]}"


def write(path: Path, members: Mapping[str, bytes], change: Mapping[str, bytes | None] | None = None) -> Path:
    """The outer archive."""
    changed = {name: content for name, content in {**members, **(change or {})}.items() if content is not None}
    path.write_bytes(tar(*(file(name, content) for name, content in changed.items())))
    return path
