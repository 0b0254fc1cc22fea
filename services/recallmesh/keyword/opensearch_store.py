"""The keyword store on an OpenSearch server: what is asked, in which order, and what becomes of failures."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from recallmesh.core.arm import Indexed, Removal
from recallmesh.core.errors import InternalFault, MeshError, NotReady, StoreUnavailable
from recallmesh.core.page import Page, PageRequest
from recallmesh.keyword.analysis import Analyser, QueryTerm
from recallmesh.keyword.opensearch_index import Names, Row, Shape, batches, document_rows, removal_rows
from recallmesh.keyword.opensearch_query import (
    HITS_PATH,
    SCAN_PATH,
    STATISTICS_PATH,
    Clause,
    Statistics,
    forms_of,
    hits_of,
    page_of,
    scan_body,
    search_of,
    statistics_body,
    statistics_of,
)
from recallmesh.keyword.opensearch_request import DROP_TIMEOUT_S, TIMEOUT_S, WRITE_TIMEOUT_S, Answer, Body, Requests
from recallmesh.keyword.opensearch_silence import Silence
from recallmesh.keyword.opensearch_state import NOT_MIGRATED, current, refused
from recallmesh.keyword.store import KeywordDocument, KeywordHit, KeywordQuery

VERIFIED_S = 10.0
"""How long searches believe that the index is this process's: a migration to another shape is noticed within this."""
KNOWN_BANKS = 10_000
"""Banks whose languages are remembered, which saves a request; what is remembered wrongly costs one."""
_ROUNDS = 10
_PAUSE_S = 0.2
_CONFLICT = 409
"""The status of what met something newer: it is old news, and that is well."""
_log = structlog.get_logger("recallmesh.keyword")


def refusal(status: int, kind: str) -> MeshError:
    """Return the error that an answer of this HTTP status, with this type of OpenSearch's, is."""
    if kind == "cluster_block_exception":
        return StoreUnavailable("the keyword store takes no writes; its disk may be full")
    match status:
        case 404:
            return NotReady(NOT_MIGRATED)
        case 401 | 403:
            return StoreUnavailable("the keyword store refuses this service's credential")
        case 429:
            return StoreUnavailable("the keyword store has too much to do")
        case 400:
            return InternalFault(f"the keyword store refused a request: {kind}")
        case _:
            return StoreUnavailable("the keyword store cannot answer now")


