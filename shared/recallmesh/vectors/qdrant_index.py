"""The port of the vector index over a collection of a Qdrant server."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeVar

import structlog

from recallmesh.core.arm import Indexed, IndexEntry, Removal
from recallmesh.core.errors import EmbeddingMismatch, MeshError, NotReady
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.vectors import VectorHit, VectorQuery
from recallmesh.vectors.beside import FEW, REMEDY
from recallmesh.vectors.payload import Point, point_of
from recallmesh.vectors.qdrant_collection import (
    MIGRATE,
    OLDEST_SERVER,
    SCHEMA,
    Found,
    collection_name,
    is_old,
    lacking,
    other_size,
    wrong_shape,
)
from recallmesh.vectors.qdrant_point import (
    HEAD,
    Mapped,
    all_of_bank,
    first_from,
    is_memory_id,
    mask_of,
    may_take_place,
    removed_before,
    removed_order,
    removed_point,
    shown_of_bank,
    stored_order,
    stored_point,
    turned,
    version_of,
)
from recallmesh.vectors.qdrant_query import Question
from recallmesh.vectors.qdrant_server import VectorServer

T = TypeVar("T")

POINTS_PER_CALL = 128
"""0.8 MB with two vectors of 768 dimensions: far below the server's limit, and other calls get between."""
QUERIES_PER_CALL = 64
KEPT_S = 30 * 24 * 3600
"""How long removals are remembered, in seconds. An older write is on its way for the length of one call; a point
without vectors keeps their place on the disk (3 KB with 384 dimensions), so it must not stay for ever."""
FORGET_EVERY_S = 3600
SCAN_MORE = 3
"""Rows read beyond a page: where it began, and one more group of ids whose first halves are the same."""
WIDER = 4

_log = structlog.get_logger("recallmesh.vectors")


