"""Cases of jit.build-tools-missing."""

from msgspec.structs import replace

from sm120kit.snapshot.facts import Unknown
from sm120kit.snapshot.types.jit import BuildTools
from sm120kit.snapshot.types.toolkits import HostCompiler
from tests.builders import build_tools, flashinfer, gcc, packages, sglang, snapshot, torch_extensions, triton
from tests.cases.harness import a_note, a_warning, an_error, broken, healthy, look_alike, not_applicable, unknown

CHECK = "jit.build-tools-missing"

_NO_NINJA = Unknown("no ninja is on PATH")
_ONLY_ITS_OWN = build_tools(ninja=_NO_NINJA)
_NOWHERE = build_tools(ninja=_NO_NINJA, own_ninja="")
_NO_CXX = HostCompiler("c++", Unknown("c++ is not on PATH"), "gcc", Unknown("c++ is not on PATH"))
_SERVED = packages(sglang="0.5.23", torch="2.14.1", triton="3.8.0")
_PLAIN = snapshot(consumers=(flashinfer(), sglang()))
_SERVICE = replace(_PLAIN.target, environment="process 4711")
_BARE = replace(_PLAIN.target, kind="site-packages")
_IMAGE = replace(_PLAIN.target, kind="root", live=False)

CASES = [
    healthy("ninja and c++ on PATH", _PLAIN),
    broken(
        "no ninja anywhere",
        replace(_PLAIN, build_tools=_NOWHERE, environment={"PATH": "/usr/bin"}),
        an_error("ninja", "flashinfer and sglang cannot compile", "/usr/bin"),
    ),
    broken(
        "the environment's bin folder is not on a service's PATH",
        replace(_PLAIN, build_tools=_ONLY_ITS_OWN, target=_SERVICE),
        a_warning("ninja", "/srv/venv/bin, which is not on PATH", "process 4711"),
    ),
    broken(
        "nor on ours, which need not be the server's",
        replace(_PLAIN, build_tools=_ONLY_ITS_OWN),
        a_note("ninja", "not on PATH"),
    ),
    broken(
        "an image without ninja, whose PATH may still be set",
        replace(_PLAIN, build_tools=_NOWHERE, target=_IMAGE),
        a_warning("ninja"),
    ),
    broken("no c++", replace(_PLAIN, host_compilers=(_NO_CXX,)), an_error("c++", "and c++ is not on PATH")),
    broken(
        "no compiler for Triton",
        snapshot(consumers=(triton(),), distributions=_SERVED, host_compilers=()),
        an_error("triton 3.8.0", "gcc or clang"),
    ),
    look_alike(
        "clang alone for Triton",
        snapshot(consumers=(triton(),), distributions=_SERVED, host_compilers=(gcc(command="clang"),)),
    ),
    look_alike("c++ is there, and gcc was not listed", snapshot(consumers=(triton(),), distributions=_SERVED)),
    look_alike("ninja of the system, none in the environment", replace(_PLAIN, build_tools=build_tools(own_ninja=""))),
    unknown("a bare folder of packages", replace(_PLAIN, build_tools=_NOWHERE, target=_BARE)),
    unknown("a snapshot of an older sm120kit", replace(_PLAIN, build_tools=BuildTools())),
    not_applicable(
        "torch's extensions are built by people", snapshot(consumers=(torch_extensions(),), build_tools=_NOWHERE)
    ),
    not_applicable(
        "all modules are prebuilt",
        snapshot(
            consumers=(flashinfer(),),
            build_tools=_NOWHERE,
            distributions=packages(
                flashinfer_jit_cache="0.7.2.post1+cu130", flashinfer_python="0.7.2.post1", torch="2.14.1"
            ),
        ),
    ),
]
