"""Opens the ledger on an SQL database; nothing else of this package is for others."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import uuid4

from recallmesh.core.errors import NotReady
from recallmesh.core.ledger import Ledger
from recallmesh.ledger.answers import once
from recallmesh.ledger.attachments import SqlAttachments
from recallmesh.ledger.banks import SqlBanks
from recallmesh.ledger.consolidation import SqlConsolidation
from recallmesh.ledger.database import Database, open_database
from recallmesh.ledger.entity_changes import SqlEntities
from recallmesh.ledger.events import SqlEvents
from recallmesh.ledger.export import SqlExports
from recallmesh.ledger.indexes import SqlIndexes
from recallmesh.ledger.jobs import SqlJobs
from recallmesh.ledger.memories import SqlMemories
from recallmesh.ledger.migration import current_revision, migrate_now
from recallmesh.ledger.operations import SqlOperations
from recallmesh.ledger.schema import HEAD
from recallmesh.ledger.versions import SqlHistory
from recallmesh.ledger.webhooks import SqlWebhooks
from recallmesh.ledger.writes import SqlWrites

READERS = 4
"""Threads and connections that read at once; SQLite scales with cores, and four arms recall in parallel."""
OWN_LEASE = timedelta(seconds=30)
"""How long a retain's outbox rows are its own to deliver; longer than a fan-out's deadline."""


def random_id() -> str:
    """Return a new UUID in canonical text."""
    return str(uuid4())


class SqlLedger(
    SqlBanks,
    SqlMemories,
    SqlEntities,
    SqlWrites,
    SqlJobs,
    SqlOperations,
    SqlEvents,
    SqlWebhooks,
    SqlExports,
    SqlIndexes,
    SqlAttachments,
    SqlConsolidation,
    SqlHistory,
):
    """The whole ledger on one SQL database; several processes may open the same."""

    def __init__(self, database: Database, *, new_id: Callable[[], str], own_lease: timedelta) -> None:
        """Work on an open database; ``new_id`` names writes, entities and operations."""
        self._database = database
        self._new_id = new_id
        self._own_for = own_lease

    async def check(self) -> None:
        """Return if the database answers and has the schema of this version."""
        if await self._database.read(current_revision) != HEAD:
            raise NotReady("the ledger's schema is not the one this version needs; it has to be migrated first")


@asynccontextmanager
async def open_ledger(
    url: str,
    *,
    migrate: bool = True,
    readers: int = READERS,
    own_lease: timedelta = OWN_LEASE,
    new_id: Callable[[], str] = random_id,
) -> AsyncIterator[Ledger]:
    """Open the ledger at an SQLAlchemy URL: ``sqlite:////path/ledger.db``, a file whose folder is made when missing.

    Raises:
        NotReady: the database has another schema and ``migrate`` is off, or a newer version made it.
        StoreUnavailable: the database does not answer.

    """
    if migrate:
        await asyncio.to_thread(migrate_now, url)
    async with open_database(url, readers=readers, wrap=once) as database:
        ledger = SqlLedger(database, new_id=new_id, own_lease=own_lease)
        await ledger.check()
        yield ledger


async def migrate(url: str) -> None:
    """Bring a database to the schema of this version; creates what is missing."""
    await asyncio.to_thread(migrate_now, url)