class QdrantVectorIndex:
    """Fulfils ``VectorIndex`` over one collection, which several processes may have open at once.

    It never makes or changes the collection: as long as that is not as it must be, every call says so.
    """

    def __init__(
        self,
        server: VectorServer,
        *,
        prefix: str,
        fingerprint: str,
        dimensions: int,
        now: Callable[[], float],
        awaited: bool = False,
    ) -> None:
        """Use the collection of this model; ``now`` gives seconds since 1970.

        ``awaited``: that it holds less than another model's is no surprise.
        """
        self._server = server
        self._prefix = prefix
        self._fingerprint = fingerprint
        self._dimensions = dimensions
        self._name = collection_name(prefix, fingerprint, dimensions)
        self._now = now
        self._forgot_at = now()
        self._sound = False
        self._looked_beside = awaited

    async def search(self, queries: tuple[VectorQuery, ...]) -> tuple[tuple[VectorHit, ...], ...]:
        """Answer as many as fit into a call at once; those that end in a tie are asked again, wider."""
        for query in queries:
            if len(query.vector) != self._dimensions:
                raise EmbeddingMismatch(
                    f"a query vector has {len(query.vector)} dimensions, the index {self._dimensions}"
                )
        if not queries:
            return ()
        await self._check_once()
        questions = [Question(query) for query in queries]
        while waiting := [one for one in questions if one.answer is None]:
            await self._ask(waiting[:QUERIES_PER_CALL])
        return tuple(one.answer or () for one in questions)

    async def upsert(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """Store in parts; on an error the parts before it stay."""
        points = [point_of(bank_uid, entry, self._dimensions) for entry in entries]
        await self._check_once()
        newest: dict[str, Point] = {}
        for point in points:
            held = newest.get(point.memory_id)
            if held is None or point.version >= held.version:
                newest[point.memory_id] = point
        mask = mask_of(bank_uid)
        for part in _parts(list(newest.values()), POINTS_PER_CALL):
            rows = [(stored_order(point.version), stored_point(point, mask)) for point in part]
            await self._write(bank_uid, rows)

    async def delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Put in each one's place what remembers the version."""
        if not removals:
            return
        await self._check_once()
        latest: dict[str, int] = {}
        for one in removals:
            latest[one.memory_id] = max(one.version, latest.get(one.memory_id, one.version))
        mask, at = mask_of(bank_uid), int(self._now())
        for part in _parts(list(latest.items()), POINTS_PER_CALL):
            rows = [
                (removed_order(version), removed_point(bank_uid, memory_id, version, mask, at=at))
                for memory_id, version in part
            ]
            await self._write(bank_uid, rows)
        await self._forget()

    async def drop(self, bank_uid: str) -> None:
        """Take a bank out; its uid is never used again, so nothing of it is remembered."""
        await self._check_once()
        await self._noticing(self._server.delete(self._name, all_of_bank(bank_uid)))

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:
        """List by memory id; points lie in that order but for ids whose first halves are the same."""
        await self._check_once()
        mask, limit = mask_of(bank_uid), page.size + SCAN_MORE
        start = first_from(page.after) if is_memory_id(page.after) else None
        while True:
            found = await self._noticing(self._server.scroll(self._name, shown_of_bank(bank_uid), start, limit))
            is_all = len(found) < limit
            # The last group may go on beyond what was read.
            whole = found if is_all else [row for row in found if row[0][:HEAD] != found[-1][0][:HEAD]]
            rows = sorted((turned(name, mask), order) for name, order in whole)
            rows = [row for row in rows if row[0] > page.after]
            if is_all or len(rows) > page.size:
                break
            limit *= WIDER
        shown = tuple(Indexed(memory_id, version_of(order)) for memory_id, order in rows[: page.size])
        return Page(shown, shown[-1].memory_id if len(rows) > page.size else "")

    async def check(self) -> None:
        """Return if the server answers and the collection is as it must be.

        Raises:
            StoreUnavailable: it does not answer.
            NotReady: the server is too old, or the collection was never made, or is of another version.
            EmbeddingMismatch: the collection is of another vector size.

        """
        try:
            await self._check()
        except MeshError:
            self._sound = False
            raise
        self._sound = True

    async def _check(self) -> None:
        check_version(await self._server.version())
        found = await self._server.find(self._name)
        if found is None:
            await refuse_other_size(self._server, self._prefix, self._fingerprint, self._dimensions)
            raise NotReady(f"the collection of the vectors is not there; {MIGRATE}")
        check_shape(found, self._dimensions)
        if not self._looked_beside:
            self._looked_beside = True
            await self._tell_changed_model(found)

    async def _check_once(self) -> None:
        if not self._sound:
            await self.check()

    async def _noticing(self, work: Awaitable[T]) -> T:
        """Await a call; after one that the server's state did not allow, that is looked at anew."""
        try:
            return await work
        except NotReady:
            self._sound = False
            raise

    async def _ask(self, questions: Sequence[Question]) -> None:
        answers = await self._noticing(self._server.query(self._name, [one.mapped() for one in questions]))
        for question, found in zip(questions, answers, strict=True):
            question.take(found)

    async def _write(self, bank_uid: str, rows: Iterable[tuple[int, Mapped]]) -> None:
        # A condition is of a whole operation, so the points of each version are one; nearly always there is one.
        by_order: dict[int, list[Mapped]] = {}
        for order, point in rows:
            by_order.setdefault(order, []).append(point)
        operations = [
            {"upsert": {"points": points, "update_filter": may_take_place(bank_uid, order)}}
            for order, points in by_order.items()
        ]
        await self._noticing(self._server.update(self._name, operations))

    async def _forget(self) -> None:
        """Forget old removals now and then; where that fails, an hour later will do."""
        now = self._now()
        if now - self._forgot_at >= FORGET_EVERY_S:
            self._forgot_at = now
            with suppress(MeshError):
                await self._server.delete(self._name, removed_before(int(now - KEPT_S)), wait=False)

    async def _tell_changed_model(self, own: Found) -> None:
        """Warn, with what to do, where the model was changed and its vectors are not made yet."""
        try:
            names = [name for name in await self._server.names() if name.startswith(f"{self._prefix}-")]
            others = [found for name in names if name != own.name and (found := await self._server.find(name))]
        except MeshError:
            return  # a key for this collection alone: nothing can be told of others
        most = max(others, key=lambda found: found.points, default=None)
        if most is not None and own.points < most.points * FEW:
            _log.warning(
                "the embedding model was changed, and few memories have its vectors",
                model=self._fingerprint,
                vectors=own.points,
                former_model=most.fingerprint,
                former_vectors=most.points,
                remedy=REMEDY.format(folder=f"the collection {most.name}"),
            )


def check_version(version: str) -> None:
    """Return if a server is new enough.

    Raises:
        NotReady: it is not.

    """
    if is_old(version):
        oldest = ".".join(map(str, OLDEST_SERVER))
        raise NotReady(f"the vector server is Qdrant {version}; {oldest} or newer is needed")


def check_shape(found: Found, dimensions: int) -> None:
    """Return if a collection is as it must be.

    Raises:
        EmbeddingMismatch: its vectors are of another size or kind.
        NotReady: it is of another version, or lacks an index.

    """
    if wrong := wrong_shape(found, dimensions):
        raise EmbeddingMismatch(
            f"the collection {found.name} cannot hold the vectors: {wrong}. Set the embedder back, or another prefix"
        )
    if found.schema > SCHEMA:
        raise NotReady(f"a newer recallmesh made the collection {found.name}: update this one")
    if found.schema < SCHEMA or lacking(found):
        raise NotReady(f"the collection {found.name} is not as this version needs it; {MIGRATE}")


async def refuse_other_size(server: VectorServer, prefix: str, fingerprint: str, dimensions: int) -> None:
    """Return if no collection has vectors of this model in another size: that is a fault, not another model.

    Raises:
        EmbeddingMismatch: one has.

    """
    size = other_size(await server.names(), prefix, fingerprint, dimensions)
    if size is not None:
        raise EmbeddingMismatch(
            f"the vectors were made for {fingerprint} with {size} dimensions, not with {dimensions}"
        )


def _parts(rows: list[T], size: int) -> Iterable[list[T]]:
    return (rows[first : first + size] for first in range(0, len(rows), size))
