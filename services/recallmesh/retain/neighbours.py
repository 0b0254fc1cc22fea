"""Near twins: which memories of a scope could say what a fact says, by the arms' lists interleaved (SPEC R23)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recallmesh.core.arm import Arm, ArmName, ArmQuery, Hit, Vector
from recallmesh.core.encoder import Embedder, EmbedKind
from recallmesh.core.interleaving import interleave, ranks_of
from recallmesh.core.memory import Memory
from recallmesh.core.scope import Scope

PER_ARM = 10
"""How many hits of each fact type an arm gives: near twins are its first."""
QUERY_WORDS = 64
"""How much of a fact is asked for by its words; a document's page as a query would read half the index."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A fact in one of its scopes."""

    fact: Memory
    scope: Scope


@dataclass(frozen=True, slots=True)
class Near:
    """What lies near a fact in a scope: memory ids, nearest first, and the cosines of those that were compared."""

    ids: tuple[str, ...] = ()
    cosines: Mapping[str, float] = field(default_factory=dict)


class Neighbourhood:
    """Searches a scope by words and by meaning.

    By words first: a vector costs more than everything else of consolidation, and a fact whose words nobody shares has
    no twin that only words would recognise.
    """

    def __init__(self, arms: Mapping[ArmName, Arm], embedder: Embedder) -> None:
        """Search by these of the arms that there are: semantic and keyword."""
        self._arms = arms
        self._embedder = embedder

    async def by_words(self, bank_uid: str, asked: Sequence[Asked]) -> tuple[tuple[Hit, ...], ...]:
        """Return the keyword arm's hits for each."""
        return tuple(await asyncio.gather(*(self._search(ArmName.KEYWORD, bank_uid, one, None) for one in asked)))

    async def interleaved(
        self, bank_uid: str, asked: Sequence[Asked], worded: Sequence[tuple[Hit, ...]], *, wanted: Sequence[bool]
    ) -> tuple[Near, ...]:
        """Return what lies near each; by meaning too where that is ``wanted``.

        Raises:
            StoreUnavailable: an arm or the embedder does not answer.

        """
        texts = tuple(dict.fromkeys(one.fact.text for one, is_wanted in zip(asked, wanted, strict=True) if is_wanted))
        vectors = await self.embed(texts)
        meant = await asyncio.gather(
            *(
                self._search(ArmName.SEMANTIC, bank_uid, one, vectors[one.fact.text]) if is_wanted else _nothing()
                for one, is_wanted in zip(asked, wanted, strict=True)
            )
        )
        return tuple(
            _near(one.fact.id, {ArmName.SEMANTIC: near, ArmName.KEYWORD: words})
            for one, near, words in zip(asked, meant, worded, strict=True)
        )

    async def embed(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors of texts."""
        if not texts:
            return {}
        return dict(zip(texts, await self._embedder.embed(tuple(texts), EmbedKind.PASSAGE), strict=True))

    async def _search(self, name: ArmName, bank_uid: str, asked: Asked, vector: Vector | None) -> tuple[Hit, ...]:
        if name not in self._arms:
            return ()
        text = " ".join(asked.fact.text.split()[:QUERY_WORDS])
        query = ArmQuery(bank_uid, text, vector=vector, tags=asked.scope.test, limit=PER_ARM)
        return await self._arms[name].search(query)


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of unit vectors."""
    return sum(a * b for a, b in zip(one, other, strict=True))


def _near(own: str, found: Mapping[ArmName, tuple[Hit, ...]]) -> Near:
    order = interleave({name: ranks_of(hits) for name, hits in found.items()})
    cosines = {hit.memory_id: hit.score for hit in found[ArmName.SEMANTIC]}
    return Near(tuple(one for one in order if one != own), cosines)


async def _nothing() -> tuple[Hit, ...]:
    return ()
