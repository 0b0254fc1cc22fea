"""The public keys of an issuer of tokens, from a file or from where it has them, kept while it cannot be reached."""

import asyncio
import http.client
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Generic, Protocol, TypeVar
from urllib.parse import urlsplit

import structlog

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.identity.watched import open_watched

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

LIFE_S = 600.0
"""How long keys are used before they are asked for again: one that the issuer withdraws is good so much longer."""
AGAIN_S = 15.0
"""The least pause between two times of asking: what makes us ask may be a forged token, and there may be many."""
TIMEOUT_S = 5.0
BYTES = 1024 * 1024
LOOPBACK = ("localhost", "127.0.0.1", "::1")

_log = structlog.get_logger("recallmesh.identity")


class Keys(Protocol[T_co]):
    """An issuer's keys."""

    @property
    def value(self) -> T_co | None:
        """Those known now; nothing: none were to be had so far."""
        ...

    async def renew(self) -> None:
        """Ask for newer ones, unless they were asked for a moment ago; never fails."""
        ...


class _OfFile(Generic[T]):
    """Keys of a file, which is read again by itself."""

    def __init__(self, now: Callable[[], T]) -> None:
        self._now = now

    @property
    def value(self) -> T | None:
        return self._now()

    async def renew(self) -> None:
        return


class _OfAddress(Generic[T]):
    """Keys of an address."""

    def __init__(self, url: str, read: Callable[[bytes], T], now: Callable[[], float], again_s: float) -> None:
        self.value: T | None = None
        self._url = url
        self._read = read
        self._now = now
        self._again_s = again_s
        self._asked = float("-inf")
        self._asking = asyncio.Lock()

    async def renew(self) -> None:
        async with self._asking:
            if self._now() - self._asked < self._again_s:
                return
            self._asked = self._now()
            try:
                self.value = self._read(await asyncio.to_thread(_fetch, self._url))
            except (OSError, http.client.HTTPException, InvalidArgument) as error:
                kept = "those known before hold" if self.value is not None else "no token is known"
                _log.warning("an issuer's keys cannot be had", url=self._url, why=str(error), meanwhile=kept)

    async def keep_new(self, life_s: float) -> None:
        """Renew for ever; what is not there yet is asked for as often as may be."""
        while True:
            await asyncio.sleep(self._again_s if self.value is None else life_s)
            await self.renew()


@asynccontextmanager
async def open_jwks(
    where: str,
    read: Callable[[bytes], T],
    *,
    life_s: float = LIFE_S,
    again_s: float = AGAIN_S,
    now: Callable[[], float] = time.monotonic,
) -> AsyncIterator[Keys[T]]:
    """Open the keys of a file or of an address; an address that does not answer is asked again, and again.

    Raises:
        InvalidArgument: the address is none to trust, or the file cannot be read.

    """
    if "://" not in where:
        async with open_watched(Path(where), read) as watched:
            yield _OfFile(lambda: watched.value)
        return
    check_url(where)
    keys = _OfAddress(where, read, now, again_s)
    await keys.renew()
    keeping = asyncio.create_task(keys.keep_new(life_s))
    try:
        yield keys
    finally:
        keeping.cancel()


def check_url(url: str) -> None:
    """Refuse an address whose answer anybody on the way could change.

    Raises:
        InvalidArgument: it is not https, nor of this machine.

    """
    try:
        parts = urlsplit(url)
        well = bool(parts.hostname) and (parts.port or 1) > 0 and not parts.username
    except ValueError:
        well = False
    if not well or not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)):
        raise InvalidArgument(FieldViolation("jwks", "must be the path of a file, or an address that begins https://"))


def _fetch(url: str) -> bytes:
    """Ask once; redirects are not followed: they could lead anywhere."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            raise OSError(f"the answer was {answer.status}")
        written = answer.read(BYTES + 1)
    finally:
        connection.close()
    if len(written) > BYTES:
        raise OSError(f"the answer has more than {BYTES} bytes")
    return written
