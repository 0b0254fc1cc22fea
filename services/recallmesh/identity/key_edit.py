"""What can be done to a file of keys: another key, one no more, one in the place of another."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.identity.api_key import KeyRow
from recallmesh.identity.key_file import KeyFile


def with_key(file: KeyFile, row: KeyRow) -> KeyFile:
    """Return the file with another key."""
    return replace(file, rows={**file.rows, row.id: row})


def found(file: KeyFile, word: str, now: datetime) -> KeyRow:
    """Return the key that a word means: its id, or the name of a single one that is good.

    Raises:
        InvalidArgument: it means none, or several; says which.

    """
    if word in file.rows:
        return file.rows[word]
    named = [row for row in file.rows.values() if row.name == word and row.is_good(now)]
    if not named:
        raise InvalidArgument(FieldViolation("KEY", f"{word!r} is neither the id nor the name of a key that is good"))
    if len(named) > 1:
        ids = ", ".join(row.id for row in named)
        raise InvalidArgument(FieldViolation("KEY", f"{word!r} is the name of several: say which by its id: {ids}"))
    return named[0]


def with_revoked(file: KeyFile, row: KeyRow, now: datetime) -> KeyFile:
    """Return the file with a key that is good no more."""
    return with_key(file, row if row.revoked else replace(row, revoked=now))


def with_rotated(
    file: KeyFile, old: KeyRow, make: Callable[[], tuple[str, str]], *, now: datetime, until: datetime
) -> tuple[KeyFile, KeyRow]:
    """Return the file with a new key, as ``make`` makes its id and hash, that may do what another may, and the key.

    The old one is good ``until`` then, or as long as it was anyway, if that is sooner.

    Raises:
        InvalidArgument: the old one is good no more.

    """
    if not old.is_good(now):
        raise InvalidArgument(FieldViolation("KEY", f"{old.id} is good no more: make another (recallmesh key new)"))
    key_id, kept = make()
    new = replace(old, id=key_id, hash=kept, created=now)
    ending = replace(old, expires=until if old.expires is None else min(old.expires, until))
    return with_key(with_key(file, ending), new), new
