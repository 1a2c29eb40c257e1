"""Actions, plans and journal records, as plain data.

An action is one reversible change of one path. What may be changed, and how, is exactly the union
:data:`Action`: there is no action that runs a command.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from sm120kit.diagnosis.types import Finding
from sm120kit.proof.types import ProofReport

PLAN_SCHEMA = "sm120kit.repair-plan/1"
RECORD_SCHEMA = "sm120kit.record/1"
FIX_SCHEMA = "sm120kit.fix/1"
HISTORY_SCHEMA = "sm120kit.history/1"
TOOLKITS_SCHEMA = "sm120kit.toolkits/1"


class Struct(msgspec.Struct, frozen=True):
    """Base of all repair data."""


class Absent(Struct, frozen=True, tag="absent", tag_field="is"):
    """Nothing stands at the path."""


class LinkState(Struct, frozen=True, tag="link", tag_field="is"):
    """A symbolic link and what it says, unresolved."""

    target: str


class FileState(Struct, frozen=True, tag="file", tag_field="is"):
    """A regular file: SHA-256 of its content in hexadecimal, and its permission bits."""

    sha256: str
    mode: int


class DirectoryState(Struct, frozen=True, tag="directory", tag_field="is"):
    """A folder. Its content and mode do not count."""


class OtherState(Struct, frozen=True, tag="other", tag_field="is"):
    """A device, pipe or socket, or a path that cannot be read; ``what`` says which."""

    what: str


PathState = Absent | LinkState | FileState | DirectoryState | OtherState


class MakeDirectory(Struct, frozen=True, tag="make-directory", tag_field="do"):
    """Make a folder where nothing stands."""

    path: str
    mode: int = 0o755


class MakeLink(Struct, frozen=True, tag="make-link", tag_field="do"):
    """Make a symbolic link where nothing stands."""

    path: str
    target: str


class WriteFile(Struct, frozen=True, tag="write-file", tag_field="do"):
    """Write a file where nothing stands, or in the place of one whose bytes the journal keeps.

    ``sha256`` names the content among the plan's ``contents``.
    """

    path: str
    sha256: str
    mode: int = 0o644


class SwitchLink(Struct, frozen=True, tag="switch-link", tag_field="do"):
    """Make a symbolic link, or point an existing one elsewhere, in one rename."""

    path: str
    target: str


Action = MakeDirectory | MakeLink | WriteFile | SwitchLink


class Step(Struct, frozen=True):
    """One action, the state its path must be in before, and why it is done."""

    action: Action
    before: PathState
    reason: str

    @property
    def after(self) -> PathState:
        """The state that the action leaves behind."""
        action = self.action
        if isinstance(action, MakeDirectory):
            return DirectoryState()
        if isinstance(action, WriteFile):
            return FileState(action.sha256, action.mode)
        return LinkState(action.target)


class Dependency(Struct, frozen=True):
    """A file that the plan's links lead to, as it was when the plan was made."""

    path: str
    size: int
    modified_ns: int


class Choice(Struct, frozen=True):
    """Where one part of a toolkit view comes from, and why that one."""

    part: str
    source: str
    why: str


class ManualStep(Struct, frozen=True):
    """What a person has to do, because it is not ours to do."""

    check: str
    subject: str
    text: str
    commands: tuple[str, ...] = ()


class Cured(Struct, frozen=True):
    """A finding that the plan makes go away, or knows to leave."""

    check: str
    subject: str
    message: str


class Naming(Struct, frozen=True):
    """The options that name a target, each as it is called on the command line; paths are absolute."""

    python: str = ""
    site_packages: str = ""
    cuda_home: str = ""
    no_system_toolkits: bool = False
    env_file: str = ""
    pid: int = 0
    gpu: str = ""
    driver: str = ""
    deep: bool = False


