"""The GPUs a plan is for: how large, how much of it is free, how fast."""

from typing import NamedTuple

from sm120kit.capacity.memory import GIB, MIB
from sm120kit.diagnosis.case import NamedGpu
from sm120kit.diagnosis.gpus import model_by_product
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.errors import Sm120kitError
from sm120kit.snapshot.facts import Known
from sm120kit.snapshot.types.snapshot import Snapshot

TAKEN_BEFORE_LOADING = 3 * GIB // 2
"""Bytes of a card's memory, as nvidia-smi prints it, that are gone before a server loads anything: the driver's part,
the CUDA context, torch.distributed. Seen: 1.43 GiB on an RTX PRO 6000 (95.59 GiB, 94.16 free), 1.56 on a B200."""

TAKEN_BY_CONTEXT = 9 * GIB // 10
"""The same where NVML tells what is free on an idle card: the driver's part is gone already."""

TAKEN_BY_DRIVER = TAKEN_BEFORE_LOADING - TAKEN_BY_CONTEXT
"""What NVML calls used on a card that nobody uses."""

ASSUMED_OF_NAMES = f"of each card {TAKEN_BEFORE_LOADING / GIB:.1f} GiB are gone before loading begins"
ASSUMED_OF_NVML = f"of what NVML calls free, the server's context takes {TAKEN_BY_CONTEXT / GIB:.1f} GiB"
"""What a plan says of these, for cards that are only named and for those that are there."""


class Bandwidth(Row, frozen=True, kw_only=True):
    """One row of checks/tables/gpu_bandwidth.toml."""

    names: tuple[str, ...]
    gigabytes_per_second: int


class Card(NamedTuple):
    """One GPU, or several of the same size."""

    name: str
    number: int
    memory: int
    """Bytes that nvidia-smi prints; 0 = not known."""
    free: int
    """Bytes free on each before a server loads anything."""


class Machine(NamedTuple):
    """All GPUs that a fleet would use, smallest first."""

    cards: tuple[Card, ...]
    assumptions: tuple[str, ...]

    @property
    def gpus(self) -> int:
        return sum(card.number for card in self.cards)

    @property
    def smallest_mib(self) -> int:
        """What SGLang takes as the size of every card: the smallest that nvidia-smi lists; 0 = not known."""
        sizes = [card.memory for card in self.cards]
        return min(sizes) // MIB if all(sizes) else 0

    @property
    def mixed(self) -> bool:
        return len({card.memory for card in self.cards}) > 1


def machine_of_names(gpus: tuple[NamedGpu, ...], free: int | None) -> Machine:
    """Hardware named by ``--gpu``; ``free``: bytes by ``--free-gib``, the same on each.

    Raises:
        Sm120kitError: a GPU's memory is not known and ``--free-gib`` was not given.
    """
    cards = []
    for gpu in gpus:
        if not gpu.memory_total and free is None:
            raise Sm120kitError(
                f"how much memory {gpu.name} has is not known here", hint="Say how much is free on it with --free-gib"
            )
        left = free if free is not None else max(gpu.memory_total - TAKEN_BEFORE_LOADING, 0)
        cards.append(Card(gpu.name, gpu.count, gpu.memory_total, left))
    return _machine(cards, free, ASSUMED_OF_NAMES)


def machine_of_snapshot(snapshot: Snapshot, free: int | None) -> Machine:
    """The GPUs of a snapshot, or of this machine.

    Raises:
        Sm120kitError: there are none, or one tells no memory and ``--free-gib`` was not given.
    """
    gpus = snapshot.driver.gpus
    if not isinstance(gpus, Known) or not gpus.value:
        reason = "there is none" if isinstance(gpus, Known) else gpus.reason
        raise Sm120kitError(f"no GPU to plan for: {reason}", hint="Name one, as in: --gpu rtx-pro-6000x8")
    cards = []
    for gpu in gpus.value:
        row = model_by_product(gpu.name)
        total = gpu.memory_total.value if isinstance(gpu.memory_total, Known) else 0
        if free is not None:
            left = free
        elif isinstance(gpu.memory_free, Known):
            left = max(gpu.memory_free.value - TAKEN_BY_CONTEXT, 0)
        else:
            raise Sm120kitError(
                f"{gpu.name} does not tell how much memory is free: {gpu.memory_free.reason}",
                hint="Say how much is free on it with --free-gib",
            )
        cards.append(Card(row.name if row else gpu.name, 1, total, left))
    return _machine(cards, free, ASSUMED_OF_NVML)


def machine_of_log(free: int) -> Machine:
    """One GPU of which a log tells how much was free."""
    card = Card("the GPU of the log", 1, 0, free)
    return Machine((card,), ("the size of the card is not known: give --gpu where the fraction is not set",))


def _machine(cards: list[Card], free: int | None, assumption: str) -> Machine:
    grouped: dict[tuple[str, int, int], int] = {}
    for card in cards:
        key = (card.name, card.memory, card.free)
        grouped[key] = grouped.get(key, 0) + card.number
    merged = [Card(name, number, memory, left) for (name, memory, left), number in grouped.items()]
    return Machine(
        tuple(sorted(merged, key=lambda card: (card.memory, card.free))), () if free is not None else (assumption,)
    )


def bandwidth_of(name: str) -> int:
    """Bytes per second that this card's memory moves at its peak; 0 = not known."""
    row = next((row for row in read_table("gpu_bandwidth", Bandwidth) if name in row.names), None)
    return row.gigabytes_per_second * 10**9 if row else 0
