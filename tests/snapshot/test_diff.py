"""What changed between two snapshots, and what does not count as a change."""

from __future__ import annotations

from msgspec.structs import replace

from sm120kit.snapshot.diff import changes
from sm120kit.snapshot.facts import Source, Unknown
from sm120kit.snapshot.types.snapshot import Change, Snapshot
from tests.builders import (
    CU13,
    GIB,
    distribution,
    driver,
    flashinfer,
    gpu,
    host,
    known,
    no_driver,
    probe,
    sglang,
    snapshot,
    toolkit,
)


def changed(before: Snapshot, after: Snapshot) -> dict[str, tuple[str, str]]:
    """Every change by its name."""
    return {each.what: (each.before, each.after) for each in changes(before, after)}


def test_a_snapshot_does_not_differ_from_itself() -> None:
    taken = snapshot(consumers=(flashinfer(), sglang()), driver=driver(gpus=[gpu(0), gpu(1)]))
    assert changes(taken, taken) == ()


def test_what_changes_by_itself_is_no_change() -> None:
    before = snapshot()
    busy = replace(gpu(), memory_free=known(GIB))
    target = replace(before.target, why="VIRTUAL_ENV", environment="process 4242")
    after = replace(
        before,
        tool_version="1",
        taken_at="2026-11-30T00:00:00Z",
        target=target,
        host=host(memory_available=known(GIB), glibc=known("2.39", Source("command", "ldd --version"))),
        driver=driver(gpus=[busy]),
        link_probes=(replace(probe(), output="/tmp/ccAbCd.o: no such file"),),
    )
    assert changes(before, after) == ()


def test_packages_are_one_line_each() -> None:
    before = snapshot(distributions=known((distribution("torch", "2.14.0"), distribution("numpy", "2.3.0"))))
    after = snapshot(
        distributions=known(
            (distribution("torch", "2.14.1"), distribution("torch", "2.14.0"), distribution("sglang", "0.5.23"))
        )
    )
    assert changed(before, after) == {
        "package torch": ("2.14.0", "2.14.0 and 2.14.1"),
        "package numpy": ("2.3.0", "absent"),
        "package sglang": ("absent", "0.5.23"),
    }


def test_a_toolkit_that_came_is_one_line() -> None:
    after = snapshot(toolkits=(toolkit(), toolkit("/usr/local/cuda-13.2", "13.2")))
    assert changed(snapshot(), after) == {"toolkit /usr/local/cuda-13.2": ("absent", "nvcc 13.2")}


def test_a_part_of_another_release_is_named() -> None:
    found = changed(snapshot(), snapshot(toolkits=(toolkit(releases={"cicc": "13.2.78"}),)))
    assert found == {
        f"toolkit {CU13} cicc release": ("13.0", "13.2.78"),
        f"toolkit {CU13} cicc owner": ("nvidia-nvvm 13.0", "nvidia-nvvm 13.2.78"),
    }


def test_of_two_lists_only_the_difference_is_shown() -> None:
    fewer = toolkit(link_names=("lib64/libcudart.so",))
    found = changed(snapshot(), snapshot(toolkits=(fewer,)))
    assert found == {f"toolkit {CU13} link names": ("lib64/stubs/libcuda.so", "absent")}


def test_a_list_in_another_order_is_shown_whole() -> None:
    turned = toolkit(link_names=("lib64/stubs/libcuda.so", "lib64/libcudart.so"))
    ((before, after),) = changed(snapshot(), snapshot(toolkits=(turned,))).values()
    assert before == "lib64/libcudart.so, lib64/stubs/libcuda.so"
    assert after == "lib64/stubs/libcuda.so, lib64/libcudart.so"


def test_a_gpu_that_went_is_one_line_and_counted() -> None:
    found = changed(snapshot(driver=driver(gpus=[gpu(0), gpu(1)])), snapshot(driver=driver(gpus=[gpu(0)])))
    assert found == {
        "driver GPUs": ("2", "1"),
        "driver GPU 1": ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "absent"),
    }


def test_what_stays_unknown_for_another_reason_has_not_changed() -> None:
    not_asked = replace(no_driver(), version=Unknown("not asked: --gpu names the hardware"))
    assert not changes(snapshot(driver=no_driver()), snapshot(driver=not_asked))


def test_what_became_unknown_says_why_once() -> None:
    found = changed(snapshot(driver=driver(gpus=[gpu(0), gpu(1)])), snapshot(driver=no_driver()))
    assert found["driver GPUs"] == ("2", "unknown: no libnvidia-ml.so.1 on the loader's path")
    assert not [name for name in found if name.startswith("driver GPU ")]
    gone = changed(snapshot(), snapshot(distributions=Unknown("not readable")))
    assert gone == {"packages": ("1 installed", "unknown: not readable")}


def test_a_consumer_that_takes_another_toolkit_is_named() -> None:
    before, after = (snapshot(consumers=(flashinfer(home=home),)) for home in (CU13, "/usr"))
    assert changed(before, after)["consumer flashinfer CUDA home"] == (CU13, "/usr")


def test_variables_and_link_lines_are_named() -> None:
    before = snapshot(environment={"CUDA_HOME": "/a", "CC": "gcc"}, link_probes=(probe(consumers=("sglang",)),))
    after = snapshot(environment={"CUDA_HOME": "/b"}, link_probes=(probe(missing=("cuda",), consumers=("sglang",)),))
    assert changes(before, after) == (
        Change(f"link line of {CU13} (sglang) missing", "none", "cuda"),
        Change("variable CC", "gcc", "absent"),
        Change("variable CUDA_HOME", "/a", "/b"),
    )


def test_changes_come_in_the_order_of_the_snapshot() -> None:
    after = snapshot(
        host=host(kernel=known("7.0")), consumers=(sglang(),), environment={"CUDA_HOME": "/b"}, driver=driver("590.1")
    )
    sections = [each.what.split()[0] for each in changes(snapshot(), after)]
    assert list(dict.fromkeys(sections)) == ["host", "driver", "consumer", "variable"]
