"""Verifies servers without owning them: those of a fleet that runs, or any that an address leads to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from sm120kit.engines.sglang.client import split_address
from sm120kit.errors import Sm120kitError
from sm120kit.fleet.gpus import GpuMemory, GpuReader, NvmlReader
from sm120kit.fleet.spec import Expectation, Gpu, Thinking
from sm120kit.fleet.state import folder_of
from sm120kit.fleet.types import SCHEMA, Fleet, Level, Replica, Verdict
from sm120kit.fleet.urls import address_of
from sm120kit.fleet.verification.ladder import Outcome, Subject, verify
from sm120kit.version import __version__


def of_urls(urls: Sequence[str], level: Level) -> Fleet:
    """Servers at these addresses as a fleet without a name, nothing of which was judged yet.

    Raises:
        Sm120kitError: one is no address, or one is given twice; exit code 2.
    """
    urls = [url.rstrip("/").removesuffix("/v1") for url in urls]  # clients of OpenAI's API are given it with /v1
    for url in urls:
        split_address(url)
        if urls.count(url) > 1:
            raise Sm120kitError(f"{url} is given twice", hint="Name each server once")
    replicas = tuple(
        Replica(index, "", _port(url), None, "verifying", None, None, None, url=url) for index, url in enumerate(urls)
    )
    return Fleet(SCHEMA, __version__, "", level, False, False, 0, replicas)


def verified_again(fleet: Fleet, *, level: Level, thinking: Thinking, api_key: str) -> Fleet:
    """The fleet with the verdicts of now. What its own supervisor says of it stays as it is."""
    reader = _reader(fleet)
    memory = reader.read() if reader else {}
    subjects = [_subject(fleet, each, memory) for each in fleet.replicas if _runs(fleet, each)]
    outcome = asyncio.run(verify(subjects, level=level, thinking=thinking, api_key=api_key, gpu_reader=reader))
    return _judged(fleet, outcome, level)


def _subject(fleet: Fleet, replica: Replica, memory: dict[str, GpuMemory]) -> Subject:
    uuids = replica.gpu.split(",") if replica.gpu else []
    return Subject(
        index=replica.index,
        url=replica.url or address_of(fleet.host, replica.port),
        requested=replica.requested,
        expected=_expected(replica),
        root=replica.process,
        port=replica.port,
        gpus=tuple(
            Gpu(uuid, 0, "", "", memory[uuid].total, before)
            for uuid, before in zip(uuids, replica.memory_before or (0,) * len(uuids), strict=True)
            if uuid in memory
        ),
        served_model_name=fleet.served_model_name,
        model=fleet.model,
    )


def _expected(replica: Replica) -> Expectation | None:
    """What the state keeps of the plan; nobody looks at tokens here."""
    if replica.predicted is None:
        return None
    return Expectation(replica.predicted, 0, replica.planned_memory, roofline_tokens_per_second=replica.roofline)


def _runs(fleet: Fleet, replica: Replica) -> bool:
    return not fleet.name or replica.process is not None


def _reader(fleet: Fleet) -> GpuReader | None:
    if not any(each.gpu for each in fleet.replicas):
        return None
    if fleet.rehearsal:
        from sm120kit.fleet.rehearsal.gpus import SimulatedGpus

        return SimulatedGpus(Path(folder_of(fleet.name).rehearsal, "gpus"))
    return NvmlReader()


def _judged(fleet: Fleet, outcome: Outcome, level: Level) -> Fleet:
    replicas = tuple(_judged_replica(each, outcome) for each in fleet.replicas)
    good = [each for each in replicas if each.state == "verified"]
    return replace(
        fleet,
        level=level,
        rehearsal=fleet.rehearsal or any(each.is_stand_in for each in outcome.replicas),
        verified=bool(replicas) and len(good) == len(replicas),
        granted_total=sum(each.granted or 0 for each in good),
        replicas=replicas,
        updated=time.time(),
    )


def _judged_replica(replica: Replica, outcome: Outcome) -> Replica:
    found = next((each for each in outcome.replicas if each.index == replica.index), None)
    if found is None:
        silent = Verdict("port-owner", False, f"its server does not run: it is {replica.state}")
        return replace(replica, verdicts=(silent,), granted=None, tokens_per_second=None, roofline_share=None)
    return replace(
        replica,
        state="verified" if found.verified else "unverified",
        verdicts=found.verdicts,
        requested=found.requested,
        granted=found.granted,
        memory_used=replica.memory_used if found.memory_used is None else found.memory_used,
        tokens_per_second=found.tokens_per_second,
        roofline_share=found.roofline_share,
    )


def _port(url: str) -> int:
    parts = split_address(url)
    return parts.port or (443 if parts.scheme == "https" else 80)
