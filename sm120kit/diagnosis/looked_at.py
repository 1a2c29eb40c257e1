"""What was looked at, as tables for people: the answer to "did it see my toolkit at all?"."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sm120kit.diagnosis.case import Case
from sm120kit.diagnosis.types import Fact, FactGroup
from sm120kit.snapshot import facts
from sm120kit.snapshot.types.machine import Gpu
from sm120kit.snapshot.types.snapshot import Snapshot
from sm120kit.snapshot.types.toolkits import CcclCopy, Consumer, LinkProbe, Part, Toolkit

T = TypeVar("T")

NOTABLE_DISTRIBUTIONS = (
    "torch", "triton", "sglang", "sglang-kernel", "sgl-kernel", "flashinfer-python", "flashinfer-cubin",
    "flashinfer-jit-cache", "apache-tvm-ffi", "deep-gemm", "sgl-deep-gemm", "flash-attn", "flash-attn-4", "vllm",
    "cuda-toolkit", "cuda-python", "cuda-bindings", "nvidia-cutlass-dsl", "ninja", "transformers",
)  # fmt: skip


def looked_at(case: Case) -> tuple[FactGroup, ...]:
    """Tables of facts, the most general first; groups with nothing in them are left out."""
    snapshot = case.snapshot
    groups = [
        _target(snapshot),
        _host(snapshot),
        _driver(case),
        _python(snapshot),
        _asked(case),
        _consumers(snapshot),
        *(_toolkit(toolkit) for toolkit in snapshot.toolkits),
        _link_lines(snapshot),
        _compilers(snapshot),
        FactGroup("Environment", tuple(Fact(name, value) for name, value in sorted(snapshot.environment.items()))),
    ]
    return tuple(group for group in groups if group.facts)


def _fact(label: str, fact: facts.Fact[T], form: Callable[[T], str] = str) -> Fact:
    if isinstance(fact, facts.Unknown):
        return Fact(label, f"unknown: {fact.reason}")
    owner = f" ({fact.source.owner})" if fact.source.owner else ""
    return Fact(label, form(fact.value), fact.source.where + owner)


def _target(snapshot: Snapshot) -> FactGroup:
    target = snapshot.target
    rows = [Fact(target.kind, target.path, target.why)]
    if target.root:
        what = "image archive" if target.image else "root"
        rows.append(Fact(what, target.root, "nothing in it was executed"))
    if target.cuda_home:
        rows.append(Fact("CUDA home", target.cuda_home, "--cuda-home"))
    if not target.system_toolkits:
        rows.append(Fact("system toolkits", "hidden", "--no-system-toolkits"))
    rows.append(Fact("variables of", target.environment))
    rows.append(Fact("snapshot taken", snapshot.taken_at, f"sm120kit {snapshot.tool_version}"))
    return FactGroup("Target", tuple(rows))


def _asked(case: Case) -> FactGroup:
    """The server that was asked about, where one was."""
    line, model = case.request.launch, case.request.model
    if line is None and model is None:
        return FactGroup("Asked for", ())
    from sm120kit.diagnosis.asked import describe

    rows = [_fact("SGLang", case.sglang)]
    if line is not None:
        flags = "its own" if line.exact else f"those of {line.read_as}, as its own are not known"
        rows.append(Fact("read with the flags", flags))
        rows += [
            Fact(name, "" if value is None else str(value), line.words(name)) for name, value in line.given.items()
        ]
    if model is not None:
        rows.append(_fact("model", model, lambda facts: f"{facts.architecture}, {describe(facts)}"))
    return FactGroup("Asked for", tuple(rows))


def _host(snapshot: Snapshot) -> FactGroup:
    host = snapshot.host
    rows = [
        _fact("architecture", host.architecture),
        _fact("kernel", host.kernel),
        _fact("distribution", host.distribution),
        _fact("glibc", host.glibc),
        _fact("libstdc++", host.libstdcxx, "GLIBCXX_{}".format),
        _fact("container", host.container),
        _fact("cpus", host.cpus),
        _fact("memory", host.memory_total, _gib),
        _fact("memory available", host.memory_available, _gib),
        _fact("/dev/shm", host.shm_size, _gib),
        _fact("device nodes", host.device_nodes, _listed),
        _fact("PCI GPUs", host.pci_gpus, _listed),
    ]
    rows += [Fact("slow mount", mount.path, mount.file_system) for mount in host.slow_mounts]
    return FactGroup("Host", tuple(rows))


def _driver(case: Case) -> FactGroup:
    request, driver = case.request, case.snapshot.driver
    rows = [Fact("named GPU", f"{gpu.count} x {gpu.name}", f"compute capability {gpu.compute_capability}, --gpu")
            for gpu in request.gpus]  # fmt: skip
    if request.driver:
        rows.append(Fact("named driver", request.driver, "--driver"))
    if request.gpus:
        return FactGroup("Driver and GPUs", tuple(rows))
    rows += [
        _fact("driver", driver.version),
        _fact("serves CUDA", driver.cuda_version),
        _fact("kernel module", driver.module_version),
        _fact("open module", driver.open_module, lambda is_open: "yes" if is_open else "no"),
        _fact("NVML library", driver.nvml_library),
        _fact("libcuda.so.1", driver.libcuda, _listed),
    ]
    if isinstance(driver.gpus, facts.Known):
        rows += [Fact(f"GPU {gpu.index}", _gpu(gpu), gpu.pci_bus_id) for gpu in driver.gpus.value]
    else:
        rows.append(_fact("GPUs", driver.gpus))
    rows += [Fact(f"GPU {lost.index}", f"cannot be read: {lost.error}") for lost in driver.lost_gpus]
    return FactGroup("Driver and GPUs", tuple(rows))


def _gpu(gpu: Gpu) -> str:
    memory = _gib(gpu.memory_total.value) if isinstance(gpu.memory_total, facts.Known) else "memory unknown"
    mig = f", {len(gpu.mig_devices)} MIG devices" if gpu.mig_devices else ""
    return f"{gpu.name}, compute capability {gpu.compute_capability}, {memory}{mig}"


def _python(snapshot: Snapshot) -> FactGroup:
    rows = []
    if isinstance(snapshot.interpreter, facts.Known):
        python = snapshot.interpreter.value
        rows += [Fact("interpreter", f"Python {python.version}", python.executable), Fact("prefix", python.prefix)]
        rows += [Fact("site-packages", folder) for folder in python.site_packages]
        if python.externally_managed:
            rows.append(Fact("externally managed", "yes", "pip refuses to install outside a venv"))
    else:
        rows.append(Fact("interpreter", f"unknown: {snapshot.interpreter.reason}"))
    if isinstance(snapshot.torch, facts.Known):
        torch = snapshot.torch.value
        rows.append(Fact("torch build", f"{torch.version}, CUDA {torch.cuda or 'none'}", torch.path))
    if isinstance(snapshot.distributions, facts.Unknown):
        rows.append(Fact("packages", f"unknown: {snapshot.distributions.reason}"))
        return FactGroup("Python", tuple(rows))
    installed = snapshot.distributions.value
    rows.append(Fact("packages", f"{len(installed)} installed"))
    rows += [Fact(each.name, each.version) for each in installed if each.name in NOTABLE_DISTRIBUTIONS]
    return FactGroup("Python", tuple(rows))


def _consumers(snapshot: Snapshot) -> FactGroup:
    return FactGroup(
        "Which toolkit each installed package uses, and why",
        tuple(_consumer(consumer, snapshot) for consumer in snapshot.consumers),
    )


def _consumer(consumer: Consumer, snapshot: Snapshot) -> Fact:
    label = consumer.distribution
    if consumer.name.replace("_", "-") not in consumer.distribution:
        label = f"{consumer.name} ({consumer.distribution})"
    if isinstance(consumer.cuda_home, facts.Unknown):
        return Fact(label, f"none: {consumer.cuda_home.reason}", consumer.rule)
    if consumer.name == "triton":
        assembler = consumer.nvcc.value if isinstance(consumer.nvcc, facts.Known) else consumer.cuda_home.value
        return Fact(label, assembler, f"{consumer.found_via} (its rule: {consumer.rule})")
    home = consumer.cuda_home.value
    taken = next((each for each in snapshot.toolkits if consumer.toolkit and each.home == consumer.toolkit), None)
    value = home
    if taken is None:
        value += ", where no CUDA tree lies"
    elif home in (taken.home, taken.real_home, *taken.aliases):
        value += f", {_release(taken)}"
    else:
        value += f", and compiles with {taken.home}, {_release(taken)}"
    if isinstance(consumer.bundled_cccl, facts.Known):
        value += f", its own CCCL {consumer.bundled_cccl.value} first"
    return Fact(label, value, f"{consumer.found_via} (its rule: {consumer.rule})")


def _release(toolkit: Toolkit) -> str:
    part = toolkit.part("nvcc") or toolkit.part("ptxas")
    if part is None:
        return "a runtime without nvcc"
    return f"{part.name} {part.release.value if isinstance(part.release, facts.Known) else 'of unknown release'}"


def _toolkit(toolkit: Toolkit) -> FactGroup:
    rows = [Fact("layout", toolkit.layout, "found by " + ", ".join(toolkit.found_via))]
    if toolkit.real_home != toolkit.home:
        rows.append(Fact("really", toolkit.real_home))
    rows += [Fact("also named", alias) for alias in toolkit.aliases]
    rows += [_part(part, toolkit.home) for part in toolkit.parts]
    rows += [_cccl_copy(copy, toolkit.home) for copy in toolkit.cccl_copies]
    rows.append(Fact("link names", _listed(toolkit.link_names) if toolkit.link_names else "none"))
    rows += [Fact("wheel", owner) for owner in toolkit.owners]
    return FactGroup(f"{'Toolkit' if toolkit.has_nvcc else 'Runtime (no nvcc)'} {toolkit.home}", tuple(rows))


def _part(part: Part, home: str) -> Fact:
    row = _fact(part.name, part.release)
    changed = ", changed since it was installed" if part.altered else ""
    return Fact(part.name, row.value + changed, _below(part.path, home, part.owner))


def _cccl_copy(copy: CcclCopy, home: str) -> Fact:
    holds = {
        "nv/target": copy.has_nv_target,
        "cuda/std": copy.has_cuda_std,
        "cub": copy.has_cub,
        "thrust": copy.has_thrust,
    }
    held = ", ".join(name for name, there in holds.items() if there)
    row = _fact("CCCL copy", copy.version)
    strangers = f", {copy.unowned_files} files of no wheel" if copy.unowned_files else ""
    return Fact(row.label, f"{row.value}: {held}{strangers}", _below(copy.include_dir, home, copy.owner))


def _below(path: str, home: str, owner: str) -> str:
    """``path`` as seen from the tree that it belongs to, and the wheel that owns it."""
    return path.removeprefix(home.rstrip("/") + "/") + (f" ({owner})" if owner else "")


def _link_lines(snapshot: Snapshot) -> FactGroup:
    return FactGroup("Link lines", tuple(_link_line(probe) for probe in snapshot.link_probes))


def _link_line(probe: LinkProbe) -> Fact:
    who = "the linker" if probe.asked else "by file names alone, the linker"
    if isinstance(probe.missing, facts.Unknown):
        answer = f"unknown: {probe.missing.reason}"
    elif probe.missing.value:
        answer = f"{who} does not find " + ", ".join(f"-l{name}" for name in probe.missing.value)
    else:
        answer = f"{who} finds every library"
    return Fact(_listed(probe.consumers) if probe.consumers else "the tree itself", answer, " ".join(probe.command))


def _compilers(snapshot: Snapshot) -> FactGroup:
    rows = []
    for each in snapshot.host_compilers:
        version = each.version.value if isinstance(each.version, facts.Known) else f"unknown: {each.version.reason}"
        path = each.path.value if isinstance(each.path, facts.Known) else each.path.reason
        rows.append(Fact(each.command, f"{each.kind} {version}", path))
    for nvcc in snapshot.nvcc_on_path:
        leads = f", executes {nvcc.executes}" if nvcc.executes else ""
        really = nvcc.real_path if nvcc.real_path != nvcc.path else ""
        rows.append(Fact("nvcc on PATH", f"{nvcc.path}, a {nvcc.kind}{leads}", really))
    return FactGroup("Compilers", tuple(rows))


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) if names else "none"
