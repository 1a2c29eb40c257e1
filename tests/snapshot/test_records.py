"""Distributions from folder names, and whose file a path is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sm120kit.snapshot.facts import Known, Unknown
from sm120kit.snapshot.files import Files
from sm120kit.snapshot.records import Distributions, Owned, RecordIndex, normalised, requires
from sm120kit.snapshot.types.packages import Distribution
from tests.snapshot.targets import install


def read(*folders: Path, root: str = "") -> Distributions:
    return Distributions.read(Files(root), [str(folder) for folder in folders])


def test_names_are_normalised_and_versions_kept(tmp_path: Path) -> None:
    for name in (
        "torch-2.14.1+cu130", "nvidia_cuda_nvcc-13.0.88", "Flask.Thing-1.0rc1", "zope.interface-6.0", "a__b-1!2.0",
        "old-style-name-3.0",
    ):  # fmt: skip
        (tmp_path / f"{name}.dist-info").mkdir()
    for name in ("~orch-2.0.dist-info", "noversion.dist-info", "torch-1.egg-info", "torch", "-1.dist-info"):
        (tmp_path / name).mkdir()
    found = {each.name: each.version for each in read(tmp_path).found}
    assert found == {
        "a-b": "1!2.0",
        "flask-thing": "1.0rc1",
        "nvidia-cuda-nvcc": "13.0.88",
        "old-style-name": "3.0",
        "torch": "2.14.1+cu130",
        "zope-interface": "6.0",
    }


def test_one_name_twice_is_seen_twice_and_the_first_on_the_path_is_imported(tmp_path: Path) -> None:
    first, second = tmp_path / "z", tmp_path / "a"
    install(first, "torch", "2.13.0")
    install(second, "torch", "2.14.1")
    install(second, "torch", "2.9.0")
    distributions = read(first, second)
    assert [each.version for each in distributions.found] == ["2.13.0", "2.14.1", "2.9.0"]
    found = distributions.first("torch")
    assert found is not None
    assert found.path == f"{first}/torch-2.13.0.dist-info"
    assert distributions.first("sglang") is None
    assert distributions.starting_with("nvidia-", "tor") == distributions.found


def test_a_folder_that_cannot_be_listed_makes_absence_unknown(tmp_path: Path) -> None:
    install(tmp_path / "good", "torch", "2.14.1")
    distributions = read(tmp_path / "good", tmp_path / "missing")
    assert isinstance(distributions.fact, Unknown)
    assert f"{tmp_path}/missing cannot be listed" in distributions.fact.reason
    assert distributions.first("torch")


def test_no_folder_at_all_is_unknown_and_an_empty_one_is_known(tmp_path: Path) -> None:
    assert isinstance(read().fact, Unknown)
    fact = read(tmp_path).fact
    assert isinstance(fact, Known)
    assert fact.value == ()


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_any_folder_name(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    folder = tmp_path_factory.mktemp("site")
    try:
        (folder / f"{name}.dist-info").mkdir()
    except OSError:
        return
    for each in read(folder).found:
        assert each.name == normalised(each.name)
        assert f"{each.path}" == f"{folder}/{name}.dist-info"


def index(site: Path, root: str = "") -> RecordIndex:
    return RecordIndex(Files(root), read(site, root=root).found)


def test_a_listed_file_has_an_owner_and_a_size(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site, "nvidia_cuda_nvcc", "13.0.88", {"nvidia/cu13/bin/nvcc": "compiler"})
    records = index(site)
    assert records.owner(f"{site}/nvidia/cu13/bin/nvcc") == Owned("nvidia-cuda-nvcc 13.0.88", 8)
    assert records.owner(f"{site}/nvidia_cuda_nvcc-13.0.88.dist-info/METADATA") == Owned(
        "nvidia-cuda-nvcc 13.0.88", None
    )
    assert records.owner(f"{site}/nvidia/cu13/bin/ptxas") is None
    assert records.owner("/usr/bin/nvcc") is None


def test_links_lead_to_the_owner(tmp_path: Path) -> None:
    site = tmp_path / "venv/lib/python3.12/site-packages"
    install(site, "nvidia_cuda_nvcc", "13.0.88", {"nvidia/cu13/lib/libx.so": "x"})
    (site / "nvidia/cu13/lib64").symlink_to("lib")
    (tmp_path / "venv/lib64").symlink_to("lib")
    (tmp_path / "current").symlink_to("venv")
    expected = Owned("nvidia-cuda-nvcc 13.0.88", 1)
    assert index(site).owner(f"{site}/nvidia/cu13/lib64/libx.so") == expected
    through_link = tmp_path / "current/lib64/python3.12/site-packages"
    for records in (index(site), index(through_link)):
        for base in (site, through_link):
            assert records.owner(f"{base}/nvidia/cu13/lib/libx.so") == expected
    assert {owned.owner for _, owned in index(through_link).below(f"{through_link}/nvidia/cu13")} == {expected.owner}


def test_two_owners_and_the_size_decides(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site, "nvidia_a", "1", {"nvidia/include/x.h": "first"})
    install(site, "nvidia_b", "1", {"nvidia/include/x.h": "second"})
    path = f"{site}/nvidia/include/x.h"
    assert index(site).owner(path) == Owned("nvidia-b 1", 6)
    Path(path).write_text("first")
    assert index(site).owner(path) == Owned("nvidia-a 1", 5)
    Path(path).unlink()
    assert index(site).owner(path) == Owned("nvidia-b 1", 6)
    assert [owned.owner for owned in index(site).owners(path)] == ["nvidia-a 1", "nvidia-b 1"]


def test_scripts_lie_outside_of_the_site_folder(tmp_path: Path) -> None:
    site = tmp_path / "lib/python3.12/site-packages"
    info = install(site, "tool", "1")
    (info / "RECORD").write_text("../../../bin/tool,sha256=0,7\n/opt/absolute,,3\n")
    records = index(site)
    assert records.owner(f"{tmp_path}/bin/tool") == Owned("tool 1", 7)
    assert list(records.below(str(site))) == []


def test_rows_below_a_folder(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site, "nvidia_a", "1", {"nvidia/cu13/a.h": "1", "nvidia/cu13x/b.h": "22", "other/c.h": "3"})
    records = index(site)
    assert list(records.below(f"{site}/nvidia/cu13/")) == [(f"{site}/nvidia/cu13/a.h", Owned("nvidia-a 1", 1))]
    assert list(records.below(f"{site}/nothing")) == []
    assert len(list(records.below(str(site)))) == 5


def test_a_tree_with_its_dist_info_folders_beside_it(tmp_path: Path) -> None:
    home = tmp_path / "cuda-13.0"
    info = install(home / "dist-info", "nvidia_cuda_nvcc", "13.0.88")
    (info / "RECORD").write_text("nvidia/cu13/bin/nvcc,sha256=0,5\nelsewhere/bin/ptxas,sha256=0,5\n")
    (home / "bin").mkdir()
    (home / "bin/nvcc").write_text("12345")
    (tmp_path / "cuda").symlink_to(home)
    records = RecordIndex.beside(Files(), str(home))
    assert records.owner(f"{home}/bin/nvcc") == Owned("nvidia-cuda-nvcc 13.0.88", 5)
    assert records.owner(f"{tmp_path}/cuda/bin/nvcc") == Owned("nvidia-cuda-nvcc 13.0.88", 5)
    assert records.owner(f"{home}/bin/ptxas") is None
    assert RecordIndex.beside(Files(), str(tmp_path)).owner(f"{tmp_path}/x") is None


def test_inside_an_image(tmp_path: Path) -> None:
    install(tmp_path / "usr/lib/site", "nvidia_a", "1", {"nvidia/x.h": "x"})
    records = index(Path("/usr/lib/site"), root=str(tmp_path))
    assert records.owner("/usr/lib/site/nvidia/x.h") == Owned("nvidia-a 1", 1)


@pytest.mark.parametrize(
    ("record", "size"),
    [
        (b"a.h,sha256=0,5\r\nb.h,,\r\n", 5),
        (b'"odd, name.h",sha256=0,7\na.h,sha256=0,5\n', 5),
        (b'"a.h","sha256=0","5"\n', 5),
        (b"a.h,,\n", None),
        (b"a.h,sha256=0,5", 5),
    ],
)
def test_dialects_of_record(tmp_path: Path, record: bytes, size: int | None) -> None:
    (install(tmp_path, "x", "1") / "RECORD").write_bytes(record)
    assert index(tmp_path).owner(f"{tmp_path}/a.h") == Owned("x 1", size)


def test_a_comma_in_a_path_or_in_the_folder(tmp_path: Path) -> None:
    site = tmp_path / "a,b" / "lib/python3.12/site-packages"
    (install(site, "x", "1") / "RECORD").write_bytes(b'"odd, name.h",sha256=0,7\n"../../../bin/y, z",,3\n')
    records = index(site)
    assert records.owner(f"{site}/odd, name.h") == Owned("x 1", 7)
    assert records.owner(f"{tmp_path}/a,b/bin/y, z") == Owned("x 1", 3)
    assert [path for path, _ in records.below(str(site))] == [f"{site}/odd, name.h"]
    assert records.owner(f"{site}/odd") is None


@pytest.mark.parametrize(
    "record",
    [b"", b"\xff\xfe\x00", b"a.h", b"a.h,x", b"a.h,sha256=0," + b"9" * 5000, b'"a.h', b'"\x00",,\n', b"a.h,,-5\n"],
)
def test_a_damaged_record_owns_nothing(tmp_path: Path, record: bytes) -> None:
    (install(tmp_path, "x", "1") / "RECORD").write_bytes(record)
    assert index(tmp_path).owner(f"{tmp_path}/a.h") is None


@given(st.binary(max_size=200))
def test_any_record(tmp_path_factory: pytest.TempPathFactory, record: bytes) -> None:
    site = tmp_path_factory.mktemp("site")
    (install(site, "x", "1") / "RECORD").write_bytes(record)
    records = index(site)
    records.owner(f"{site}/a.h")
    list(records.below(str(site)))


def test_a_record_that_is_missing_or_a_pipe(tmp_path: Path) -> None:
    (install(tmp_path, "x", "1") / "RECORD").unlink()
    os.mkfifo(install(tmp_path, "y", "1") / "RECORD.pipe")
    (tmp_path / "y-1.dist-info/RECORD").unlink()
    (tmp_path / "y-1.dist-info/RECORD.pipe").rename(tmp_path / "y-1.dist-info/RECORD")
    assert index(tmp_path).owner(f"{tmp_path}/a.h") is None


def test_no_record_is_read_before_a_question_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "x", "1", {"a.h": "x"})
    records = index(tmp_path)
    reads: list[str] = []
    real = Files.read

    def counted(files: Files, path: str, limit: int = 0) -> bytes:
        reads.append(path)
        return real(files, path, limit)

    monkeypatch.setattr(Files, "read", counted)
    records.owner("/usr/bin/nvcc")
    assert reads == []
    records.owner(f"{tmp_path}/a.h")
    records.owner(f"{tmp_path}/b.h")
    assert reads == [f"{tmp_path}/x-1.dist-info/RECORD"]


def test_requirements_are_those_of_the_header(tmp_path: Path) -> None:
    info = install(tmp_path, "x", "1")
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nRequires-Dist: torch==2.14.1\nRequires-Dist: a[b]>=1 ; extra == 'c'\n\n"
        "Requires-Dist: only-in-the-description\n"
    )
    distribution = Distribution("x", "1", str(info))
    assert requires(Files(), distribution) == ("torch==2.14.1", "a[b]>=1 ; extra == 'c'")
    (info / "METADATA").unlink()
    with pytest.raises(OSError, match="No such file"):
        requires(Files(), distribution)
