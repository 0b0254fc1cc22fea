"""The keyword arm: memories that share words with the query, by BM25."""

from recallmesh.core.arm import ArmQuery, Hit, Indexed, IndexEntry, Removal, hit_of
from recallmesh.core.page import Page, PageRequest
from recallmesh.keyword.dates import date_words
from recallmesh.keyword.store import KeywordDocument, KeywordHit, KeywordQuery, KeywordStore

_SHOWN_WORDS = 4
"""Matched words told of a hit; the rarest come first, so these say the most."""


class KeywordArm:
    """Searches a ``KeywordStore``; needs no vector, so it answers when no embedder does."""

    def __init__(self, store: KeywordStore, *, language: str = "english") -> None:
        """Search this store; dates are put into words in the given language."""
        self._store = store
        self._language = language

    async def search(self, query: ArmQuery) -> tuple[Hit, ...]:
        """Return the memories that share words with the text, best first; vector and window are not looked at."""
        hits = await self._store.search(
            KeywordQuery(
                query.bank_uid,
                query.text,
                fact_types=query.fact_types,
                tags=query.tags,
                limit=query.limit,
                min_score=query.min_score,
                explained=query.explained,
            )
        )
        if not query.explained:
            return tuple([hit_of((hit.memory_id, hit.score, "", None)) for hit in hits])
        return tuple([hit_of((hit.memory_id, hit.score, _because(hit), None)) for hit in hits])

    async def index(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """Store the words of the entries, of their entities, their tags and their time."""
        await self._store.upsert(bank_uid, tuple(self._document(entry) for entry in entries))

    async def remove(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Take memories out."""
        await self._store.delete(bank_uid, removals)

    async def drop(self, bank_uid: str) -> None:
        """Take a whole bank out."""
        await self._store.drop(bank_uid)

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List what is indexed of a bank, by memory id."""
        return await self._store.scan(bank_uid, page)

    async def check(self) -> None:
        """Return if the store can work now."""
        await self._store.check()

    def _document(self, entry: IndexEntry) -> KeywordDocument:
        return KeywordDocument(
            entry.memory_id,
            entry.version,
            entry.fact_type,
            entry.text,
            tags=entry.tags,
            names=tuple(name for mention in entry.mentions for name in (mention.name, *mention.aliases)),
            labels=entry.tags,
            dates=date_words(entry.occurred, entry.mentioned, self._language),
        )


def _because(hit: KeywordHit) -> str:
    return ", ".join(hit.matched[:_SHOWN_WORDS])
