"""The semantic arm: nearest memories by cosine; it alone writes the vectors that other arms read."""

from recallmesh.core.arm import ArmQuery, Hit, Indexed, IndexEntry, Removal, hit_of
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.vectors import VectorIndex, VectorQuery


class SemanticArm:
    """Fulfils ``Arm`` over a vector index. A hit's score is the cosine; a query without a vector has no hits."""

    def __init__(self, vectors: VectorIndex) -> None:
        """Search and write these vectors."""
        self._vectors = vectors

    async def search(self, query: ArmQuery) -> tuple[Hit, ...]:
        """Ask once for every fact type in one batch, so that no type crowds out another."""
        if query.vector is None or not query.fact_types:
            return ()
        questions = tuple(
            VectorQuery(
                bank_uid=query.bank_uid,
                vector=query.vector,
                fact_types=(fact_type,),
                tags=query.tags,
                limit=query.limit,
                min_score=query.min_score,
                times=False,
            )
            for fact_type in dict.fromkeys(query.fact_types)
        )
        answers = await self._vectors.search(questions)
        rows = sorted((-found.score, found.memory_id) for answer in answers for found in answer)
        return tuple([hit_of((memory_id, -score, "", None)) for score, memory_id in rows])

    async def index(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """Store the vectors."""
        await self._vectors.upsert(bank_uid, entries)

    async def remove(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Take the vectors out."""
        await self._vectors.delete(bank_uid, removals)

    async def drop(self, bank_uid: str) -> None:
        """Take all of a bank's vectors out."""
        await self._vectors.drop(bank_uid)

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List the memories that have vectors."""
        return await self._vectors.scan(bank_uid, page)

    async def check(self) -> None:
        """Return if the vectors can be searched."""
        await self._vectors.check()
