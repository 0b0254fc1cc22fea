"""What the ledger's contract tests stand on: a ledger of each backend, and short ways to say what is written."""

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from databases import database
from sqlalchemy import Connection, make_url

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import Bank, BankRef, BankStats
from recallmesh.core.document import Chunk, Document
from recallmesh.core.ledger import Ledger, MemoryFilter
from recallmesh.core.memory import FactType, Memory, Mention
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import UpdateMode
from recallmesh.core.write import ChunkWrite, Commit, DocumentWrite, NewEntity, OutboxRow, RequestRecord, Write
from recallmesh.ledger.database import backend_of
from recallmesh.ledger.sql import open_ledger

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
"""When no write's rows are its own any more."""
ARMS = (ArmName.KEYWORD, ArmName.GRAPH)
MINUTE = timedelta(minutes=1)


def uid() -> str:
    return str(uuid4())


def entity(name: str, *aliases: str, kind: str = "person") -> NewEntity:
    """An entity under a provisional id that tells its name."""
    return NewEntity(f"new:{name}", name, name.casefold(), kind, aliases)


def fact(text: str, *entities: NewEntity, **parts) -> Memory:
    mentions = tuple(Mention(one.id, one.name, one.kind) for one in entities)
    return Memory(uid(), text, FactType.WORLD, NOW, mentions=mentions, tokens=len(text.split()), **parts)


def chunk(digest: str, *facts: Memory | str, known: bool = False) -> ChunkWrite:
    """A chunk and its memories; the ledger names the document, the number and the places."""
    memories = tuple(fact(one) if isinstance(one, str) else one for one in facts)
    return ChunkWrite(Chunk(uid(), "", 0, f"text of {digest}", 10, digest), memories, known)


@dataclass
class Bed:
    """A ledger with one bank."""

    ledger: Ledger
    bank: Bank

    @property
    def uid(self) -> str:
        return self.bank.uid

    async def write(
        self,
        document_id: str,
        *chunks: ChunkWrite,
        mode: UpdateMode = UpdateMode.REPLACE,
        entities: Iterable[NewEntity] = (),
        request: RequestRecord | None = None,
        at: datetime = NOW,
    ) -> Commit:
        document = DocumentWrite(Document(document_id, at, at), mode, chunks)
        return await self.ledger.commit(Write(self.uid, (document,), tuple(entities), ARMS, at, request))

    async def append(self, document_id: str, *chunks: ChunkWrite, **parts) -> Commit:
        return await self.write(document_id, *chunks, mode=UpdateMode.APPEND, **parts)

    async def memories(self, **parts) -> tuple[Memory, ...]:
        """All memories in the order of their places."""
        page = await self.ledger.list_memories(self.uid, MemoryFilter(**parts), PageRequest(1000))
        return tuple(sorted(page.rows, key=lambda memory: (memory.document_id, memory.position)))

    async def memory(self, memory_id: str) -> Memory:
        [found] = await self.ledger.read(self.uid, (memory_id,))
        return found

    async def lease(self, arm=ArmName.GRAPH, *, limit: int = 100, now: datetime = LATER) -> tuple[OutboxRow, ...]:
        return await self.ledger.lease_outbox("worker", arm, limit=limit, lease=MINUTE, now=now)

    async def deliver(self, arms=ARMS, *, now: datetime = LATER) -> list[tuple[str, str, int]]:
        """Settle all that is due of the arms; returns what it was, in order."""
        seen = []
        for arm in arms:
            while rows := await self.lease(arm, now=now):
                seen.extend((row.action.value, row.memory_id, row.version) for row in rows)
                await self.ledger.settle_outbox(tuple(row.seq for row in rows))
        return seen

    async def stats(self) -> BankStats:
        return await self.ledger.bank_stats(self.uid)


async def new_bank(ledger: Ledger, bank_id: str = "bank", tenant: str = "default") -> Bank:
    return await ledger.create_bank(Bank(BankRef(bank_id, tenant), uid(), NOW))


@dataclass(frozen=True)
class Backend:
    """A database of one kind, empty at first; may be opened again and again, also twice at once."""

    url: str

    @property
    def kind(self) -> str:
        return make_url(self.url).get_backend_name()

    def open(self, **parts) -> AbstractAsyncContextManager[Ledger]:
        return open_ledger(self.url, **parts)

    def connect(self) -> AbstractContextManager[Connection]:
        """Reach into the database past the ledger."""
        return reach(self.url)


@contextmanager
def reach(url: str) -> Iterator[Connection]:
    engine = backend_of(url).engine(writes=True)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


KINDS = ("sqlite", pytest.param("postgres", marks=pytest.mark.stores))


@contextmanager
def made(kind: str, folder: Path, *, migrated: bool) -> Iterator[Backend]:
    """A new database; one in a file is migrated when it is opened."""
    if kind == "sqlite":
        yield Backend(f"sqlite:///{folder}/new/folder/ledger.db")
    else:
        with database(migrated=migrated) as url:
            yield Backend(url)


@pytest.fixture(params=KINDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    with made(request.param, tmp_path, migrated=True) as backend:
        yield backend


@pytest.fixture(params=KINDS)
def bare(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """A database that was never migrated."""
    with made(request.param, tmp_path, migrated=False) as backend:
        yield backend


@asynccontextmanager
async def open_bed(backend: Backend) -> AsyncIterator[Bed]:
    async with backend.open() as ledger:
        yield Bed(ledger, await new_bank(ledger))


@pytest.fixture
async def bed(backend: Backend) -> AsyncIterator[Bed]:
    async with open_bed(backend) as made:
        yield made
