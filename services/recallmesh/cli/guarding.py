"""What a doctor makes of the files by which a mesh knows its callers."""

import stat
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from recallmesh.cli.diagnosis import Row
from recallmesh.core.errors import InvalidArgument
from recallmesh.identity.key_file import read_keys
from recallmesh.identity.mesh_key import read_mesh_keys
from recallmesh.identity.settings import AuthSettings

SOON = timedelta(days=14)
"""A key that ends within this time is told of: whoever uses it has to be given another."""


def guard_rows(auth: AuthSettings, now: datetime) -> Iterator[Row]:
    """Yield a row for each file that the settings name; none where nobody is asked."""
    if auth.mode == "on" and auth.keys is not None:
        yield _keys_row(auth.keys, now)
    if auth.mode == "on" and auth.mesh_key_file is not None:
        yield _mesh_row(auth.mesh_key_file)


def _keys_row(path: Path, now: datetime) -> Row:
    try:
        rows = read_keys(path.read_bytes()).rows.values()
    except (OSError, InvalidArgument) as error:
        return Row("keys", where=str(path), advice=(_wrong(error),))
    good = [row for row in rows if row.is_good(now)]
    ending = [row for row in good if row.expires is not None and row.expires - now < SOON]
    advice = [f"{row.name} ({row.id}) ends on {row.expires:%Y-%m-%d}: recallmesh key rotate {row.id}" for row in ending]
    if path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        advice.append("others may write it, and so let in whom they like: chmod go-w")
    return Row("keys", f"{len(good)} of {len(rows)} good", str(path), advice=tuple(advice))


def _mesh_row(path: Path) -> Row:
    try:
        keys = read_mesh_keys(path.read_bytes())
    except (OSError, InvalidArgument) as error:
        return Row("mesh key", where=str(path), advice=(_wrong(error),))
    others = path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH)
    advice = ("everybody on this machine may read it, and so be the mesh: chmod o-rwx",) if others else ()
    return Row("mesh key", f"{len(keys)} known", str(path), advice=advice)


def _wrong(error: OSError | InvalidArgument) -> str:
    said = error.message if isinstance(error, InvalidArgument) else f"it cannot be read: {error.strerror}"
    return f"{said}; docs/security.md says how it is made"
