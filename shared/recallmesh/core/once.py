"""A call that may come twice: what makes its effect one, set at the door, kept by the ledger's transaction."""

from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime

from recallmesh.core.bank import BankRef


@dataclass(slots=True)
class Once:
    """A call's request id, and what tells another call with the same id from the same call again.

    ``content_hash`` is of the method and all it was asked; ``ref`` names the bank that it concerns. The id is unique in
    the tenant. ``spent``: the call's first write was made, or replayed; its later ones are no part of it.
    """

    request_id: str
    content_hash: str
    ref: BankRef
    at: datetime
    spent: bool = field(default=False)


_in_hand: ContextVar[Once | None] = ContextVar("recallmesh_once", default=None)


def once_in_hand() -> Once | None:
    """Return what makes the call in hand one; nothing where it has no request id, or its write was made."""
    once = _in_hand.get()
    return None if once is None or once.spent else once


def enter_once(once: Once) -> None:
    """Make the first write that this task makes from now on the effect of one call, however often it comes."""
    _in_hand.set(once)
