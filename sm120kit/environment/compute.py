"""All variables of one target, in the order in which they are written."""

from __future__ import annotations

from collections.abc import Iterator

from sm120kit.diagnosis import Case
from sm120kit.environment.architectures import architecture_variables
from sm120kit.environment.caches import cache_variables
from sm120kit.environment.compilers import compiler_variables
from sm120kit.environment.folders import home_variables, link_path, loader_path, search_path
from sm120kit.environment.home import Home, choose_home
from sm120kit.environment.jobs import job_variables
from sm120kit.environment.ptxas import triton_variables
from sm120kit.environment.types import Environment, Variable
from sm120kit.snapshot.types.toolkits import Toolkit


def compute(case: Case, cuda_home: str = "", toolkit: Toolkit | None = None) -> Environment:
    """Decide the variables that a healthy run of this target needs.

    ``cuda_home`` is the folder that CUDA_HOME is to name, such as the link to a live toolkit view; without it the
    toolkit that serves the consumers now. ``toolkit`` tells what lies there, if the snapshot has not seen it: without
    that, what depends on the compiler's release is left out. NVCC, FLASHINFER_NVCC and flags are never touched.
    """
    home = Home(cuda_home, toolkit) if cuda_home and toolkit else choose_home(case, cuda_home)
    variables = tuple(_variables(case, home))
    before = case.snapshot.environment
    return Environment(
        target=case.snapshot.target.path,
        cuda_home=home.path if home else "",
        variables=variables,
        before={each.name: before[each.name] for each in variables if each.name in before},
    )


def _variables(case: Case, home: Home | None) -> Iterator[Variable]:
    if home:
        yield from home_variables(home)
    yield from search_path(case, home)
    if home:
        yield from link_path(home)
    yield from loader_path(case)
    if home:
        yield from compiler_variables(case, home)
        yield from architecture_variables(case, home)
        yield from triton_variables(case, home)
    yield from job_variables(case)
    yield from cache_variables(case)
