"""The keyword store in this process: postings in memory, the truth in SQLite."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from recallmesh.core.arm import Indexed, Removal
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.page import Page, PageRequest
from recallmesh.keyword.analysis import Analyser
from recallmesh.keyword.defaults import RANKING, RESIDENT_MEMORIES, Ranking
from recallmesh.keyword.postings import Postings, StoredMemory
from recallmesh.keyword.ranking import Terms, fingerprint, terms_of
from recallmesh.keyword.store import KeywordDocument, KeywordHit, KeywordQuery
from recallmesh.keyword.table import MemoryTable, layout_of, translated

WARM_MEMORIES = 50_000
"""Memories whose banks are read at once when the store is opened: about a second of one thread beside the calls."""
SEARCH_THREADS = 2
"""Python computes in one thread at a time: more of them only make each search slower."""
T = TypeVar("T")


@dataclass(slots=True)
class _Bank:
    postings: Postings
    lock: threading.Lock = field(default_factory=threading.Lock)


class EmbeddedKeywordStore:
    """A ``KeywordStore`` over one SQLite file.

    Writes are durable when they return, survive a killed process and are found by the next search. The words of a bank
    are read into memory at its first search; the banks searched longest ago are let go when there are too many.
    """

    def __init__(self, table: MemoryTable, *, ranking: Ranking, language: str, resident_memories: int) -> None:
        """Work on an open table; ``open_embedded_keyword_store`` is the way to get one."""
        self._table = table
        self._ranking = ranking
        self._analyser = Analyser(language)
        self._made = layout_of(fingerprint(language))
        self._resident_memories = resident_memories
        self._table_lock = threading.Lock()  # taken before a bank's lock, never after it
        self._banks: OrderedDict[str, _Bank] = OrderedDict()  # the one searched longest ago first
        self._banks_lock = threading.Lock()  # the innermost
        self._searching = ThreadPoolExecutor(SEARCH_THREADS, thread_name_prefix="keyword-search")
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="keyword-write")
        self._closed = False

    async def search(self, query: KeywordQuery) -> tuple[KeywordHit, ...]:
        """Return the hits, best first, equal scores by memory id."""
        return await self._run(self._searching, lambda: self._search(query))

    async def upsert(self, bank_uid: str, documents: tuple[KeywordDocument, ...]) -> None:
        """Store documents durably, all or none."""
        await self._run(self._writing, lambda: self._upsert(bank_uid, documents))

    async def delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Take memories out and remember it."""
        await self._run(self._writing, lambda: self._delete(bank_uid, removals))

    async def drop(self, bank_uid: str) -> None:
        """Take a whole bank out."""
        await self._run(self._writing, lambda: self._drop(bank_uid))

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List what is stored of a bank, by memory id."""
        return await self._run(self._searching, lambda: self._scan(bank_uid, page))

    async def check(self) -> None:
        """Return if the file can be read."""
        await self._run(self._searching, self._check)

    async def renew(self) -> None:
        """Analyse all memories anew if their terms were made in another way than this store makes them."""
        await self._run(self._writing, self._renew)

    def warm(self) -> "Future[None]":
        """Begin to read the banks written last, beside all else, so that their first search need not."""
        return self._searching.submit(self._warm)

    async def close(self) -> None:
        """Finish what is under way and close the file."""
        self._closed = True
        await asyncio.to_thread(self._close)

    async def _run(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        if self._closed:
            raise StoreUnavailable("the keyword store is closed")
        return await asyncio.get_running_loop().run_in_executor(threads, work)

    def _search(self, query: KeywordQuery) -> tuple[KeywordHit, ...]:
        bank = self._resident(query.bank_uid) or self._load(query.bank_uid)
        with bank.lock:
            languages = bank.postings.languages
        asked = self._analyser.query(query.text, languages)
        if not asked:
            return ()
        with bank.lock:
            return bank.postings.search(query, asked)

    def _upsert(self, bank_uid: str, documents: tuple[KeywordDocument, ...]) -> None:
        analysed = [(document, terms_of(document, self._analyser)) for document in documents]
        written: list[tuple[KeywordDocument, Terms, Terms | None]] = []
        with self._table_lock:
            with self._table.transaction():
                for document, terms in analysed:
                    known = self._table.known(bank_uid, document.memory_id)
                    if known is not None and document.version < known.version + (not known.live):
                        continue
                    self._table.put(bank_uid, document, terms)
                    written.append((document, terms, None if known is None else known.terms))
            self._change(bank_uid, lambda postings: _replace(postings, written))

    def _delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        removed: list[tuple[str, Terms]] = []
        with self._table_lock:
            with self._table.transaction():
                for removal in removals:
                    known = self._table.known(bank_uid, removal.memory_id)
                    if known is not None and removal.version < known.version:
                        continue
                    self._table.bury(bank_uid, removal.memory_id, removal.version)
                    if known is not None:
                        removed.append((removal.memory_id, known.terms))
            self._change(bank_uid, lambda postings: _discard(postings, removed))

    def _drop(self, bank_uid: str) -> None:
        with self._table_lock:
            with self._table.transaction():
                self._table.drop(bank_uid)
            with self._banks_lock:
                self._banks.pop(bank_uid, None)

    def _scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        with self._table_lock:
            return self._table.scan(bank_uid, page)

    def _check(self) -> None:
        with self._table_lock:
            self._table.about()

    def _renew(self) -> None:
        with self._table_lock:
            if self._table.about() == self._made:
                return
            with self._table.transaction():
                for bank_uid, document in self._table.documents():
                    self._table.put(bank_uid, document, terms_of(document, self._analyser))
                self._table.set_about(self._made)

    def _change(self, bank_uid: str, change: Callable[[Postings], None]) -> None:
        """Bring a resident bank's postings up to what was just committed; the table lock is held."""
        with self._banks_lock:
            bank = self._banks.get(bank_uid)
        if bank is None:
            return
        with bank.lock:
            change(bank.postings)
            wasteful = bank.postings.wasteful
        if wasteful:
            with self._banks_lock:
                self._banks.pop(bank_uid, None)  # read anew at its next search

    def _resident(self, bank_uid: str) -> _Bank | None:
        with self._banks_lock:
            bank = self._banks.get(bank_uid)
            if bank is not None:
                self._banks.move_to_end(bank_uid)
            return bank

    def _load(self, bank_uid: str) -> _Bank:
        with self._table_lock:  # no write may fall between reading the rows and being told of changes
            bank = self._resident(bank_uid)
            if bank is not None:
                return bank
            with translated():
                bank = _Bank(Postings(self._ranking, self._table.live(bank_uid)))
            if len(bank.postings):  # an unknown bank is not remembered: anyone can name thousands
                self._keep(bank_uid, bank)
            return bank

    def _warm(self) -> None:
        with self._table_lock:
            banks = self._table.banks()
        room = min(WARM_MEMORIES, self._resident_memories)
        for bank_uid, memories in banks:
            room -= memories
            if room < 0 or self._closed:
                return
            self._load(bank_uid)

    def _keep(self, bank_uid: str, bank: _Bank) -> None:
        with self._banks_lock:
            self._banks[bank_uid] = bank
            held = sum(len(other.postings) for other in self._banks.values())
            while held > self._resident_memories and len(self._banks) > 1:
                _, oldest = self._banks.popitem(last=False)
                held -= len(oldest.postings)

    def _close(self) -> None:
        self._searching.shutdown(cancel_futures=True)
        self._writing.shutdown()
        self._table.close()


