"""Opens the ledger on an SQL database; nothing else of this package is for others."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import uuid4

from recallmesh.core.ledger import Ledger
from recallmesh.ledger.answers import once
from recallmesh.ledger.attachments import SqlAttachments
from recallmesh.ledger.banks import SqlBanks
from recallmesh.ledger.consolidation import SqlConsolidation
from recallmesh.ledger.database import READERS, TIMEOUT_S, WRITERS, Database, backend_of, open_database
from recallmesh.ledger.entity_changes import SqlEntities
from recallmesh.ledger.events import SqlEvents
from recallmesh.ledger.export import SqlExports
from recallmesh.ledger.indexes import SqlIndexes
from recallmesh.ledger.jobs import SqlJobs
from recallmesh.ledger.memories import SqlMemories
from recallmesh.ledger.migration import check_revision, migrate_now
from recallmesh.ledger.models import SqlModels
from recallmesh.ledger.operations import SqlOperations
from recallmesh.ledger.versions import SqlHistory
from recallmesh.ledger.webhooks import SqlWebhooks
from recallmesh.ledger.writes import SqlWrites

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
    SqlModels,
):
    """The whole ledger on one SQL database; several processes may open the same."""

    def __init__(self, database: Database, *, new_id: Callable[[], str], own_lease: timedelta) -> None:
        """Work on an open database; ``new_id`` names writes, entities and operations."""
        self._database = database
        self._new_id = new_id
        self._own_for = own_lease

    async def check(self) -> None:
        """Return if the database answers and has the schema of this version."""
        await self._database.check()


@asynccontextmanager
async def open_ledger(
    url: str,
    *,
    migrate: bool = True,
    readers: int = READERS,
    writers: int = WRITERS,
    timeout_s: float = TIMEOUT_S,
    own_lease: timedelta = OWN_LEASE,
    new_id: Callable[[], str] = random_id,
) -> AsyncIterator[Ledger]:
    """Open the ledger at an SQLAlchemy URL: ``sqlite:////path/ledger.db``, or ``postgresql://user@host/database``.

    An SQLite file is made when it is missing, and migrated unless ``migrate`` is off. A PostgreSQL database is only
    looked at: away, or without the schema of this version, it can be opened all the same, and ``check`` and every call
    say so until it is there. ``readers`` and ``writers`` are the most connections at once (SQLite has one writer),
    ``timeout_s`` how long a PostgreSQL server may take for one statement.

    Raises:
        InvalidArgument: the URL names no such database, or its driver is not installed.
        NotReady: the file has another schema and ``migrate`` is off, or a newer version made it.
        StoreUnavailable: the file cannot be read.

    """
    backend = backend_of(url, readers=readers, writers=writers, timeout_s=timeout_s)
    if migrate and not backend.is_shared:
        await asyncio.to_thread(migrate_now, backend)
    async with open_database(backend, wrap=once, admit=check_revision) as database:
        ledger = SqlLedger(database, new_id=new_id, own_lease=own_lease)
        if not backend.is_shared:
            await ledger.check()
        yield ledger
