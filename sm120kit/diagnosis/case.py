"""What a check sees: the snapshot, what was asked for, and the questions that many checks share."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from sm120kit.diagnosis.types import ProofReport, Severity
from sm120kit.snapshot.facts import Fact, Known, Source, Unknown
from sm120kit.snapshot.types.packages import Distribution
from sm120kit.snapshot.types.snapshot import Snapshot
from sm120kit.snapshot.types.toolkits import Consumer, LinkProbe, Toolkit
from sm120kit.snapshot.types.views import LiveView

if TYPE_CHECKING:  # most runs are asked about no server, and do without
    from sm120kit.diagnosis.capacity import CapacityPrediction
    from sm120kit.diagnosis.launch import LaunchLine
    from sm120kit.snapshot.model_facts import ModelFacts


class NamedGpu(msgspec.Struct, frozen=True):
    """Hardware named by ``--gpu``: ``rtx-pro-6000x8`` gives one of these with count 8."""

    name: str
    compute_capability: str
    count: int = 1
    memory_total: int = 0
    """Bytes; 0 where only a compute capability was named."""


class Request(msgspec.Struct, frozen=True):
    """What was asked for beside the target itself."""

    gpus: tuple[NamedGpu, ...] = ()
    driver: str = ""
    launch: LaunchLine | None = None
    """The server's launch line, where one was given."""
    model: Fact[ModelFacts] | None = None
    """The model, where one was named."""


class Use(msgspec.Struct, frozen=True):
    """A CUDA tree that is judged: who would take it, and whether ``--cuda-home`` names it.

    Components are compared only inside one of these, since one nvcc run sees no other tree.
    """

    toolkit: Toolkit
    consumers: tuple[Consumer, ...]
    named: bool
    needed: bool
    """Whether something installed cannot serve without compiling through it."""
    repaired: bool = False
    """Whether a toolkit view stands in for this tree, or would once it is used: what is wrong with the tree harms
    nobody who uses the view, and those who do not are told once (``repair.view-not-used``)."""
    probes: tuple[LinkProbe, ...] = ()
    """The link lines of its takers. Their ``cuda_home`` is another folder where a wrapper script stands between."""

    @property
    def judged(self) -> bool:
        """False for a tree that merely lies on disk."""
        return self.named or bool(self.consumers)

    @property
    def worst(self) -> Severity:
        """The most that may be said about this tree: error where it is named or needed, warning where it is only
        taken by those who build extensions themselves or have them prebuilt, note where nobody takes it or a repair
        stands in for it."""
        if self.repaired:
            return Severity.NOTE
        if self.named or self.needed:
            return Severity.ERROR
        return Severity.WARNING if self.consumers else Severity.NOTE

    def limit(self, severity: Severity) -> Severity:
        """``severity``, or less where this tree does not deserve it."""
        return min(severity, self.worst, key=lambda each: each.rank)

    @property
    def takers(self) -> str:
        """Who takes it, for a message: ``flashinfer and sglang``, or ``--cuda-home``."""
        names = [consumer.name for consumer in self.consumers]
        if not names:
            return "--cuda-home" if self.named else "nobody"
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

    @property
    def who(self) -> str:
        """The same with how: ``used by flashinfer and sglang``, ``named by --cuda-home``."""
        return f"{'used' if self.consumers or not self.named else 'named'} by {self.takers}"


def standing_in(snapshot: Snapshot) -> LiveView | None:
    """The toolkit view that is live for this target, whole, and stands in for the toolkit it would take: also for one
    that ``--cuda-home`` names and the view was made from."""
    view, named = snapshot.live_view, snapshot.target.cuda_home
    if not isinstance(view, Known) or view.value.gone:
        return None
    manifest = view.value.manifest
    behind = manifest.value.homes if isinstance(manifest, Known) else ()
    return view.value if not named or named in (*behind, view.value.current, view.value.path) else None


