"""Tables of wheels: known bad versions, kernel packages by CUDA major, packages that changed their name, and which
wheel brings which CUDA library."""

from typing import Literal

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.diagnosis.types import Manual
from sm120kit.diagnosis.versions import within
from sm120kit.patterns import pattern
from sm120kit.snapshot.facts import Known

_CUDA_LIBRARY = pattern(
    r"lib(?:cudart|nvrtc|cublas|cublasLt|cufft|curand|cusolver|cusolverMg|cusparse|cusparseLt|cudnn\w*|cufile|cupti|nccl"
    r"|nvJitLink|nvshmem_host|nvToolsExt|nvrtc-builtins)\.so(?:\.\d+)*"
)


class KnownBad(Row, frozen=True, kw_only=True):
    """Versions of a package that are known to fail or to give wrong results."""

    package: str
    first: str
    last: str
    beside: str = ""
    """Another package that must be installed too for it to matter; empty where it always does."""
    beside_first: str = ""
    beside_last: str = ""
    majors: tuple[int, ...] = ()
    """Compute capability majors that it concerns; empty for all."""
    models: Literal["all", "multimodal"] = "all"
    """Models that it concerns, where one is named."""
    severity: Literal["error", "warning", "note"]
    effect: str
    """What happens, as a clause behind ``NAME VERSION``."""
    remedy: str
    commands: tuple[str, ...] = ()

    def concerns(self, case: Case) -> bool:
        """Whether the installed packages are these versions, and the model one that they are bad for."""
        installed = case.distribution(self.package)
        if installed is None or not within(installed.version, self.first, self.last):
            return False
        model = case.request.model
        if self.models == "multimodal" and isinstance(model, Known) and not model.value.multimodal:
            return False
        if not self.beside:
            return True
        other = case.distribution(self.beside)
        return other is not None and within(other.version, self.beside_first, self.beside_last)


class KernelWheel(Row, frozen=True, kw_only=True):
    """Versions of a kernel package by the CUDA major whose libraries they need."""

    package: str
    first: str
    last: str
    cuda: int


class SglangKernel(Row, frozen=True, kw_only=True):
    """The kernel package that one SGLang release pins."""

    sglang: str
    package: str
    version: str


class RenamedPackage(Row, frozen=True, kw_only=True):
    """Two distributions that install the same import package."""

    old: str
    new: str
    package: str
    """The folder of site-packages that both own."""
    old_first: str = ""
    old_last: str = ""
    """Versions of the old one that do; empty bounds nothing."""


class WheelLibrary(Row, frozen=True, kw_only=True):
    """A CUDA library whose older namesake breaks those that were built against the wheel's."""

    library: str
    """``libnvJitLink``"""
    breaks: str
    """What fails with an older one, as a clause."""


def known_bad(case: Case) -> tuple[KnownBad, ...]:
    """The rows that the installed packages fall under."""
    return tuple(row for row in read_table("known_bad", KnownBad) if row.concerns(case))


def is_cuda_library(soname: str) -> bool:
    """Whether a soname is one of CUDA's libraries, NCCL and cuDNN included."""
    return _CUDA_LIBRARY.fullmatch(soname) is not None


def kernel_remedy(case: Case) -> Manual:
    """How to get the kernel package that belongs to the installed SGLang."""
    sglang = case.distribution("sglang")
    row = next(
        (each for each in read_table("sglang_kernels", SglangKernel) if sglang and each.sglang == sglang.version), None
    )
    text = "Install the kernel package that the installed SGLang pins, built for torch's CUDA"
    if row is None:
        return Manual(f"{text}: its version stands in SGLang's metadata", ("pip show --verbose sglang", "pip check"))
    uninstall = "pip uninstall -y sgl-kernel sglang-kernel"
    return Manual(text, (uninstall, f"pip install --no-deps {row.package}=={row.version}"))


def kernel_wheel(package: str, version: str) -> KernelWheel | None:
    """The row of this version of a kernel package; ``None`` where the table does not tell."""
    rows = read_table("kernel_wheels", KernelWheel)
    return next((row for row in rows if row.package == package and within(version, row.first, row.last)), None)


def has_cuda_torch(case: Case) -> bool:
    """Whether torch is installed and built with CUDA; a torch for the CPU is the matter of torch.cpu-only."""
    torch = case.snapshot.torch
    return isinstance(torch, Known) and bool(torch.value.cuda)
