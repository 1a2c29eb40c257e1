"""Has replicas verified by the ladder, and puts what it says on the board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sm120kit.fleet.gpus import GpuReader
from sm120kit.fleet.spec import FleetSpec
from sm120kit.fleet.supervision.board import Board
from sm120kit.fleet.supervision.command import api_key_of
from sm120kit.fleet.types import Verdict
from sm120kit.fleet.urls import address_of
from sm120kit.fleet.verification.ladder import Reference, Subject, verify


class Judge:
    """One for a fleet; remembers what verified sisters gave."""

    def __init__(self, spec: FleetSpec, board: Board, reader: GpuReader | None) -> None:
        self._spec, self._board, self._reader = spec, board, reader
        self._reference: Reference | None = None

    async def verify(self, indices: Sequence[int]) -> Mapping[int, bool]:
        """Which of them are verified at the level of the launch."""
        spec = self._spec
        outcome = await verify(
            [self._subject(index) for index in indices],
            level=spec.level,
            thinking=spec.thinking,
            reasoning_parser=spec.reasoning_parser,
            arguments=spec.arguments,
            limits=spec.limits,
            api_key=api_key_of(spec),
            gpu_reader=self._reader,
            reference=self._reference,
            on_verdict=self._judged,
        )
        for each in outcome.replicas:
            if not self._is_verified_now(each.index):
                continue
            self._board.change(
                each.index,
                verdicts=each.verdicts,
                granted=each.granted,
                tokens_per_second=each.tokens_per_second,
                roofline_share=each.roofline_share,
                memory_used=each.memory_used,
            )
        self._reference = outcome.reference
        return {each.index: each.verified for each in outcome.replicas}

    def _subject(self, index: int) -> Subject:
        replica, now = self._spec.replica(index), self._board.replica(index)
        return Subject(
            index,
            address_of(self._spec.host, replica.port),
            self._spec.requested,
            replica.expected,
            now.process,
            replica.port,
            replica.gpus,
            self._spec.served_model_name,
            self._spec.model,
        )

    def _is_verified_now(self, index: int) -> bool:
        """What is said of a server that was stopped or died meanwhile is no verdict on it."""
        return self._board.replica(index).state == "verifying"

    def _judged(self, index: int, verdict: Verdict) -> None:
        if not self._is_verified_now(index):
            return
        before = self._board.replica(index).verdicts
        self._board.change(index, verdicts=(*(each for each in before if each.name != verdict.name), verdict))
