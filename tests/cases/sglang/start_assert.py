"""Cases of sglang.start-assert."""

from typing import Any

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.snapshot import Snapshot
from tests.builders import distribution, driver, known, snapshot, torch_build
from tests.cases.harness import an_error, broken, healthy, look_alike, not_applicable, unknown
from tests.models import DEEPSEEK_V3
from tests.servers import asked

CHECK = "sglang.start-assert"


def stack(sglang: str, flashinfer: str = "", kernel: str = "", **more: Any) -> Snapshot:
    """A venv with these; what is empty is not installed."""
    versions = {"flashinfer-python": flashinfer, "sglang": sglang, "sglang-kernel": kernel, "torch": "2.14.1"}
    found = [distribution(name, version) for name, version in versions.items() if version]
    return snapshot(distributions=known((*found, *more.pop("others", ()))), **more)


CASES = [
    healthy("0.5.12 with its pins", stack("0.5.12", "0.6.11.post1", "0.4.2.post2")),
    healthy("0.5.11 with its pins", stack("0.5.11", "0.6.8.post1", "0.4.2")),
    healthy("0.5.23 with its pins", stack("0.5.23", "0.7.2", "0.4.10")),
    look_alike("newer than asked for", stack("0.5.12", "0.7.2.post1", "0.4.10+cu130")),
    look_alike("exactly the least", stack("0.5.23", "0.7.2", "0.4.9")),
    broken(
        "an old flashinfer",
        stack("0.5.23", "0.6.18", "0.4.10"),
        an_error("flashinfer-python", "0.6.18", "0.7.2", "engine.py"),
    ),
    broken("no flashinfer, asked for", stack("0.5.12", "", "0.4.2.post2"),
           an_error("flashinfer-python", "is not installed"),
           request=asked("--attention-backend flashinfer", sglang="0.5.12")),
    look_alike("an old flashinfer that is not used", stack("0.5.12", "0.6.7.post2", "0.4.2.post2"),
               request=asked("--attention-backend triton", sglang="0.5.12")),
    look_alike("an old flashinfer on Hopper, where fa3 is chosen", stack("0.5.12", "0.6.7.post2", "0.4.2.post2"),
               request=asked(None, gpu="9.0")),
    look_alike("an old flashinfer, and an MLA model, for which triton is chosen",
               stack("0.5.12", "0.6.7.post2", "0.4.2.post2"), request=asked(None, of=DEEPSEEK_V3)),
    broken(
        "a pre-release does not count as its release",
        stack("0.5.22", "0.7.1rc1", "0.4.9"),
        an_error("flashinfer-python", "0.7.1rc1"),
    ),
    broken("post2 is asked for and post1 is there", stack("0.5.12", "0.6.11.post1", "0.4.2.post1"),
           an_error("sglang-kernel", "0.4.2.post1", "0.4.2.post2")),
    broken("the kernel package by its old name", stack("0.5.12", "0.6.11.post1", "", others=(
           distribution("sgl-kernel", "0.3.21"),)), an_error("sglang-kernel", "is not installed")),
    unknown("the GPU decides and is not known", stack("0.5.12", "0.6.7.post2", "0.4.2.post2", driver=driver(gpus=()))),
    unknown("an SGLang that the table does not know", stack("0.6.0", "0.7.2", "0.4.10")),
    not_applicable("no SGLang", stack("", "0.7.2", "0.4.10")),
    not_applicable("torch for the CPU", stack("0.5.12", torch=torch_build("2.13.0+cpu", ""))),
    not_applicable("switched off", stack("0.5.12", environment={"SGLANG_SKIP_SGL_KERNEL_VERSION_CHECK": "1"})),
    not_applicable("packages cannot be listed", snapshot(distributions=Unknown("cannot be listed"))),
]  # fmt: skip