class OpenSearchKeywordStore:
    """A ``KeywordStore`` on an OpenSearch server.

    Terms are those of the embedded store, and so is BM25F over them, with the statistics of the bank alone: they are
    asked for with the first of two requests of a search. Writes are durable and found when they return; one that fails
    may have stored part of its documents.
    """

    def __init__(self, requests: Requests, *, names: Names, shape: Shape, timeout_s: float = TIMEOUT_S) -> None:
        """Work by an open client; ``open_opensearch_keyword_store`` is the way to get one."""
        self._requests = requests
        self._timeout_s = timeout_s
        self._names = names
        self._shape = shape
        self._analyser = Analyser(shape.language)
        self._languages: OrderedDict[str, tuple[str, ...]] = OrderedDict()  # the bank told of longest ago first
        self._verified_until = 0.0
        self._silence = Silence()

    async def search(self, query: KeywordQuery) -> tuple[KeywordHit, ...]:
        """Return the hits, best first, equal scores by memory id."""
        await self._verify()
        with self._suspecting():
            asked, statistics = await self._asked(query)
            if not asked or not query.fact_types:
                return ()
            search = await asyncio.to_thread(search_of, query, asked, statistics, self._shape.ranking)
            if search is None:
                return ()
            answer = await self._ask("_msearch", search.lines, filter_path=HITS_PATH)
            for response in answer["responses"]:
                if "error" in response:
                    raise _told("keyword.search_refused", response)
            return hits_of(answer, search)

    async def upsert(self, bank_uid: str, documents: tuple[KeywordDocument, ...]) -> None:
        """Store documents durably."""
        rows = await asyncio.to_thread(document_rows, bank_uid, documents, self._analyser, self._shape)
        await self._write(bank_uid, rows)

    async def delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Take memories out and remember it."""
        await self._write(bank_uid, removal_rows(bank_uid, removals))

    async def drop(self, bank_uid: str) -> None:
        """Take a whole bank out."""
        await self._look()
        with self._suspecting():
            await self._ask("_refresh", timeout_s=WRITE_TIMEOUT_S)
            for _ in range(_ROUNDS):
                answer = await self._ask(
                    "_delete_by_query",
                    {"query": {"term": {"bank": bank_uid}}},
                    timeout_s=DROP_TIMEOUT_S,
                    routing=bank_uid,
                    conflicts="proceed",
                    refresh="true",
                )
                if not answer["version_conflicts"]:
                    return
        raise StoreUnavailable("others write into the bank that is to be dropped")

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List what is stored of a bank, by memory id."""
        await self._verify()
        with self._suspecting():
            body = scan_body(bank_uid, page)
            return page_of(await self._find(bank_uid, body, filter_path=SCAN_PATH), page)

    async def check(self) -> None:
        """Return if the server answers, and has an index of this process's shape that can be searched."""
        await self._look(patiently=True)
        await self._ask("_search", {"size": 0, "terminate_after": 1}, allow_partial_search_results="false")

    async def _asked(self, query: KeywordQuery) -> tuple[tuple[QueryTerm, ...], Statistics]:
        """Return the query's words and what the bank has of them, in the languages of the bank."""
        expected = self._languages.get(query.bank_uid, (self._shape.language,))
        asked, statistics = await self._counted(query, expected)
        if statistics.languages and statistics.languages != expected:
            self._languages[query.bank_uid] = statistics.languages
            if len(self._languages) > KNOWN_BANKS:
                self._languages.popitem(last=False)
            asked, statistics = await self._counted(query, statistics.languages)
        return asked, statistics

    async def _counted(
        self, query: KeywordQuery, languages: tuple[str, ...]
    ) -> tuple[tuple[QueryTerm, ...], Statistics]:
        asked = await asyncio.to_thread(self._analyser.query, query.text, languages)
        if not asked:
            return asked, Statistics(0, {}, ())
        forms = forms_of(asked)
        body = statistics_body(query.bank_uid, forms)
        return asked, statistics_of(await self._find(query.bank_uid, body, filter_path=STATISTICS_PATH), forms)

    async def _find(self, bank_uid: str, body: Clause, *, filter_path: str) -> Answer:
        return await self._ask(
            "_search",
            body,
            routing=bank_uid,
            allow_partial_search_results="false",
            filter_path=filter_path,
        )

    async def _write(self, bank_uid: str, rows: list[Row]) -> None:
        await self._look()
        with self._suspecting():
            for batch in batches(rows):
                # A refresh shows all that was written before it.
                await self._bring(bank_uid, batch, seen=batch[-1] is rows[-1])

    async def _bring(self, bank_uid: str, rows: list[Row], *, seen: bool) -> None:
        """Write rows unless there is something newer, and wait until they are seen."""
        for _ in range(_ROUNDS):
            answer = await self._ask(
                "_bulk",
                "".join(row.lines for row in rows),
                timeout_s=WRITE_TIMEOUT_S,
                require_alias="true",
                refresh="wait_for" if seen else "false",
                filter_path="items.*.status,items.*.error.type",
            )
            refused = _refused(rows, [item["index"] for item in answer["items"]])
            rows = await self._forgotten(bank_uid, refused) if refused else []
            if not rows:
                return
            await asyncio.sleep(_PAUSE_S)
        raise StoreUnavailable("the keyword store still remembers a bank that was dropped")

    async def _forgotten(self, bank_uid: str, rows: list[Row]) -> list[Row]:
        """Return those of which there is nothing: they were dropped a moment ago, and the server still knows when."""
        docs = [{"_id": row.id, "routing": bank_uid, "_source": False} for row in rows]
        answer = await self._ask("_mget", {"docs": docs}, filter_path="docs.found")
        return [row for row, told in zip(rows, answer["docs"], strict=True) if not told["found"]]

    async def _ask(self, what: str, body: Body = None, *, timeout_s: float | None = None, **params: str) -> Answer:
        path, limit_s = f"/{self._names.alias}/{what}", timeout_s or self._timeout_s
        return await self._requests.ask("POST", path, body, timeout_s=limit_s, **params)

    async def _verify(self) -> None:
        """Return if the mesh's index is of this process's shape, or was a moment ago."""
        if time.monotonic() >= self._verified_until:
            await self._look()

    async def _look(self, *, patiently: bool = False) -> None:
        """Return if the mesh's index is of this process's shape.

        Every write asks: the answer comes in a millisecond where a write takes fifty, a server that is paused is told
        from one that has much to do, and nothing is written into an index that is no longer the mesh's. One that lets
        us wait in vain is asked by one call at a time, and by who asks ``patiently``; to the others it is away.

        Raises:
            NotReady: it is not, or there is none; says what to do.
            StoreUnavailable: the server does not answer.

        """
        if self._silence.reigns and not patiently:
            raise StoreUnavailable("the keyword store does not answer")
        self._verified_until = 0.0
        with self._silence.listening():
            found = await current(self._requests, self._names, timeout_s=self._timeout_s)
        if found is None:
            raise NotReady(NOT_MIGRATED)
        if found.version != self._names.version:
            raise NotReady(refused(found, self._shape))
        self._verified_until = time.monotonic() + VERIFIED_S

    @contextmanager
    def _suspecting(self) -> Iterator[None]:
        """After a failure, or a call that was given up, have the next one look first: that is soon over."""
        well = False
        try:
            yield
            well = True
        finally:
            if not well:
                self._verified_until = 0.0


def _refused(rows: list[Row], items: list[dict[str, Any]]) -> list[Row]:
    """Return the rows that met something newer; raise the error of any other that was not stored."""
    failed = [item for item in items if "error" in item and item["status"] != _CONFLICT]
    if failed:
        raise _told("keyword.write_refused", failed[0], failed=len(failed), of=len(items))
    return [row for row, item in zip(rows, items, strict=True) if item["status"] == _CONFLICT]


def _told(event: str, answer: dict[str, Any], **more: int) -> MeshError:
    """Log what the server says of a part of a request, without its words: they may hold what was stored or asked."""
    kind = answer["error"].get("type", "")
    _log.warning(event, status=answer["status"], kind=kind, **more)
    return refusal(answer["status"], kind)
