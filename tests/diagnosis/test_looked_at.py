"""What -v shows: above all, which toolkit each installed consumer takes and why."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sm120kit.diagnosis.case import Case, NamedGpu, Request
from sm120kit.diagnosis.looked_at import looked_at
from sm120kit.diagnosis.types import Fact
from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.machine import LostGpu, Mount
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import (
    CU13,
    distribution,
    driver,
    flashinfer,
    gpu,
    host,
    known,
    named,
    no_driver,
    probe,
    sglang,
    snapshot,
    toolkit,
    torch_extensions,
)

TABLE = "Which toolkit each installed package uses, and why"


def facts(taken: Snapshot, title: str, request: Request | None = None) -> dict[str, Fact]:
    """The facts of the group of that title, by label."""
    groups = {group.title: group for group in looked_at(Case(taken, request or Request()))}
    return {fact.label: fact for fact in groups[title].facts} if title in groups else {}


def test_the_table_of_consumers_says_which_toolkit_and_why() -> None:
    (row,) = facts(snapshot(consumers=(flashinfer(),)), TABLE).values()
    assert row.label == "flashinfer-python 0.7.2.post1"
    assert row.value == f"{CU13}, nvcc 13.0, its own CCCL 3.6.0 first"
    assert row.where.startswith("CUDA_HOME (its rule: CUDA_HOME, else CUDA_PATH")


def test_a_consumer_behind_a_wrapper_shows_both_folders() -> None:
    behind = sglang(home="/usr/local/cuda-13.0", cuda_home=known("/usr/local"), found_via="nvcc on PATH")
    (row,) = facts(snapshot(consumers=(behind,), toolkits=(toolkit("/usr/local/cuda-13.0"),)), TABLE).values()
    assert row.value == "/usr/local, and compiles with /usr/local/cuda-13.0, nvcc 13.0"


def test_a_consumer_without_a_toolkit_says_why() -> None:
    (row,) = facts(snapshot(consumers=(torch_extensions(home=None),)), TABLE).values()
    assert row.label == "torch.utils.cpp_extension (torch 2.14.1)"
    assert row.value == "none: no CUDA_HOME, no nvcc on PATH, no /usr/local/cuda"


def test_a_consumer_of_a_folder_without_a_tree_says_so() -> None:
    lost = flashinfer(cuda_home=known("/opt/gone"), toolkit="")
    (row,) = facts(snapshot(consumers=(lost,)), TABLE).values()
    assert row.value.startswith("/opt/gone, where no CUDA tree lies")


def test_a_consumer_under_another_name_of_its_toolkit_is_no_wrapper() -> None:
    tree = toolkit("/usr/local/cuda-13.0", aliases=("/usr/local/cuda",))
    taker = sglang(home="/usr/local/cuda-13.0", cuda_home=known("/usr/local/cuda"))
    (row,) = facts(snapshot(consumers=(taker,), toolkits=(tree,)), TABLE).values()
    assert row.value == "/usr/local/cuda, nvcc 13.0"


def test_triton_shows_its_own_assembler() -> None:
    own = "/srv/venv/lib/python3.12/site-packages/triton/backends/nvidia/bin/ptxas-blackwell"
    triton = replace(torch_extensions(), name="triton", distribution="triton 3.8.0", nvcc=known(own), toolkit="")
    (row,) = facts(snapshot(consumers=(triton,)), TABLE).values()
    assert (row.label, row.value) == ("triton 3.8.0", own)


def test_parts_show_release_place_and_owner() -> None:
    tree = toolkit(releases={"cicc": None})
    parts = tuple(replace(part, altered=part.name == "crt") for part in tree.parts)
    rows = facts(snapshot(toolkits=(replace(tree, parts=parts),)), f"Toolkit {CU13}")
    assert rows["nvcc"] == Fact("nvcc", "13.0", "bin/nvcc (nvidia-cuda-nvcc 13.0)")
    assert rows["cicc"].value == "unknown: no wheel lists it"
    assert rows["crt"].value == "13.0, changed since it was installed"
    assert rows["CCCL copy"].value == "3.0.1: nv/target, cuda/std, cub, thrust"


def test_a_tree_without_nvcc_is_called_a_runtime() -> None:
    runtime = toolkit("/opt/runtime", drop=("nvcc", "cicc", "ptxas"))
    assert facts(snapshot(toolkits=(runtime,)), "Runtime (no nvcc) /opt/runtime")


def test_link_lines_say_who_answered() -> None:
    taken = snapshot(
        link_probes=(
            probe(missing=("cudart", "cuda"), consumers=("sglang",)),
            probe("/opt/cuda", asked=False),
            replace(probe("/opt/other", consumers=("flashinfer",)), missing=Unknown("no linker")),
        )
    )
    rows = facts(taken, "Link lines")
    assert rows["sglang"].value == "the linker does not find -lcudart, -lcuda"
    assert rows["the tree itself"].value == "by file names alone, the linker finds every library"
    assert rows["flashinfer"].value == "unknown: no linker"
    assert rows["sglang"].where.startswith("c++ -shared -nostdlib")


def test_driver_and_gpus() -> None:
    taken = snapshot(driver=driver(gpus=[gpu(0)], lost_gpus=(LostGpu(1, "GPU is lost"),)))
    rows = facts(taken, "Driver and GPUs")
    assert rows["driver"] == Fact("driver", "580.95.05", "nvmlSystemGetDriverVersion")
    assert "compute capability 12.0, 95.6 GiB" in rows["GPU 0"].value
    assert rows["GPU 1"].value == "cannot be read: GPU is lost"
    assert facts(snapshot(driver=no_driver()), "Driver and GPUs")["GPUs"].value.startswith("unknown: no libnvidia-ml")


def test_named_hardware_stands_in_for_the_driver() -> None:
    request = Request((NamedGpu("b200", "10.0", 7),), "580.95.05")
    rows = facts(snapshot(), "Driver and GPUs", request)
    assert [(fact.label, fact.value) for fact in rows.values()] == [
        ("named GPU", "7 x b200"),
        ("named driver", "580.95.05"),
    ]


def test_python_lists_notable_packages_and_counts_all() -> None:
    installed = (distribution("numpy", "2.3.0"), distribution("sglang", "0.5.23"), distribution("torch", "2.14.1"))
    rows = facts(snapshot(distributions=known(installed)), "Python")
    assert rows["packages"].value == "3 installed"
    assert rows["sglang"].value == "0.5.23"
    assert "numpy" not in rows


def test_target_host_and_environment() -> None:
    taken = named(host=host(slow_mounts=(Mount("/data", "nfs4"),)), environment={"CUDA_HOME": CU13})
    assert facts(taken, "Target")["CUDA home"].value == CU13
    assert facts(taken, "Host")["memory"].value == "128.0 GiB"
    assert facts(taken, "Host")["slow mount"] == Fact("slow mount", "/data", "nfs4")
    assert facts(taken, "Environment")["CUDA_HOME"].value == CU13
    assert not facts(snapshot(environment={}), "Environment")


@pytest.mark.parametrize("field", ["interpreter", "distributions", "torch"])
def test_what_is_unknown_about_python_is_said(field: str) -> None:
    taken = snapshot(**{field: Unknown("it did not answer")})
    shown = [fact.value for fact in facts(taken, "Python").values()]
    assert any("it did not answer" in value for value in shown) == (field != "torch")
