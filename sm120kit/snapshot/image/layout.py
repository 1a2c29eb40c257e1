"""Which parts of an archive are the layers of its image, and what its configuration says.

Two layouts: the OCI image layout (``skopeo copy … oci-archive:``, ``buildah push``, docker build ``--output type=oci``)
and that of ``docker save``. Newer Dockers write both into one archive; then the OCI one is read, since its digests tell
what every part must be.
"""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from sm120kit.snapshot.image.errors import ImageError
from sm120kit.snapshot.image.sources import Part, Source
from sm120kit.snapshot.image.tar import Entry, Reader, entries

MOST_LAYERS = 512
"""Engines refuse more than 127."""

_MOST_PARTS = 20_000
_DOCUMENT_LIMIT = 4 << 20
_MOST_NESTED = 4
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_OF_A_ROOT = ("etc", "usr", "bin")
_HOW = "Write one with: docker save IMAGE -o image.tar, or skopeo copy … oci-archive:image.tar"


class Layer(msgspec.Struct, frozen=True):
    """One layer as it is stored. Digests are ``sha256:…``; an empty one is not told."""

    name: str
    stored: Part
    digest: str
    diff_id: str
    """Digest of what it is when nothing compresses it."""


class Config(msgspec.Struct, frozen=True):
    """The ``config`` of an image's configuration."""

    environment: list[str] | None = msgspec.field(default=None, name="Env")
    user: str | None = msgspec.field(default=None, name="User")


class RootFs(msgspec.Struct, frozen=True):
    """The ``rootfs`` of an image's configuration."""

    diff_ids: list[str] = []


class Configuration(msgspec.Struct, frozen=True):
    """An image's configuration, as far as it is needed here (OCI image specification, config.md)."""

    architecture: str = ""
    system: str = msgspec.field(default="", name="os")
    config: Config | None = None
    rootfs: RootFs = RootFs()


class Described(msgspec.Struct, frozen=True):
    """One image of an archive."""

    name: str
    """Its name where it has one: ``lmsysorg/sglang:v0.5.12``."""
    layout: str
    configuration: Configuration
    layers: tuple[Layer, ...]


class Platform(msgspec.Struct, frozen=True):
    architecture: str = ""
    system: str = msgspec.field(default="", name="os")


class Descriptor(msgspec.Struct, frozen=True):
    digest: str
    size: int
    platform: Platform | None = None
    annotations: dict[str, Any] | None = None
    media_type: str = msgspec.field(default="", name="mediaType")


class Index(msgspec.Struct, frozen=True):
    manifests: list[Descriptor]


class Manifest(msgspec.Struct, frozen=True):
    config: Descriptor
    layers: list[Descriptor]


class Saved(msgspec.Struct, frozen=True, rename="pascal"):
    """One row of the ``manifest.json`` of docker save."""

    config: str
    layers: list[str]
    repo_tags: list[str] | None = None


def describe(archive: Source, headers: Reader) -> Described:
    """Find the one image of an archive, whose members ``headers`` passes along.

    Raises:
        ImageError: it is in neither layout, holds no image or several, or a part is missing or not what it should be.
    """
    parts = _Parts(archive, headers)
    if parts.holds("index.json") and parts.holds("oci-layout"):
        return _of_oci(parts)
    if parts.holds("manifest.json"):
        return _of_docker(parts)
    if any(parts.holds(name) for name in _OF_A_ROOT):
        raise ImageError(
            "it holds the files of a root and no image (docker export writes such archives)",
            f"Unpack it and name the folder with --root. {_HOW}",
        )
    raise ImageError("it is no image: neither an OCI layout nor what docker save writes", _HOW)


