"""A file that is read again when it changes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Generic, TypeVar

import structlog

from recallmesh.core.errors import FieldViolation, InvalidArgument

T = TypeVar("T")
LOOK_EVERY_S = 1.0
"""How often a file is looked at: a key that is revoked works so much longer."""

_log = structlog.get_logger("recallmesh.identity")


class Watched(Generic[T]):
    """What a file said when it was last right."""

    def __init__(self, value: T) -> None:
        """Begin with what it said first."""
        self.value = value


@asynccontextmanager
async def open_watched(
    path: Path, read: Callable[[bytes], T], *, every_s: float = LOOK_EVERY_S
) -> AsyncIterator[Watched[T]]:
    """Read a file, and understand it again whenever it says something else, until the context is left.

    What it says is compared, and not when it was written: two changes within a tick of the file system's clock look
    alike from there, and a key that is revoked must not work on. One that is wrong, or gone, is told to the log, and
    what the last right one said stays.

    Raises:
        InvalidArgument: it cannot be read now, or ``read`` refuses it.

    """
    content = await asyncio.to_thread(_read, path)
    watched = Watched(await asyncio.to_thread(_understood, path, read, content))
    watching = asyncio.create_task(_watch(watched, path, read, content, every_s))
    try:
        yield watched
    finally:
        watching.cancel()


async def _watch(
    watched: Watched[T], path: Path, read: Callable[[bytes], T], content: bytes | None, every_s: float
) -> None:
    said = ""
    while True:
        await asyncio.sleep(every_s)
        try:
            now = await asyncio.to_thread(_read, path)
            if now == content:
                continue
            watched.value = await asyncio.to_thread(_understood, path, read, now)
        except InvalidArgument as error:
            if error.message != said:
                _log.error("a file has become wrong: what it said before holds", path=str(path), detail=error.message)
            said, content = error.message, None
        else:
            said, content = "", now
            _log.info("a file was read again", path=str(path))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or "no such file"
        raise InvalidArgument(FieldViolation(str(path), f"cannot be read: {reason}")) from error


def _understood(path: Path, read: Callable[[bytes], T], content: bytes) -> T:
    try:
        return read(content)
    except InvalidArgument as error:
        told = (FieldViolation(f"{path}: {one.field}", one.description) for one in error.violations)
        raise InvalidArgument(*told) from error