@asynccontextmanager
async def open_embedded_keyword_store(
    path: Path,
    *,
    language: str = "english",
    k1: float = RANKING.k1,
    b: float = RANKING.b,
    function_words: float = RANKING.function_words,
    name_weight: float = RANKING.names,
    label_weight: float = RANKING.labels,
    date_weight: float = RANKING.dates,
    resident_memories: int = RESIDENT_MEMORIES,
) -> AsyncIterator[EmbeddedKeywordStore]:
    """Open the store in the file at this path, made with its folder if it is not there.

    The defaults and their meaning are those of ``Ranking``.

    Raises:
        StoreUnavailable: the file cannot be opened, is no store, or another process has it.

    """
    table = await asyncio.to_thread(_open_table, path)
    ranking = Ranking(k1, b, function_words, name_weight, label_weight, date_weight)
    store = EmbeddedKeywordStore(table, ranking=ranking, language=language, resident_memories=resident_memories)
    try:
        await store.renew()
        store.warm()
        yield store
    finally:
        await store.close()


def _open_table(path: Path) -> MemoryTable:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable("the keyword store's folder cannot be made") from error
    return MemoryTable(path)


def _replace(postings: Postings, written: list[tuple[KeywordDocument, Terms, Terms | None]]) -> None:
    for document, terms, before in written:
        if before is not None:
            postings.discard(document.memory_id, before)
        postings.add(StoredMemory(document.memory_id, document.fact_type, document.tags, terms))


def _discard(postings: Postings, removed: list[tuple[str, Terms]]) -> None:
    for memory_id, terms in removed:
        postings.discard(memory_id, terms)
