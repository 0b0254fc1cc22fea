"""The brief recall: where fused order alone ranks, memories are chosen by outline, and only what is packed is read."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recallmesh.core.ledger import MemoryLedger
from recallmesh.core.memory import Memory, Outline
from recallmesh.core.recall import RecallRequest
from recallmesh.recall import score
from recallmesh.recall.candidates import Admission
from recallmesh.recall.pack import pack
from recallmesh.recall.plan import ResolvedTuning
from recallmesh.recall.ranking import Row

TOKENS_EACH = 20
"""Tokens of a short memory: so many at most of the first are read whole at once as would fill the pack."""


class Reading:
    """Reads the first memories whole, since most of those are packed, and beside it the outlines of the others."""

    def __init__(self, ledger: MemoryLedger, request: RecallRequest) -> None:
        """Read for this request."""
        self._ledger = ledger
        self._mentions = request.include_entities
        self._ahead = min(request.limit or request.max_tokens, request.max_tokens // TOKENS_EACH)
        self._whole: dict[str, Memory] = {}

    async def known(self, bank_uid: str, memory_ids: tuple[str, ...]) -> tuple[Memory | Outline, ...]:
        """Return as much as was read of those that are there."""
        first = memory_ids[: max(0, self._ahead - len(self._whole))]
        memories, outlines = await asyncio.gather(
            self._ledger.read(bank_uid, first, mentions=self._mentions),
            self._ledger.outline(bank_uid, memory_ids[len(first) :]),
        )
        self._whole.update({memory.id: memory for memory in memories})
        return (*memories, *outlines)

    async def whole(self, bank_uid: str, memory_ids: tuple[str, ...]) -> tuple[Memory, ...]:
        """Return the memories that are there whole, read now where only their outline was."""
        unread = tuple(memory_id for memory_id in memory_ids if memory_id not in self._whole)
        memories = await self._ledger.read(bank_uid, unread, mentions=self._mentions) if unread else ()
        return (*(self._whole[memory_id] for memory_id in memory_ids if memory_id in self._whole), *memories)


@dataclass(frozen=True, slots=True)
class Choice:
    """What is packed, as far as it was read: best first, by places in fused order, with the scores of those places."""

    outlines: dict[int, Memory | Outline]
    finals: Sequence[float]
    considered: int
    oversized: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the memories to read."""
        return tuple(outline.id for outline in self.outlines.values())

    def rows(self, memories: Iterable[Memory], admission: Admission) -> list[Row]:
        """Return the rows of the memories as they were read.

        What changed since the outlines were, so that it may no longer be shown or takes more room, is left out.
        """
        there = {memory.id: memory for memory in memories}
        rows = []
        for place, outline in self.outlines.items():
            memory = there.get(outline.id)
            if memory is not None and admission.refusal(memory) is None and memory.tokens <= outline.tokens:
                rows.append(Row(memory, place, self.finals[place], self.finals[place]))
        return rows


def suffices(request: RecallRequest, tuning: ResolvedTuning) -> bool:
    """Tell whether a recall that is not reranked needs no more than outlines of what it does not return.

    Boosts need times and evidence, a trace needs texts, and chunks come of memories that are not packed too.
    """
    return not (tuning.boosts_asked or request.trace or request.chunk_tokens)


def choose(outlines: Sequence[Memory | Outline], request: RecallRequest, tuning: ResolvedTuning) -> Choice | None:
    """Pack outlines as ``rank``, ``passing`` and ``pack`` would the memories; none where a count of tokens lacks."""
    finals = score.synthetic(len(outlines))
    least = tuning.min_scores.final
    considered = outlines if least is None else outlines[: sum(final >= least for final in finals)]  # finals fall
    sizes = [outline.tokens for outline in considered]
    if not all(sizes):
        return None
    packed = pack(
        considered, sizes, max_tokens=request.max_tokens, limit=request.limit, observations=tuning.prefer_observations
    )
    chosen = {place: considered[place] for place in packed.places}
    return Choice(chosen, finals, len(considered), packed.oversized)