class _Parts:
    """The members of the outer archive by their names."""

    def __init__(self, archive: Source, headers: Reader) -> None:
        self._archive = archive
        self._found: dict[str, Entry] = {}
        for entry in entries(headers):
            self._found[posixpath.normpath(entry.name).lstrip("/")] = entry
            if len(self._found) > _MOST_PARTS:
                if any(name in self._found for name in _OF_A_ROOT):
                    break
                raise ImageError(f"it holds more than {_MOST_PARTS} parts")

    def holds(self, name: str) -> bool:
        return name in self._found

    def part(self, name: str, what: str) -> Part:
        """The bytes of a member; older Dockers write a layer that repeats as a link to its first place."""
        place = posixpath.normpath(name).lstrip("/")
        for _ in range(4):
            entry = self._found.get(place)
            if entry is None:
                raise ImageError(f"{what} is missing ({name})")
            if stat.S_ISREG(entry.mode) and entry.offset >= 0:
                return Part(self._archive, entry.offset, entry.size)
            base = posixpath.dirname(place) if entry.mode else ""
            place = posixpath.normpath(posixpath.join(base, entry.link)).lstrip("/")
        raise ImageError(f"{what} is no file ({name})")

    def document(self, name: str, what: str, kind: Any, digest: str = "") -> Any:
        """A member read as JSON."""
        part = self.part(name, what)
        if part.size > _DOCUMENT_LIMIT:
            raise ImageError(f"{what} is {part.size} bytes long ({name})")
        content = b"".join(part.pieces())
        check_digest(content, digest, what)
        try:
            return msgspec.json.decode(content, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ImageError(f"{what} cannot be read: {error} ({name})") from error


def new_digest(digest: str, what: str) -> Any:
    """An empty hash of the kind that ``digest`` names."""
    import hashlib

    kind = digest.partition(":")[0]
    if kind not in ("sha256", "sha512"):
        raise ImageError(f"{what} has a digest of an unknown kind ({digest[:80]})")
    return hashlib.new(kind)


def check_digest(content: bytes, digest: str, what: str) -> None:
    """Refuse a part that is not what its digest says."""
    if digest:
        made = new_digest(digest, what)
        made.update(content)
        compare_digest(made, digest, what)


def compare_digest(made: Any, digest: str, what: str) -> None:
    """Refuse a part whose finished hash is another one."""
    if made.hexdigest() != digest.partition(":")[2]:
        raise ImageError(f"{what} is not what its digest says ({digest[:80]}): it was damaged or changed")


def _of_oci(parts: _Parts) -> Described:
    index = parts.document("index.json", "its index", Index)
    chosen, name = _choose(parts, index, 0)
    manifest: Manifest = parts.document(_blob(chosen), "its manifest", Manifest, chosen.digest)
    configuration: Configuration = parts.document(
        _blob(manifest.config), "its configuration", Configuration, manifest.config.digest
    )
    stored = []
    for number, layer in enumerate(manifest.layers, 1):
        part = parts.part(_blob(layer), f"layer {number}")
        if part.size != layer.size:
            raise ImageError(f"layer {number} has {part.size} bytes, and its manifest says {layer.size}")
        stored.append((part, layer.digest))
    return Described(name, "OCI layout", configuration, tuple(_layers(stored, configuration)))


def _of_docker(parts: _Parts) -> Described:
    rows: list[Saved] = parts.document("manifest.json", "its manifest", list[Saved])
    if len(rows) != 1:
        raise _not_one([", ".join(row.repo_tags or [row.config]) for row in rows])
    configuration: Configuration = parts.document(
        rows[0].config, "its configuration", Configuration, _told_by_name(rows[0].config)
    )
    stored = [
        (parts.part(layer, f"layer {number}"), _told_by_name(layer)) for number, layer in enumerate(rows[0].layers, 1)
    ]
    return Described(
        ", ".join(rows[0].repo_tags or []), "docker save", configuration, tuple(_layers(stored, configuration))
    )


def _layers(stored: list[tuple[Part, str]], configuration: Configuration) -> Iterator[Layer]:
    diff_ids = configuration.rootfs.diff_ids
    if len(stored) > MOST_LAYERS:
        raise ImageError(f"it has {len(stored)} layers")
    if len(stored) != len(diff_ids):
        raise ImageError(f"it has {len(stored)} layers, and its configuration names {len(diff_ids)}")
    for number, ((part, digest), diff_id) in enumerate(zip(stored, diff_ids, strict=True), 1):
        yield Layer(f"layer {number} of {len(stored)}", part, digest, diff_id)


def _told_by_name(name: str) -> str:
    """The digest that a part's name in docker save is made of, where it is."""
    stem = posixpath.basename(name).removesuffix(".json").removesuffix(".tar")
    is_digest = len(stem) == 64 and all(character in "0123456789abcdef" for character in stem)
    return f"sha256:{stem}" if is_digest else ""


def _blob(descriptor: Descriptor) -> str:
    kind, _, digits = descriptor.digest.partition(":")
    if not digits.isalnum() or not kind.isalnum():
        raise ImageError(f"it names a part by something that is no digest ({descriptor.digest[:80]})")
    return f"blobs/{kind}/{digits}"


def _choose(parts: _Parts, index: Index, depth: int) -> tuple[Descriptor, str]:
    """The manifest of the one image, through indexes of several platforms: the one for this machine's architecture."""
    by_digest = {each.digest: each for each in index.manifests if not _is_attestation(each)}
    images = list(by_digest.values())  # an image with two names stands there twice
    there = [each for each in images if parts.holds(_blob(each))] or images
    own = _ARCHITECTURES.get(os.uname().machine, "")
    if len(there) > 1:
        fitting = [each for each in there if each.platform and each.platform.architecture == own]
        if len(fitting) != 1:
            raise _not_one([_name_of(each) for each in there])
        there = fitting
    if not there:
        raise ImageError("its index names no image", _HOW)
    chosen = there[0]
    if "index" in chosen.media_type or "manifest.list" in chosen.media_type:
        if depth >= _MOST_NESTED:
            raise ImageError("its index leads through too many others")
        inner: Index = parts.document(_blob(chosen), "its index", Index, chosen.digest)
        deeper, name = _choose(parts, inner, depth + 1)
        return deeper, _named(chosen) or name
    return chosen, _named(chosen)


def _is_attestation(descriptor: Descriptor) -> bool:
    kinds: Mapping[str, Any] = descriptor.annotations or {}
    return kinds.get("vnd.docker.reference.type") == "attestation-manifest"


def _named(descriptor: Descriptor) -> str:
    notes: Mapping[str, Any] = descriptor.annotations or {}
    name = notes.get("io.containerd.image.name") or notes.get("org.opencontainers.image.ref.name") or ""
    return name if isinstance(name, str) else ""


def _name_of(descriptor: Descriptor) -> str:
    platform = descriptor.platform
    return _named(descriptor) or (f"{platform.system}/{platform.architecture}" if platform else descriptor.digest[:19])


def _not_one(names: list[str]) -> ImageError:
    if not names:
        return ImageError("its manifest names no image", _HOW)
    return ImageError(f"it holds {len(names)} images: {', '.join(names[:8])}", "Save the one that is meant, alone")