class Plan(Struct, frozen=True):
    """Everything one repair would do. ``steps`` run in order; those from ``switch_from`` on only after the proof.

    ``contents`` holds the bytes of every file to write, by SHA-256.
    """

    schema: str
    tool_version: str
    target: str
    """Description of the target, for people."""
    target_key: str
    data_dir: str
    named_by: Naming = Naming()
    """How the target is found again, when a saved plan is applied."""
    steps: tuple[Step, ...] = ()
    switch_from: int = 0
    """Index of the first step that changes what is live; those before it only build beside it."""
    contents: dict[str, bytes] = {}
    dependencies: tuple[Dependency, ...] = ()
    choices: tuple[Choice, ...] = ()
    cures: tuple[Cured, ...] = ()
    leaves: tuple[Cured, ...] = ()
    """What will still be found about the repaired toolkit."""
    manual: tuple[ManualStep, ...] = ()
    blocked: tuple[str, ...] = ()
    """Why nothing can be done with what is on disk: a sentence for each compiler looked at."""
    packages: tuple[str, ...] = ()
    """Commands that would bring what is missing, when blocked."""
    current: str = ""
    """The link that will lead to the view: CUDA_HOME from then on. Empty for none."""
    view: str = ""
    """The toolkit view that the plan composes; empty for none."""
    in_place: bool = False
    seal: str = ""
    """Of a saved plan: SHA-256 over all else, so that a change is noticed. It keeps nobody from sealing anew."""


Status = Literal["applying", "applied", "taking-back", "taken-back"]


class Record(Struct, frozen=True):
    """What the journal keeps of one plan: enough to finish or take back every step of it."""

    schema: str
    tool_version: str
    number: int
    started_at: str
    """UTC, ISO 8601."""
    command: str
    target: str
    target_key: str
    steps: tuple[Step, ...]
    cures: tuple[Cured, ...] = ()
    view: str = ""
    gpu: str = ""
    """The hardware that ``--gpu`` named when it was made."""


class FixReport(Struct, frozen=True):
    """What ``fix`` shows: the plan, and what became of it when it was applied."""

    schema: str
    plan: Plan
    before: tuple[Finding, ...]
    """Findings the plan was made from; empty for a saved plan."""
    recovered: tuple[str, ...] = ()
    """Sentences about earlier runs that had been cut off."""
    doubts: tuple[str, ...] = ()
    """What was not there to be judged, so that an empty plan is not taken for health."""
    former_caches: tuple[str, ...] = ()
    """Kernel caches that were built through the view that is no longer live."""
    env_script: str = ""
    """The script to source from now on; empty where there is no view."""
    applied: int = 0
    """Number of the journal record; 0 = nothing was applied."""
    undo: str = ""
    """The command that takes it back."""
    after: tuple[Finding, ...] = ()
    """Findings once applied, read as if the env script had been sourced."""
    proof: ProofReport | None = None


class HistoryLine(Struct, frozen=True):
    """One repair in the journal."""

    number: int
    started_at: str
    status: Status
    target: str
    actions: int
    cures: tuple[Cured, ...]
    view: str = ""
    at_work: int = 0
    """The process that is applying it or taking it back right now; 0 = none, so that it was cut off."""
    live: bool = False
    """Whether the target's ``current`` leads to its toolkit of links."""


class History(Struct, frozen=True):
    """All repairs in the journal, oldest first."""

    schema: str
    repairs: tuple[HistoryLine, ...]


class ViewLine(Struct, frozen=True):
    """One toolkit view on disk."""

    path: str
    release: str
    target: str
    """The environment's prefix or site-packages that it was made for; empty where its manifest cannot be read."""
    target_gone: bool
    live_for: tuple[str, ...]
    """Keys of the targets whose ``current`` leads to it."""
    records: tuple[int, ...]
    """Repairs in place that made it."""
    parts: dict[str, str] = {}
    can_go: str = ""
    """Why nothing would miss it, in words; empty where something can return to it."""


class Toolkits(Struct, frozen=True):
    """Toolkit views on disk; after ``--prune --apply`` those that were removed."""

    schema: str
    views: tuple[ViewLine, ...]
