"""The ledger as an operator sees it: migrated, and looked at from outside."""

import asyncio
import time
from datetime import datetime
from typing import IO, Any

from sqlalchemy import Connection, func, select, text

from recallmesh.core.errors import MeshError
from recallmesh.core.memory import VISIBLE_STATES
from recallmesh.core.store import Inspection, Migrated
from recallmesh.ledger.backend import TO_MIGRATE, Backend
from recallmesh.ledger.backup import Contents, Tell, write_backup
from recallmesh.ledger.database import DRIVER_ERRORS, backend_of
from recallmesh.ledger.migration import NEWER, current_revision, migrate_now
from recallmesh.ledger.restore import restore_backup
from recallmesh.ledger.revision import is_newer, is_usable
from recallmesh.ledger.schema import HEAD, memories

_CLOCK = text("SELECT extract(epoch FROM clock_timestamp())")


async def migrate_ledger(url: str) -> Migrated:
    """Bring a database to the schema of this version; creates what is missing, and may be called by many at once.

    Raises:
        InvalidArgument: the URL names no database that a ledger can be in.
        NotReady: the database was made by a newer version.
        StoreUnavailable: it does not answer.

    """
    backend = backend_of(url)
    before = await asyncio.to_thread(migrate_now, backend)
    return Migrated(backend.name, backend.address, before, before if is_newer(before, HEAD) else HEAD)


async def back_up_ledger(url: str, file: IO[bytes], *, at: datetime, tell: Tell) -> Contents:
    """Write a ledger into a file, as it is at one moment, while others write.

    Raises:
        InvalidArgument: the URL names no database that a ledger can be in.
        NotReady: it has another schema than this version's.
        StoreUnavailable: the database does not answer.

    """
    backend = backend_of(url, readers=1)
    return await asyncio.to_thread(write_backup, backend, file, at=at, tell=tell)


async def restore_ledger(url: str, file: IO[bytes], *, tell: Tell) -> Contents:
    """Write a backup into an empty database: all of it, or nothing.

    Raises:
        InvalidArgument: the file is no whole backup, or the URL names no database that a ledger can be in.
        NotReady: the database is not empty.
        StoreUnavailable: it does not answer.

    """
    return await asyncio.to_thread(restore_backup, backend_of(url, writers=1), file, tell=tell)


async def inspect_ledger(url: str) -> Inspection:
    """Tell how the ledger stands, and how many memories it shows; one that is down is told of by ``advice``.

    Raises:
        InvalidArgument: the URL names no database that a ledger can be in.

    """
    backend = backend_of(url, readers=1, writers=1)
    return await asyncio.to_thread(_inspect, backend)


def _inspect(backend: Backend) -> Inspection:
    engine = backend.engine(writes=False)
    try:
        with engine.begin() as connection:
            return _seen(connection, backend)
    except DRIVER_ERRORS as error:
        return Inspection(backend.name, backend.address, wanted=HEAD, advice=(_advice(backend.failure(error).error),))
    finally:
        engine.dispose()


def _seen(connection: Connection, backend: Backend) -> Inspection:
    found = current_revision(connection) or ""
    usable = is_usable(found, HEAD)
    parts: dict[str, Any] = {"wanted": found if usable else HEAD, "schema": found}
    numbers = connection.dialect.server_version_info or ()
    parts["version"] = ".".join(map(str, numbers))
    if connection.dialect.name == "postgresql":
        asked = time.time()
        theirs = float(connection.execute(_CLOCK).scalar_one())
        parts["skew_s"] = theirs - (asked + time.time()) / 2
    if usable:
        shown = memories.c.state.in_([state.value for state in VISIBLE_STATES])
        parts["memories"] = connection.execute(select(func.count()).select_from(memories).where(shown)).scalar_one()
    else:
        parts["advice"] = (NEWER if is_newer(found, HEAD) else TO_MIGRATE,)
    return Inspection(backend.name, backend.address, **parts)


def _advice(error: MeshError) -> str:
    return f"{error.message}: is it running, and are its address, user and password right?"
