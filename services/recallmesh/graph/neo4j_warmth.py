"""What a Neo4j server is asked before it is called ready: it takes seconds to plan its first statements."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Protocol

from recallmesh.core.arm import IndexEntry, Removal
from recallmesh.core.memory import ALL_FACT_TYPES, CausalLink, FactType, Mention
from recallmesh.core.page import PageRequest
from recallmesh.core.tags import EVERYTHING, TagLeaf, TagMode
from recallmesh.graph import neo4j_reads, neo4j_writes
from recallmesh.graph.store import Alike, LinkKind, Node, Scope

BANK = "recallmesh-warm-up"
"""No bank has this uid; what is written to it is undone."""
ROUNDS = 2
"""How often it is asked: the first time plans; the second is a tenth of it, and what comes after it a tenth again."""
MODES = (TagMode.ANY, TagMode.ANY_STRICT)
"""The common tests of tags. The first search with any other waits for its plan, about half a second."""


class Changing(Protocol):
    """Does a unit of work in one transaction."""

    async def __call__(self, unit: Callable[[neo4j_writes.Change], Awaitable[None]], *, keep: bool = True) -> None:
        """Do it, and undo it unless it is to be kept."""
        ...


async def warm_up(ask: neo4j_reads.Ask, changing: Changing) -> None:
    """Ask everything that searches ask, and write and undo everything that is written."""
    await changing(_everything, keep=False)
    reads = neo4j_reads.CypherReads(ask)
    tags = frozenset({"tag"})
    for _ in range(ROUNDS):
        for test in (EVERYTHING, *(TagLeaf(tags, mode) for mode in MODES)):
            scope = Scope(BANK, ALL_FACT_TYPES, test)
            await reads.mentioning(scope, ("e",), 1)
            await reads.together(*(reads.mentioning(scope, ("e",), 1) for _ in range(2)))
            await reads.together(reads.edges(scope, ("m",), 1), reads.subjects(BANK, ("m",)))
            alike = reads.edges(scope, ("m",), 1, (LinkKind.SEMANTIC, LinkKind.CAUSAL))
            await reads.together(alike, reads.mentioning(scope, ("e",), 1), reads.ties(BANK, ("m",), ("e",)))
            await reads.together(reads.mentioning(scope, ("e",), 1), reads.ties(BANK, ("m",), ("e",)))
        await reads.names(BANK, ("name",), ("na",))
        await reads.ties(BANK, ("m",), ("e",))
        await neo4j_reads.scan(ask, BANK, PageRequest())


async def _everything(change: neo4j_writes.Change) -> None:
    told = datetime(2000, 1, 1, tzinfo=UTC)
    for version in (1, 2):
        mentions = (Mention("e", "name", version=version),)
        entry = IndexEntry(
            "m",
            version,
            "",
            FactType.WORLD,
            mentions=mentions,
            causes=(CausalLink("o", 0.5),),
            mentioned=told,
            document_id="d",
        )
        await neo4j_writes.put(change, BANK, (Node(entry, (Alike("o", 0.8),)),))
    await neo4j_writes.delete(change, BANK, (Removal("m", 2),))
