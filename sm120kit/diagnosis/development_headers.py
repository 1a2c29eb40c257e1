"""Which headers of CUDA's libraries a consumer's sources include, and what brings each header."""

from collections.abc import Iterator

from sm120kit.diagnosis.releases import Release
from sm120kit.diagnosis.tables import Row, read_table
from sm120kit.snapshot.facts import Fact, Known
from sm120kit.snapshot.types.toolkits import Consumer


class DevelopmentHeader(Row, frozen=True, kw_only=True):
    """A header of one of CUDA's libraries and its packages."""

    header: str
    extra: str
    """Extra of the ``cuda-toolkit`` package."""
    wheel: str
    apt: str
    """Name in NVIDIA's apt repository before its ``-MAJOR-MINOR``."""
    conda: str


class ModuleHeaders(Row, frozen=True, kw_only=True):
    """What one module of a consumer includes."""

    consumer: str
    module: str
    headers: tuple[str, ...]
    majors: tuple[int, ...]
    """Compute capability majors that it is built for; empty for all."""
    since: str
    """First version of the consumer this holds for."""
    before: str
    """First version it does not hold for any more; empty where none is known."""


def modules_of(consumer: Consumer, compute_capabilities: Fact[tuple[str, ...]]) -> Iterator[ModuleHeaders]:
    """The rows that hold for this consumer's version on these GPUs; on all GPUs where they are not known."""
    version = _version(consumer.distribution.rpartition(" ")[2])
    majors: set[int] | None = None
    if isinstance(compute_capabilities, Known):
        releases = [Release.parse(each) for each in compute_capabilities.value]
        majors = {release.major for release in releases if release}
    for row in read_table("module_headers", ModuleHeaders):
        if row.consumer != consumer.name or version < _version(row.since):
            continue
        if row.before and version >= _version(row.before):
            continue
        if not row.majors or majors is None or majors & set(row.majors):
            yield row


def _version(text: str) -> tuple[int, ...]:
    """The leading numbers of a version: enough to order the releases in the table."""
    numbers = []
    for part in text.partition("+")[0].split(".")[:3]:
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)
