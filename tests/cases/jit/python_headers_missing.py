"""Cases of jit.python-headers-missing."""

from sm120kit.snapshot.facts import Source, Unknown
from sm120kit.snapshot.types.jit import BuildTools
from tests.builders import build_tools, host, known, packages, snapshot, triton
from tests.cases.harness import a_note, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "jit.python-headers-missing"

_NONE = build_tools(python_header=known("", Source("file", "/usr/include/python3.12")))
_SERVED = packages(sglang="0.5.23", torch="2.14.1", triton="3.8.0")

CASES = [
    healthy("the header is there", snapshot(consumers=(triton(),))),
    broken(
        "Debian's python3 without python3-dev, and SGLang",
        snapshot(consumers=(triton(),), build_tools=_NONE, distributions=_SERVED),
        an_error("Python.h", "Python 3.12.11 has no Python.h", "/usr/include/python3.12", "sglang runs its kernels"),
    ),
    broken(
        "the same with vLLM on Fedora",
        snapshot(
            consumers=(triton(),),
            build_tools=_NONE,
            distributions=packages(vllm="0.22.1"),
            host=host(distribution=known("Fedora Linux 43")),
        ),
        an_error("Python.h", "vllm"),
    ),
    broken("torch alone", snapshot(consumers=(triton(),), build_tools=_NONE), a_note("Python.h", "torch.compile")),
    look_alike(
        "a Python of uv with its own headers",
        snapshot(
            consumers=(triton(),),
            distributions=_SERVED,
            build_tools=build_tools(python_header=known("/root/.local/share/uv/python/include/python3.12/Python.h")),
        ),
    ),
    unknown(
        "CPATH names other folders",
        snapshot(
            consumers=(triton(),), build_tools=_NONE, distributions=_SERVED, environment={"CPATH": "/opt/include"}
        ),
    ),
    unknown(
        "the interpreter is not known",
        snapshot(consumers=(triton(),), build_tools=build_tools(python_header=Unknown("no interpreter was named"))),
    ),
    unknown("a snapshot of an older sm120kit", snapshot(consumers=(triton(),), build_tools=BuildTools())),
    not_applicable("no Triton", snapshot(build_tools=_NONE)),
]
