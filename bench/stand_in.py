"""An orchestrator over parts that answer at once: what is left is the orchestrator's own time."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from recallmesh.core.arm import ArmName, ArmQuery, Hit, Vector
from recallmesh.core.bank import Bank, BankRef
from recallmesh.core.encoder import EmbedderInfo, EmbedKind
from recallmesh.core.memory import Memory, Outline
from recallmesh.core.recall import Recaller
from recallmesh.core.time import system_clock
from recallmesh.core.when import TimeReading
from recallmesh.recall.orchestrator import Orchestrator
from recallmesh.recall.plan import RecallDefaults
from recallmesh.tokens.bpe import BpeTokenCounter


class ReadyArm:
    """An arm that has its answer ready; asked for nothing but hits."""

    def __init__(self, hits: tuple[Hit, ...]) -> None:
        self._hits = hits

    async def search(self, query: ArmQuery) -> tuple[Hit, ...]:  # noqa: ARG002 -- as the port
        return self._hits


class ReadyEmbedder:
    """An embedder that has a vector ready."""

    def __init__(self, vector: Vector) -> None:
        self._vector = vector

    async def info(self) -> EmbedderInfo:
        return EmbedderInfo("ready", "ready", len(self._vector), 512, 0.67, 0.81)

    async def embed(self, texts: tuple[str, ...], kind: EmbedKind) -> tuple[Vector, ...]:  # noqa: ARG002 -- as the port
        return tuple(self._vector for _ in texts)


class ReadyLedger:
    """A ledger that has everything in a dict."""

    def __init__(self, bank: Bank, memories: Sequence[Memory]) -> None:
        self._bank = bank
        self._memories = {memory.id: replace(memory, mentions=()) for memory in memories}
        self._outlines = {
            each.id: Outline(each.id, each.fact_type, each.tags, each.sources, each.tokens, each.state)
            for each in memories
        }

    async def get_bank(self, ref: BankRef) -> Bank:  # noqa: ARG002 -- as the port
        return self._bank

    async def read(
        self,
        bank_uid: str,  # noqa: ARG002 -- as the port
        memory_ids: tuple[str, ...],
        *,
        mentions: bool = True,  # noqa: ARG002 -- what it gives has none
    ) -> tuple[Memory, ...]:
        return tuple(self._memories[name] for name in memory_ids if name in self._memories)

    async def outline(self, bank_uid: str, memory_ids: tuple[str, ...]) -> tuple[Outline, ...]:  # noqa: ARG002 -- as the port
        return tuple(self._outlines[name] for name in memory_ids if name in self._outlines)


class Timeless:
    """Finds no time in any query."""

    async def read(self, text: str, now: datetime) -> TimeReading | None:  # noqa: ARG002 -- as the port
        return None


def stand_in(bank: Bank, hits: dict[ArmName, tuple[Hit, ...]], memories: Sequence[Memory]) -> Recaller:
    """Return the orchestrator over ready parts."""
    # Each has the methods that a recall calls, and no others of its port.
    ledger: Any = ReadyLedger(bank, memories)
    arms: dict[ArmName, Any] = {name: ReadyArm(found) for name, found in hits.items()}
    embedder: Any = ReadyEmbedder((1.0,))
    times: Any = Timeless()
    return Orchestrator(
        ledger=ledger,
        arms=arms,
        embedder=embedder,
        reranker=None,
        times=times,
        tokens=BpeTokenCounter(),
        now=system_clock,
        defaults=RecallDefaults(reranking=False),
    )
