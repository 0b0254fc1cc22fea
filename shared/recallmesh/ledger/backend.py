"""What a database of one kind does its own way: how it is opened, how patient it is, and what its errors mean."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from recallmesh.core.errors import MeshError
from recallmesh.ledger.kept import Witness

TO_MIGRATE = "run: recallmesh migrate"
"""What to do about a ledger without the schema of this version."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What a driver's error means; ``again``: nothing of the transaction was kept, and another run may go well."""

    error: MeshError
    again: bool = False


class Backend(Protocol):
    """One database, not opened yet."""

    @property
    def name(self) -> str:
        """What it is called: postgres, sqlite."""
        ...

    @property
    def address(self) -> str:
        """Where it is, without secrets."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether it is a server of its own: it may be away, and whoever opens it neither makes nor migrates it."""
        ...

    @property
    def readers(self) -> int:
        """The most connections that read at once."""
        ...

    @property
    def writers(self) -> int:
        """The most connections that write at once."""
        ...

    @property
    def wait_s(self) -> float | None:
        """How long a transaction waits for a connection, in seconds; absent: as long as those before it take."""
        ...

    @property
    def runs(self) -> int:
        """How often a transaction is run at most, where it failed in a way that another run may not."""
        ...

    @property
    def revision(self) -> str:
        """SQL over a bank's row that is another text after each write of the bank; empty: nothing tells."""
        ...

    def engine(self, *, writes: bool) -> Engine:
        """Return an engine of so many connections, none of them made yet."""
        ...

    def witness(self) -> Witness | None:
        """Return what tells of writes, if looking at it is cheaper than a reading; absent: nothing does."""
        ...

    def glance(self, connection: Connection) -> AbstractContextManager[object]:
        """Let each statement that a reading connection runs meanwhile be its own transaction, if that is cheaper."""
        ...

    def migrating_engine(self) -> Engine:
        """Return an engine of one writing connection that waits as long as a migration takes."""
        ...

    def failure(self, error: Exception, *, committing: bool = False) -> Failure:
        """Tell what one of ``DRIVER_ERRORS`` means, and write the driver's own word to the log.

        ``committing``: the transaction was about to be kept; without an answer nobody knows whether it was.
        """
        ...


def driver_of(error: Exception) -> BaseException:
    """Return the driver's own error: SQLAlchemy adds the statement and its values, which are what banks were told."""
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
