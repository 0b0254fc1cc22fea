"""Filling a bank far and fast: the whole path of retain, but for two things that would take hours.

What a new memory is like is looked for among the few thousand before it, not in the whole bank; and no vector graph is
built on the way, but one at each stop. All else is what retain does: ledger, outbox, words, graph and vectors, each
durable in its turn, and every call by a request id, so that a load that was stopped goes on where it was.
"""

import asyncio
import os
import shutil
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.hashed import DIMENSIONS, HashedEmbedder
from recallmesh.core.arm import Indexed, IndexEntry, Removal
from recallmesh.core.encoder import EmbedderInfo
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.vectors import VectorHit, VectorIndex, VectorQuery
from recallmesh.mesh import Assembly
from recallmesh.models import Role
from recallmesh.settings import Settings, load_settings
from recallmesh.telemetry.metrics import Metrics
from recallmesh.vectors.payload import TYPES, point_of
from recallmesh.vectors.shelf import Shelf, open_shelf, shelf_name

NEVER = 2**40
"""Points from which graphs are built while a bank is filled: more than there will be."""
RECENT = 4_096
"""Memories among which a new one's likes are looked for."""
PATIENT_S = 3_600.0
"""A load that is stopped for minutes, to let something else be measured, fails for nothing."""


def patient(folder: Path) -> Settings:
    """Return settings whose deadlines a stopped process does not miss."""
    arms = {name: {"timeout_s": PATIENT_S} for name in ("semantic", "keyword", "graph", "temporal", "bank", "embedder")}
    retain = {"timeout_s": PATIENT_S, "arm_timeout_s": PATIENT_S, "outbox_lease_s": PATIENT_S}
    return load_settings(data=folder, retain=retain, **arms)


class FillingVectors:
    """The vectors' shelf in this process: it only takes in, and finds what is alike among the newest alone."""

    def __init__(self, shelf: Shelf, thread: Executor) -> None:
        """Write to an open shelf, in the one thread that opened it."""
        self._shelf = shelf
        self._thread = thread
        self._rows: deque[tuple[str, str]] = deque(maxlen=RECENT)
        self._ring = np.zeros((RECENT, DIMENSIONS), np.float32)
        self._names: list[tuple[str, str, str]] = [("", "", "")] * RECENT
        self._next = 0

    async def search(self, queries: tuple[VectorQuery, ...]) -> tuple[tuple[VectorHit, ...], ...]:
        """Answer from the newest of the bank."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: tuple(self._likes(queries)))

    async def upsert(self, bank_uid: str, entries: tuple[IndexEntry, ...]) -> None:
        """Store, and remember as the newest."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._store, bank_uid, entries)

    async def delete(self, bank_uid: str, removals: tuple[Removal, ...]) -> None:
        """Nothing is taken out while a bank is filled."""

    async def drop(self, bank_uid: str) -> None:
        """No bank is dropped while one is filled."""

    async def scan(self, bank_uid: str, page: PageRequest) -> Page[Indexed]:  # noqa: ARG002 -- as the port
        """Nobody compares meanwhile."""
        return Page((), "")

    async def check(self) -> None:
        """The shelf is open."""

    def _store(self, bank_uid: str, entries: Sequence[IndexEntry]) -> None:
        self._shelf.upsert(bank_uid, tuple(point_of(bank_uid, entry, DIMENSIONS) for entry in entries))
        self._shelf.rest()
        for entry in entries:
            self._ring[self._next] = entry.vector
            self._names[self._next] = (bank_uid, entry.memory_id, entry.fact_type.value)
            self._next = (self._next + 1) % RECENT

    def _likes(self, queries: Sequence[VectorQuery]) -> Iterator[tuple[VectorHit, ...]]:
        cosines = np.asarray([query.vector for query in queries], np.float32) @ self._ring.T
        for query, row in zip(queries, cosines, strict=True):
            floor = -1.0 if query.min_score is None else query.min_score
            near = np.flatnonzero(row >= floor)
            hits = [
                VectorHit(self._names[at][1], float(row[at]), TYPES[self._names[at][2]])
                for at in near[np.argsort(-row[near])].tolist()
                if self._names[at][0] == query.bank_uid and self._names[at][1] not in query.exclude
            ]
            yield tuple(hits[: query.limit])


@dataclass(slots=True)
class FillingAssembly(Assembly):
    """The mesh in this process, over vectors that are given."""

    given_vectors: VectorIndex | None = None

    async def vectors(self, role: Role = Role.MAIN) -> VectorIndex:
        """Return those that were given."""
        if self.given_vectors is None:
            return await Assembly.vectors(self, role)
        return self.given_vectors


@asynccontextmanager
async def open_filling(settings: Settings, embedder: HashedEmbedder) -> AsyncIterator[Assembly]:
    """Open the mesh for a load."""
    info = await embedder.info()
    with ThreadPoolExecutor(1, thread_name_prefix="shelf") as thread:
        loop, opening = asyncio.get_running_loop(), open_vectors_shelf(settings, info, NEVER)
        shelf = await loop.run_in_executor(thread, opening.__enter__)
        try:
            async with AsyncExitStack() as stack:
                vectors = FillingVectors(shelf, thread)
                yield FillingAssembly(
                    settings, frozenset(), stack, Metrics(), embedder, None, None, given_vectors=vectors
                )
        finally:
            await loop.run_in_executor(thread, opening.__exit__, None, None, None)


def build_graphs(settings: Settings, info: EmbedderInfo) -> tuple[float, float]:
    """Build what graphs are due, as the vectors' worker does when it rests; returns CPU and wall seconds."""
    path = settings.data / settings.semantic.path
    home = path / shelf_name(info.fingerprint)
    cpu, wall = _children_s(), time.monotonic()
    with _shelf(path, info, settings.semantic.index_from) as shelf:
        shelf.rest()
        while len(list(home.glob("shard-*"))) > 1:
            time.sleep(1)
            shelf.rest()
    return _children_s() - cpu, time.monotonic() - wall


def take_snapshot(data: Path, target: Path) -> None:
    """Copy a closed mesh's folder, whole or not at all."""
    partial = target.with_name(f"{target.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(data, partial)
    partial.replace(target)


@contextmanager
def open_vectors_shelf(settings: Settings, info: EmbedderInfo, index_from: int) -> Iterator[Shelf]:
    """Open the shelf of a mesh that is closed, made as it is to be searched where there is none."""
    path = settings.data / settings.semantic.path
    with _shelf(path, info, settings.semantic.index_from):
        pass
    with _shelf(path, info, index_from) as shelf:
        yield shelf


@contextmanager
def _shelf(path: Path, info: EmbedderInfo, index_from: int) -> Iterator[Shelf]:
    with open_shelf(
        path, fingerprint=info.fingerprint, dimensions=info.dimensions, index_from=index_from, lock_wait_s=5.0
    ) as shelf:
        yield shelf


def _children_s() -> float:
    told = os.times()
    return told.children_user + told.children_system
