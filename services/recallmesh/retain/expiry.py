"""The expiry of events: what is older than they are kept is forgotten, a little at a time."""

import asyncio
from datetime import timedelta

import structlog

from recallmesh.core.errors import MeshError
from recallmesh.core.event import EventLedger
from recallmesh.core.time import Clock

_log = structlog.get_logger()
_EVERY_S = 600.0
_AT_ONCE = 2_000
"""Rows deleted in one transaction: other writes wait some milliseconds for it."""


class ExpiryWorker:
    """Forgets events that are older than ``keep``."""

    def __init__(self, ledger: EventLedger, *, keep: timedelta, now: Clock, every_s: float = _EVERY_S) -> None:
        """Look every ``every_s`` seconds."""
        self._ledger = ledger
        self._keep = keep
        self._now = now
        self._every_s = every_s

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            try:
                while await self.step():
                    pass
            except MeshError as error:
                _log.warning("events.not_forgotten", error=error.message)
            await asyncio.sleep(self._every_s)

    async def step(self) -> bool:
        """Forget some; tells whether there may be more."""
        return await self._ledger.forget_events(self._now() - self._keep, limit=_AT_ONCE) == _AT_ONCE
