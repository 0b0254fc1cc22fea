"""The board: all that is needed to place a batch of facts, brought together from arms, ledger and embedder."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from recallmesh.core.arm import Hit
from recallmesh.core.bank import ConsolidationTuning
from recallmesh.core.consolidation import ConsolidationLedger, HeldObservation
from recallmesh.core.encoder import Embedder
from recallmesh.core.ledger import MemoryLedger
from recallmesh.core.memory import FactType, Memory, MemoryState
from recallmesh.core.scope import Scope, scopes_of
from recallmesh.retain.clustering import Alike, Cluster, Clusters
from recallmesh.retain.likeness import Floors, Known, floors_of, known, likeness, share_names, share_words
from recallmesh.retain.neighbours import Asked, Near, Neighbourhood, cosine

Pair = frozenset[str]
"""The ids of two facts."""


class BoardLedger(MemoryLedger, ConsolidationLedger, Protocol):
    """What of the ledger a board is made of."""


@dataclass(slots=True)
class _Held:
    """What was read: facts with what they say, observations by id, and those that a fact is evidence for."""

    facts: dict[str, Known] = field(default_factory=dict)
    observations: dict[str, HeldObservation] = field(default_factory=dict)


class Board:
    """Places facts among what their scopes hold. ``by_meaning``: nearness decides, and the writer after it."""

    def __init__(self, ledger: BoardLedger, near: Neighbourhood, embedder: Embedder, *, by_meaning: bool) -> None:
        """Search by ``near``; ``embedder`` says from where on texts are near."""
        self._ledger = ledger
        self._near = near
        self._embedder = embedder
        self._by_meaning = by_meaning
        self._floors: Floors | None = None

    async def place(self, bank_uid: str, asked: Sequence[Asked], tuning: ConsolidationTuning) -> Sequence[Cluster]:
        """Return the clusters around the facts, those that changed and those that did not."""
        if not asked:
            return ()
        worded = await self._near.by_words(bank_uid, asked)
        held = _Held(facts={one.fact.id: known(one.fact) for one in asked})
        await self._read(bank_uid, held, {hit.memory_id for hits in worded for hit in hits})
        wanted = [self._by_meaning or _has_kin(held, one, hits) for one, hits in zip(asked, worded, strict=True)]
        near = await self._near.interleaved(bank_uid, asked, worded, wanted=wanted)
        await self._read(bank_uid, held, {memory_id for one in near for memory_id in one.ids})
        cosines = await self._measure(held, asked, near)
        floors = await self._near_from()
        own = await self._ledger.own_scopes(bank_uid, tuple(sorted(held.facts)))

        def alike(one: Known, other: Known) -> bool:
            measured = cosines.get(frozenset((one.memory.id, other.memory.id)))
            if self._by_meaning:
                return measured is not None and measured >= floors.twins and share_names(one, other)
            return floors.admit(likeness(one, other), measured)

        def belongs(memory: Memory, scope: Scope) -> bool:
            return scope in scopes_of(memory.tags, tuning, own.get(memory.id, ()))

        scopes = {one.scope.key: one.scope for one in asked}
        fits = any if self._by_meaning else all
        clusters = Clusters(held.observations.values(), scopes, held.facts, belongs, fits)
        return await asyncio.to_thread(_placed, clusters, held, asked, near, alike)

    async def _read(self, bank_uid: str, held: _Held, ids: set[str]) -> None:
        """Read memories, the observations among them or that they are evidence for, and what those rest on."""
        new = tuple(sorted(ids - held.facts.keys() - held.observations.keys()))
        facts = tuple(held.facts) if not held.observations else ()
        found = await self._ledger.observations_of(bank_uid, (*facts, *new), new)
        held.observations.update({one.memory.id: one for one in found})
        told = {fact for one in found for fact, is_told in one.evidence.items() if is_told}
        wanted = ({*new, *told} - held.facts.keys()) - held.observations.keys()
        read = await self._ledger.read(bank_uid, tuple(sorted(wanted)))
        held.facts.update({one.id: known(one) for one in read if counts(one)})

    async def _measure(self, held: _Held, asked: Sequence[Asked], near: Sequence[Near]) -> Mapping[Pair, float]:
        """Return the cosines of all pairs that could be alike; what no arm compared is embedded."""
        cosines: dict[Pair, float] = {}
        missing: list[tuple[Memory, Memory]] = []
        for one, found in zip(asked, near, strict=True):
            own = held.facts[one.fact.id]
            for memory_id in _reached(held, found):
                other = held.facts.get(memory_id)
                if other is None or memory_id == one.fact.id:
                    continue
                if memory_id in found.cosines:
                    cosines[frozenset((one.fact.id, memory_id))] = found.cosines[memory_id]
                elif not self._by_meaning and likeness(own, other) is not None:
                    missing.append((one.fact, other.memory))
        texts = dict.fromkeys(memory.text for pair in missing for memory in pair)
        vectors = await self._near.embed(tuple(texts))
        for mine, theirs in missing:
            cosines[frozenset((mine.id, theirs.id))] = cosine(vectors[mine.text], vectors[theirs.text])
        return cosines

    async def _near_from(self) -> Floors:
        if self._floors is None:
            self._floors = floors_of(await self._embedder.info())
        return self._floors


def counts(memory: Memory) -> bool:
    """Tell whether a memory can be evidence: a fact that its owner shows and whose document has not moved on."""
    return memory.fact_type is not FactType.OBSERVATION and memory.state is MemoryState.ACTIVE


def _has_kin(held: _Held, asked: Asked, hits: Sequence[Hit]) -> bool:
    own = held.facts[asked.fact.id].gist
    others = (held.facts.get(hit.memory_id) for hit in hits if hit.memory_id != asked.fact.id)
    return any(hit.memory_id in held.observations for hit in hits) or any(
        other is not None and share_words(own, other.gist) for other in others
    )


def _reached(held: _Held, near: Near) -> dict[str, None]:
    """Return what lies near and what the observations near, or of what lies near, rest on."""
    found = dict.fromkeys(near.ids)
    for one in held.observations.values():
        if one.memory.id in found or not found.keys().isdisjoint(one.evidence):
            found.update(dict.fromkeys(fact for fact, is_told in one.evidence.items() if is_told))
    return found


def _placed(
    clusters: Clusters, held: _Held, asked: Sequence[Asked], near: Sequence[Near], alike: Alike
) -> Sequence[Cluster]:
    for one, found in zip(asked, near, strict=True):
        clusters.place(held.facts[one.fact.id], one.scope, found.ids, alike)
    return clusters.all
