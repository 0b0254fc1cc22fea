"""Who is let in: every call says who it is by, before anything else of it is looked at."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from recallmesh.core.errors import Forbidden, MeshError, Unauthenticated
from recallmesh.core.principal import ANYBODY, Authenticator, Principal, Right
from recallmesh.rpc.allowance import Allowances, Refused
from recallmesh.rpc.request import Metadata, credential_in

SAID_EVERY_S = 5.0
"""Of callers that are refused one line is logged in this time, with how many there were: a flood of them is none of
log lines."""
ASKED_EVERY_S = 5.0
"""How often the credential of a stream that lasts is looked at again."""

_log = structlog.get_logger("recallmesh.rpc")


def count_nothing(_why: str) -> None:
    """Tell nobody."""


class Entry:
    """Lets callers in by their credentials; without an authenticator everybody, to everything."""

    def __init__(
        self,
        authenticator: Authenticator | None = None,
        allowances: Allowances | None = None,
        *,
        refused: Refused = count_nothing,
        asked_every_s: float = ASKED_EVERY_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask this authenticator, and let each tenant have its allowance.

        ``refused`` is told why somebody is not let in. ``now`` is a clock in seconds that never goes back.
        """
        self.allowances = allowances
        self._authenticator = authenticator
        self._told = refused
        self._asked_every_s = asked_every_s
        self._now = now
        self._said = float("-inf")
        self._refused = 0

    async def admitted(self, method: str, right: Right | None, metadata: Metadata) -> Principal:
        """Return who calls a method that asks for a right; none: whoever it is may.

        Raises:
            Unauthenticated: it bears no credential, or one of nobody.
            Forbidden: it has not the right.
            StoreUnavailable: it cannot be told now who calls.

        """
        if self._authenticator is None:
            return ANYBODY
        caller = ""
        try:
            principal = await self._authenticator.authenticate(credential_in(metadata))
            caller = principal.name
            if right is not None:
                principal.check(right)
        except MeshError as error:
            self._note(method, error, caller)
            raise
        return principal

    @asynccontextmanager
    async def lasting(
        self, principal: Principal, method: str, right: Right | None, metadata: Metadata, *, bound: asyncio.Timeout
    ) -> AsyncIterator["Lapse"]:
        """Look at the credential again while a stream lasts; what is done within ``bound`` ends once it has lapsed."""
        lapse = Lapse()
        if self._authenticator is None:
            yield lapse
            return

        async def watch() -> None:
            while lapse.error is None:
                await asyncio.sleep(self._asked_every_s)
                try:
                    again = await self.admitted(method, right, metadata)
                    if (again.tenant, again.banks) != (principal.tenant, principal.banks):
                        lapse.error = Forbidden("the credential is for something else now: call again")
                except (Unauthenticated, Forbidden) as error:
                    lapse.error = error
                except MeshError:
                    # It cannot be told now; it was well when the stream began.
                    continue
            if not bound.expired():
                bound.reschedule(asyncio.get_running_loop().time())

        watching = asyncio.create_task(watch())
        try:
            yield lapse
        finally:
            watching.cancel()

    def _note(self, method: str, error: MeshError, caller: str) -> None:
        """Take note of a caller that is refused; never of what it bore."""
        self._told(error.reason.lower())
        self._refused += 1
        if self._now() - self._said >= SAID_EVERY_S:
            # Whoever tells who calls says here, and to nobody else, why somebody is refused.
            why = str(error.__cause__ or error.message)
            _log.warning("caller refused", method=method, caller=caller, why=why, refused=self._refused)
            self._said, self._refused = self._now(), 0


class Lapse:
    """Whether a stream's credential has lapsed while it lasted."""

    def __init__(self) -> None:
        """Begin with one that has not."""
        self.error: MeshError | None = None
