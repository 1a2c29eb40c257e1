"""What the linkers said about one library, and how to give a linker what it asks for without touching a package."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator

import msgspec

from sm120kit.diagnosis.case import Case, Use
from sm120kit.diagnosis.findings import at
from sm120kit.diagnosis.releases import part_release
from sm120kit.diagnosis.remedies import compose_view
from sm120kit.diagnosis.types import CannotTell, Evidence, Manual, Remedy, Repair, Severity
from sm120kit.snapshot.facts import Known, Unknown
from sm120kit.snapshot.types.toolkits import Consumer, LinkProbe, Toolkit


class LinkFailure(msgspec.Struct, frozen=True):
    """Link lines below one folder that do not find one library."""

    library: str
    """As asked for: ``cudart``, ``cuda``."""
    home: str
    """The folder below which these lines look."""
    use: Use
    probes: tuple[LinkProbe, ...]
    consumers: tuple[Consumer, ...]
    """Whose lines these are; empty where the tree itself was asked about."""
    severity: Severity
    tree: str
    """The compiler's own folder: the toolkit's home, or what a wrapper script at that home hands over to."""
    behind_wrapper: bool
    """Whether the lines look below another folder than ``tree``."""

    @property
    def toolkit(self) -> Toolkit:
        """The tree whose compiler goes with these lines."""
        return self.use.toolkit

    @property
    def who(self) -> str:
        """The linker, and who calls it so, for a message: ``the linker, as flashinfer and sglang call it,``."""
        names = [consumer.name for consumer in self.consumers]
        if not names:
            return "the linker"
        who = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
        return f"the linker, as {who} {'calls' if len(names) == 1 else 'call'} it,"


def link_failures(case: Case, library: str) -> Iterator[LinkFailure | CannotTell]:
    """Every folder, among the judged toolkits, below which a link line asks for ``library`` in vain."""
    for use in case.toolkits:
        tree = use.toolkit.home if _is_own(case, use.toolkit, use.toolkit.home) else use.toolkit.real_home
        failed: dict[str, list[LinkProbe]] = {}
        for probe in use.probes:
            home = tree if _is_own(case, use.toolkit, probe.cuda_home) else probe.cuda_home
            if isinstance(probe.missing, Unknown):
                yield CannotTell(
                    home, f"it is not known what {shlex.join(probe.command)} finds: {probe.missing.reason}"
                )
            elif library in probe.missing.value:
                failed.setdefault(home, []).append(probe)
        for home, probes in failed.items():
            consumers = _consumers(use, probes)
            severity = _severity(case, use, consumers)
            yield LinkFailure(library, home, use, tuple(probes), consumers, severity, tree, home != tree)


def linker_evidence(failure: LinkFailure) -> list[Evidence]:
    """The linkers' own lines with the commands that drew them, or that file names alone were looked at."""
    evidence = []
    for probe in failure.probes:
        command = shlex.join(probe.command)
        if not probe.asked:
            text = f"no folder of this line holds lib{failure.library}.so; judged by file names, no linker was asked"
            evidence.append(at(text, command))
            continue
        about = re.compile(rf"(?:-l|library not found: ){re.escape(failure.library)}(?![\w-])")
        lines = [line.strip() for line in probe.output.splitlines() if about.search(line)]
        evidence.append(at(lines[0] if lines else f"the linker does not find -l{failure.library}", command))
    return evidence


def take_real_home(failure: LinkFailure) -> list[Remedy]:
    """Name the compiler's own tree, where a wrapper script sends the linker elsewhere and the library is in that tree;
    else nothing."""
    own = {posixpath.basename(name) for name in failure.toolkit.link_names if name.startswith("lib64/")}
    asked = {library for probe in failure.probes if isinstance(probe.missing, Known) for library in probe.missing.value}
    lacking = [f"lib{library}.so" for library in sorted(asked) if f"lib{library}.so" not in own]
    if not failure.behind_wrapper or f"lib{failure.library}.so" in lacking:
        return []
    still = f"; it has no {' and no '.join(lacking)} either, which is a finding of its own" if lacking else ""
    text = "Name the tree that the compiler really comes from, so that the linker looks there and not in"
    return [Manual(f"{text} {failure.home}{still}", (f"export CUDA_HOME={shlex.quote(failure.tree)}",))]


def repairs(failure: LinkFailure) -> list[Remedy]:
    """Our own ways out: a toolkit view, or the missing names put into the tree itself."""
    home = failure.toolkit.home
    return [
        compose_view(failure.toolkit, "Compose a toolkit of links beside it, with all names that linkers ask for"),
        Repair(
            f"Add the missing names to {failure.tree} itself; nothing there is replaced or removed",
            "add_missing_links",
            {"cuda_home": home, "library": failure.library},
            needs_consent=True,
        ),
    ]


def on_library_path(text: str, toolkit: Toolkit, make: str) -> Manual:
    """Commands that put a file into a folder of the user's own and let linkers search it.

    ``make`` is the command that makes the file; it names the folder as ``"$DIR"``. gcc and clang read LIBRARY_PATH as
    they link; nothing reads it at run time.
    """
    release = part_release(toolkit, "nvcc")
    folder = f"$HOME/.local/lib/cuda-link-names/{release}" if release else "$HOME/.local/lib/cuda-link-names"
    export = 'export LIBRARY_PATH="$DIR${LIBRARY_PATH:+:$LIBRARY_PATH}"'
    return Manual(text, (f'DIR="{folder}"; mkdir -p "$DIR"', make, export))


def link_command(target: str, name: str) -> str:
    """The command that links ``name`` in ``"$DIR"`` to ``target``."""
    return f'ln -sfn {shlex.quote(target)} "$DIR"/{name}'


def package_with(toolkit: Toolkit, *, apt: str, conda: str) -> tuple[str, ...]:
    """The command that installs a part of this toolkit's release in the way the toolkit itself was installed; empty
    for wheels, views and trees of unknown origin. ``apt`` is the name before its ``-MAJOR-MINOR``."""
    release = part_release(toolkit, "nvcc")
    if release is None:
        return ()
    if toolkit.layout == "conda":
        return (f"conda install -c nvidia {conda}={release}",)
    if toolkit.layout == "system":
        return (f"apt-get install {apt}-{release.major}-{release.minor}",)
    return ()


def _is_own(case: Case, toolkit: Toolkit, folder: str) -> bool:
    """Whether ``folder`` is this tree, and not one whose bin/nvcc is a script that starts the tree's compiler.

    A folder such as /usr/local goes as a name of the tree behind its wrapper too: the compiler is the same, but the
    linker looks below it in vain.
    """
    folder = folder.rstrip("/")
    if folder == toolkit.real_home:
        return True
    if folder not in (toolkit.home, *toolkit.aliases) or toolkit.real_home.startswith(f"{folder}/"):
        return False
    scripts = (nvcc.path for nvcc in case.snapshot.nvcc_on_path if nvcc.kind == "script")
    return f"{folder}/bin/nvcc" not in scripts


def _consumers(use: Use, probes: list[LinkProbe]) -> tuple[Consumer, ...]:
    homes = {probe.cuda_home for probe in probes}
    names = {name for probe in probes for name in probe.consumers}
    if names:
        return tuple(each for each in use.consumers if each.name in names)
    return tuple(each for each in use.consumers if isinstance(each.cuda_home, Known) and each.cuda_home.value in homes)


def _severity(case: Case, use: Use, consumers: tuple[Consumer, ...]) -> Severity:
    if use.named or any(case.must_compile(consumer) for consumer in consumers):
        return use.limit(Severity.ERROR)
    return use.limit(Severity.WARNING)
