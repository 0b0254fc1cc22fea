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

Stamp = tuple[int, int, int]
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
    """Read a file, and read it again whenever it has changed, until the context is left.

    A file that was put in the place of another counts as changed, also where the path is a link to it. One that is
    wrong, or gone, is told to the log, and what the last right one said stays.

    Raises:
        InvalidArgument: it cannot be read now, or ``read`` refuses it.

    """
    stamp, value = await asyncio.to_thread(_read, path, read)
    watched = Watched(value)
    watching = asyncio.create_task(_watch(watched, path, read, stamp, every_s))
    try:
        yield watched
    finally:
        watching.cancel()


async def _watch(
    watched: Watched[T], path: Path, read: Callable[[bytes], T], stamp: Stamp | None, every_s: float
) -> None:
    said = ""
    while True:
        await asyncio.sleep(every_s)
        try:
            now = await asyncio.to_thread(_stamp, path)
            if now == stamp:
                continue
            stamp, watched.value = await asyncio.to_thread(_read, path, read)
        except InvalidArgument as error:
            if error.message != said:
                _log.error("a file has become wrong: what it said before holds", path=str(path), detail=error.message)
            said, stamp = error.message, None
        else:
            said = ""
            _log.info("a file was read again", path=str(path))


def _read(path: Path, read: Callable[[bytes], T]) -> tuple[Stamp, T]:
    # The stamp is taken first: what changes meanwhile is read once more.
    stamp = _stamp(path)
    try:
        return stamp, read(path.read_bytes())
    except OSError as error:
        raise _unreadable(path, error) from error
    except InvalidArgument as error:
        told = (FieldViolation(f"{path}: {one.field}", one.description) for one in error.violations)
        raise InvalidArgument(*told) from error


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from error
    return found.st_mtime_ns, found.st_size, found.st_ino


def _unreadable(path: Path, error: OSError) -> InvalidArgument:
    return InvalidArgument(FieldViolation(str(path), f"cannot be read: {error.strerror or 'no such file'}"))