class Case(msgspec.Struct, frozen=True, dict=True):
    """Snapshot and request, with the derived facts that checks share. Pure: asks nothing of the machine."""

    snapshot: Snapshot
    request: Request = msgspec.field(default_factory=Request)
    proofs: tuple[ProofReport, ...] = ()
    """Real compiles and links, where they were asked for."""
    capacity: Fact[CapacityPrediction] | None = None
    """What the server asked about will grant, where a launch line and a model were given."""

    @property
    def hardware_named(self) -> bool:
        """Whether ``--gpu`` was given: then neither NVML nor container and driver presence counts."""
        return bool(self.request.gpus)

    @property
    def gpu_signs(self) -> tuple[str, ...]:
        """Signs of an NVIDIA GPU on this machine, as sentences; empty where there is none."""
        signs = []
        host, driver = self.snapshot.host, self.snapshot.driver
        if isinstance(host.pci_gpus, Known):
            signs += [f"PCI device {device}" for device in host.pci_gpus.value]
        if isinstance(host.device_nodes, Known):
            signs += [f"device node {node}" for node in host.device_nodes.value]
        if isinstance(driver.module_version, Known):
            signs.append(f"kernel module {driver.module_version.value}")
        return tuple(signs)

    @cached_property
    def compute_capabilities(self) -> Fact[tuple[str, ...]]:
        """Compute capabilities of the GPUs named, else of those NVML found: distinct, sorted; ``("12.0",)``."""
        if self.request.gpus:
            named = sorted({gpu.compute_capability for gpu in self.request.gpus})
            return Known(tuple(named), Source("option", "--gpu " + ",".join(gpu.name for gpu in self.request.gpus)))
        gpus = self.snapshot.driver.gpus
        if isinstance(gpus, Unknown):
            return gpus
        found = tuple(sorted({gpu.compute_capability for gpu in gpus.value}))
        return Known(found, gpus.source) if found else Unknown("NVML lists no usable GPU")

    @property
    def driver_version(self) -> Fact[str]:
        """``--driver``, else the version that NVML or the kernel module tells."""
        if self.request.driver:
            return Known(self.request.driver, Source("option", "--driver"))
        driver = self.snapshot.driver
        if self.hardware_named:
            return Unknown("hardware was named without --driver")
        return driver.version if isinstance(driver.version, Known) else driver.module_version

    def distribution(self, name: str) -> Distribution | None:
        """The installed distribution of that normalised name that imports find (the first), or ``None``."""
        return self._distributions.get(name)

    @cached_property
    def _distributions(self) -> dict[str, Distribution]:
        known = self.snapshot.distributions
        return {each.name: each for each in reversed(known.value)} if isinstance(known, Known) else {}

    @property
    def sglang(self) -> Fact[str]:
        """The SGLang that would run: the launch line's, else the installed one."""
        line, installed = self.request.launch, self.distribution("sglang")
        if line is not None:
            return Known(line.version, Source("option", line.version_source))
        if installed is not None:
            return Known(installed.version, Source("file", installed.path))
        known = self.snapshot.distributions
        return Unknown(known.reason if isinstance(known, Unknown) else "sglang is not installed and no version named")

    @property
    def model(self) -> ModelFacts | None:
        """The model that was named, where its configuration could be read."""
        return self.request.model.value if isinstance(self.request.model, Known) else None

    @property
    def unused_view(self) -> LiveView | None:
        """The toolkit view that stands in for what this target takes, where its environment does not use it."""
        view = standing_in(self.snapshot)
        return view if view and not view.in_use else None

    def cured_by_view(self, consumer: Consumer) -> bool:
        """Whether the :attr:`unused_view` would serve this consumer: all that take the compiler of their CUDA home, and
        have no variable that names another one."""
        home, nvcc = consumer.cuda_home, consumer.nvcc
        elsewhere = isinstance(home, Known) and isinstance(nvcc, Known) and nvcc.value != f"{home.value}/bin/nvcc"
        return self.unused_view is not None and consumer.name != "triton" and not elsewhere

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """Every CUDA tree on disk with those who would take it: judged ones first."""
        snapshot = self.snapshot
        compilers = [consumer for consumer in snapshot.consumers if consumer.name != "triton"]
        view = self.unused_view
        behind = view.manifest.value.homes if view and isinstance(view.manifest, Known) else ()
        uses = []
        for toolkit in snapshot.toolkits:
            takers = tuple(consumer for consumer in compilers if consumer.toolkit == toolkit.home)
            named = snapshot.target.cuda_home in (toolkit.home, *toolkit.aliases)
            link_homes = {consumer.cuda_home.value for consumer in takers if isinstance(consumer.cuda_home, Known)}
            if named or not takers:
                link_homes.add(toolkit.home)
            uses.append(
                Use(
                    toolkit=toolkit,
                    consumers=takers,
                    named=named,
                    needed=any(self.must_compile(consumer) for consumer in takers),
                    repaired=bool(set(behind) & {toolkit.home, *toolkit.aliases})
                    or (bool(takers) and all(map(self.cured_by_view, takers))),
                    probes=tuple(probe for probe in snapshot.link_probes if probe.cuda_home in link_homes),
                )
            )
        return tuple(sorted(uses, key=lambda use: -use.worst.rank))

    @property
    def judged_uses(self) -> tuple[Use, ...]:
        """Those trees that a consumer would take or that are named."""
        return tuple(use for use in self.uses if use.judged)

    @property
    def toolkits(self) -> tuple[Use, ...]:
        """The judged trees that have an nvcc: what most toolkit checks walk."""
        return tuple(use for use in self.judged_uses if use.toolkit.has_nvcc)

    def must_compile(self, consumer: Consumer) -> bool:
        """Whether serving fails when this consumer cannot compile at run time."""
        if consumer.need == "always":
            return True
        return consumer.need == "unless-prebuilt" and self.prebuilt_by(consumer) is None

    def prebuilt_by(self, consumer: Consumer) -> Distribution | None:
        """The flashinfer-jit-cache that spares this consumer the compiler: same base version, and built for the
        CUDA major of the installed torch."""
        cache, own = self.distribution("flashinfer-jit-cache"), self.distribution("flashinfer-python")
        if consumer.name != "flashinfer" or cache is None or own is None:
            return None
        base, _, local = cache.version.partition("+")
        if base != own.version.partition("+")[0]:
            return None
        torch = self.snapshot.torch
        if isinstance(torch, Known) and torch.value.cuda and local.startswith("cu"):
            return cache if local[2:4] == torch.value.cuda.partition(".")[0] else None
        return cache
