"""Candidates: what the indexes proposed, as the ledger knows it and the asker may see it."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from recallmesh.core.disclosure import may_rest, rests_on
from recallmesh.core.memory import VISIBLE_STATES, FactType, Memory, Outline
from recallmesh.core.recall import Outcome
from recallmesh.core.tags import EVERYTHING, TagTest, is_open, passes

Known = TypeVar("Known", bound=Memory | Outline)
"""As much of a memory as was read."""
Read = Callable[[str, tuple[str, ...]], Awaitable[tuple[Known, ...]]]
"""A reading of the ledger: of a bank, those of the memories that are there."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Who may be shown: the tags and fact types asked for."""

    tags: TagTest
    fact_types: frozenset[FactType] = frozenset(FactType)

    def refusal(self, memory: Memory | Outline | None) -> Outcome | None:
        """Return why the memory must not be shown, or nothing."""
        if memory is None:
            return Outcome.MISSING
        if memory.state not in VISIBLE_STATES:
            return Outcome.INVALIDATED
        if memory.fact_type not in self.fact_types:
            return Outcome.TAG
        # The filter that passes everything is the common one, and this the hottest line.
        if self.tags is not EVERYTHING and not passes(self.tags, memory.tags):
            return Outcome.TAG
        return None


@dataclass(slots=True)
class Candidates(Generic[Known]):
    """The memories that may be shown, in fused order, and why the other proposed ones may not."""

    memories: list[Known] = field(default_factory=list)
    refused: dict[str, Outcome] = field(default_factory=dict)


async def read(
    known: Read[Known], bank_uid: str, order: Sequence[str], wanted: int, admission: Admission
) -> Candidates[Known]:
    """Read proposals in order until so many may be shown; those beyond are not read.

    One reading does unless the indexes lag: only then are the places of the refused ones filled from further down.
    """
    found: Candidates[Known] = Candidates()
    begin = 0
    while begin < len(order) and len(found.memories) < wanted:
        ids = order[begin : begin + wanted - len(found.memories)]
        begin += len(ids)
        there = {memory.id: memory for memory in await known(bank_uid, tuple(ids))}
        evidence = await _evidence(known, bank_uid, there.values(), admission)
        rests = not is_open(admission.tags)
        for memory_id in ids:
            memory = there.get(memory_id)
            refusal = admission.refusal(memory)
            if rests and refusal is None and memory is not None and not may_rest(memory, evidence, admission.tags):
                refusal = Outcome.TAG
            if refusal is not None:
                found.refused[memory_id] = refusal
            elif memory is not None:
                found.memories.append(memory)
    return found


async def _evidence(
    known: Read[Known], bank_uid: str, memories: Iterable[Known], admission: Admission
) -> dict[str, Known]:
    """Read what observations rest on, where that decides whether they may be shown."""
    if is_open(admission.tags):
        return {}
    ids = rests_on((memory for memory in memories if admission.refusal(memory) is None), admission.tags)
    return {memory.id: memory for memory in await known(bank_uid, ids)} if ids else {}
