"""The consolidator: makes observations of facts that say the same, batch by batch, each in one transaction."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

import structlog

from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.bank import Bank
from recallmesh.core.consolidation import (
    DUE,
    FEWEST,
    Consolidation,
    ConsolidationLedger,
    HeldObservation,
    NewFact,
    ObservationWrite,
)
from recallmesh.core.encoder import Embedder
from recallmesh.core.errors import (
    ArmTimeout,
    ConflictingWrite,
    ExtractionFailed,
    MeshError,
    Overloaded,
    StoreUnavailable,
)
from recallmesh.core.job import Job, Progress
from recallmesh.core.ledger import MemoryLedger
from recallmesh.core.memory import FactType, Memory
from recallmesh.core.scope import scopes_of
from recallmesh.core.time import Clock
from recallmesh.core.tokens import TokenCounter
from recallmesh.retain.board import Board, counts
from recallmesh.retain.clustering import Cluster
from recallmesh.retain.consolidating import Consolidating
from recallmesh.retain.delivery import Vectors
from recallmesh.retain.fan_out import FanOut
from recallmesh.retain.neighbours import Asked, Neighbourhood
from recallmesh.retain.observation import Draft, ObservationWriter, observation_of

_log = structlog.get_logger()
_TRIES = 4
_RETRY_DELAY_S = 0.05
QUOTE_CHARS = 500
"""How much of a fact is kept as its words in the history of an observation."""


class ConsolidatorLedger(MemoryLedger, ConsolidationLedger, Protocol):
    """What of the ledger consolidation uses."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is done at a time.

    ``batch`` facts are one transaction; ``again`` is after how long a bank is due again whose facts the arms have not.
    """

    again: timedelta
    batch: int = 32


@dataclass(slots=True)
class _Round:
    """What one operation has come to: observations written, those that could not be, and the last reason."""

    written: dict[str, None] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    failure: ExtractionFailed | None = None


class Consolidator:
    """Consolidates a bank: twice is as once, from wherever it was cut off; cost per fact is one search of its scope.

    What it makes is in the ledger with its evidence, and then in all arms; what an arm missed the outbox delivers.
    """

    def __init__(
        self,
        ledger: ConsolidatorLedger,
        arms: Mapping[ArmName, Arm],
        embedder: Embedder,
        writer: ObservationWriter,
        fan_out: FanOut,
        tokens: TokenCounter,
        *,
        now: Clock,
        new_id: Callable[[], str],
        consolidating: Consolidating,
        limits: Limits,
    ) -> None:
        """Search by ``arms``, write by ``writer``."""
        self._ledger = ledger
        self._arms = tuple(arms)
        self._board = Board(ledger, Neighbourhood(arms, embedder), embedder, by_meaning=writer.by_meaning)
        self._embedder = embedder
        self._writer = writer
        self._fan_out = fan_out
        self._tokens = tokens
        self._now = now
        self._new_id = new_id
        self._consolidating = consolidating
        self._limits = limits

    async def work(self, job: Job, progress: Progress) -> tuple[str, ...]:
        """Consolidate what is new and what is stale in the operation's bank; returns the observations written.

        Raises:
            StoreUnavailable: an arm, the embedder or the writer does not answer; what was written stays.
            ExtractionFailed: of some facts the writer made nothing that could be kept; all others are done.

        """
        try:
            return await self._consolidated(job, progress)
        except (StoreUnavailable, Overloaded, ArmTimeout, ConflictingWrite):
            # However long what is needed is away: should this operation be given up, another follows.
            with suppress(MeshError):
                await self._ledger.ask_again(job.bank.uid, self._now() + self._limits.again)
            raise

    async def _consolidated(self, job: Job, progress: Progress) -> tuple[str, ...]:
        bank = job.bank
        again = job.payload == DUE and not self._consolidating.is_on(bank)
        yet = _Round()
        await self._refresh(bank, yet)
        done, after = 0, ""
        while facts := await self._ledger.new_facts(bank.uid, limit=self._limits.batch, after=after, again=again):
            after = facts[-1].memory.id
            await self._take(bank, facts, yet)
            done += len(facts)
            await progress(done, done)
        if yet.failure is not None:
            raise yet.failure
        if await self._ledger.has_new_facts(bank.uid, again=again):
            # Those that the arms have yet to index: their near twins cannot be searched for before.
            await self._ledger.ask_again(bank.uid, self._now() + self._limits.again)
        await self._ledger.tell_consolidated(bank.uid, job.operation, len(yet.written), self._now())
        _log.info("consolidation.completed", bank_uid=bank.uid, facts=done, observations=len(yet.written))
        return tuple(sorted(yet.written))

    async def _take(self, bank: Bank, facts: Sequence[NewFact], yet: _Round) -> None:
        """Consolidate a batch, read anew when something came between."""
        tries = 1
        while True:
            try:
                await self._batch(bank, facts, yet)
            except ConflictingWrite:
                if tries == _TRIES:
                    raise
            else:
                return
            await asyncio.sleep(_RETRY_DELAY_S * 2**tries)
            tries += 1
            facts = await self._again(bank, facts)

    async def _again(self, bank: Bank, facts: Sequence[NewFact]) -> tuple[NewFact, ...]:
        scopes = {one.memory.id: one.scopes for one in facts}
        found = await self._ledger.read(bank.uid, tuple(scopes))
        return tuple(NewFact(one, scopes[one.id]) for one in sorted(found, key=lambda one: one.id))

    async def _batch(self, bank: Bank, facts: Sequence[NewFact], yet: _Round) -> None:
        asked = [
            Asked(fact.memory, scope)
            for fact in facts
            if counts(fact.memory)
            for scope in scopes_of(fact.memory.tags, bank.config.consolidation, fact.scopes)
        ]
        clusters = await self._board.place(bank.uid, asked, bank.config.consolidation)
        done = {fact.memory.id: fact.memory.version for fact in facts}
        await self._write(bank.uid, [one for one in clusters if one.changed and not one.gone], done, yet)

    async def _refresh(self, bank: Bank, yet: _Round) -> None:
        """Write anew what is stale; what fails says what a fact of it says, and stays so."""
        while True:
            found = await self._ledger.stale_observations(bank.uid, limit=self._limits.batch + len(yet.failed))
            clusters = [
                Cluster(held.scope, held.memory.tags, dict.fromkeys(held.evidence), held=held, changed=True)
                for held in found
                if held.memory.id not in yet.failed
            ]
            if not clusters:
                return
            await self._write(bank.uid, clusters, {}, yet)

    async def _write(self, bank_uid: str, clusters: Sequence[Cluster], done: Mapping[str, int], yet: _Round) -> None:
        """Write what the clusters say, in one transaction with the marks of the facts that are done."""
        wanted = tuple(dict.fromkeys(member for cluster in clusters for member in cluster.members))
        read = await self._ledger.read(bank_uid, wanted)
        facts = {fact.id: fact for fact in read if counts(fact)}
        attempts = await asyncio.gather(*(self._attempt(cluster, facts, yet) for cluster in clusters))
        written: list[ObservationWrite] = []
        removed: list[HeldObservation] = []
        open_still: set[str] = set()
        for cluster, (succeeded, observation) in zip(clusters, attempts, strict=True):
            if not succeeded:
                open_still.update(cluster.members)
            elif observation is not None:
                written.append(observation)
                removed += cluster.merged
            elif cluster.held is not None and cluster.held.stale:
                removed.append(cluster.held)
        change = Consolidation(
            bank_uid,
            self._arms,
            self._now(),
            tuple(written),
            tuple(removed),
            seen={fact.id: fact.version for fact in facts.values()} | dict(done),
            done=tuple(one for one in done if one not in open_still),
        )
        result = await self._ledger.consolidate(change)
        if written or removed:
            memories = {memory.id: memory for memory in result.written}
            await self._fan_out.deliver(result.write_id, vectors=Vectors(self._embedder), memories=memories)
        yet.written.update(dict.fromkeys(one.id for one in result.written))

    async def _attempt(
        self, cluster: Cluster, facts: Mapping[str, Memory], yet: _Round
    ) -> tuple[bool, ObservationWrite | None]:
        """Return whether the writer could say something of the cluster, and what it becomes."""
        try:
            return True, await self._observation(cluster, facts)
        except ExtractionFailed as error:
            yet.failure = error
            if cluster.held is not None:
                yet.failed.add(cluster.held.memory.id)
            return False, None

    async def _observation(self, cluster: Cluster, facts: Mapping[str, Memory]) -> ObservationWrite | None:
        """Return what the cluster's observation becomes; nothing when its facts are no one thing."""
        members = [facts[one] for one in sorted(cluster.members) if one in facts]
        if len(members) < FEWEST:
            return None
        draft = await self._writer.write(members)
        if draft is None or len(draft.kept) < FEWEST:
            return None
        tokens = await asyncio.to_thread(self._tokens.count, draft.text)
        new = Memory(self._new_id(), "", FactType.OBSERVATION, self._now(), version=0)
        base = cluster.held.memory if cluster.held else new
        memory = observation_of(base, draft, facts, cluster.tags, tokens)
        quotes = {one: facts[one].text[:QUOTE_CHARS] for one in draft.kept}
        return ObservationWrite(memory, cluster.key, draft.told, quotes, _reason(cluster, draft))


def _reason(cluster: Cluster, draft: Draft) -> str:
    if cluster.held is None:
        return f"made of {len(draft.kept)} facts"
    if cluster.merged:
        return f"merged with {len(cluster.merged)} that said the same"
    new = len(set(draft.kept) - cluster.held.evidence.keys())
    return f"supported by {new} more" if new else "written anew"
