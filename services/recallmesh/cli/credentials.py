"""``recallmesh key``: the keys of callers, in the file that a mesh knows them by."""

import argparse
import json
import re
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from recallmesh.cli.screen import console, print_table
from recallmesh.core.bank import DEFAULT_TENANT
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.principal import CALLERS_RIGHTS, TENANT, Right
from recallmesh.core.time import system_clock
from recallmesh.identity.api_key import KeyRow, hash_of, new_key, new_mesh_key
from recallmesh.identity.key_edit import found, with_key, with_revoked, with_rotated
from recallmesh.identity.key_file import KeyFile, row_json
from recallmesh.identity.key_store import change_keys, load_keys
from recallmesh.settings import load_settings

HEADINGS = ("id", "name", "tenant", "rights", "banks", "made", "state")
SPAN = re.compile(r"(\d{1,5})([dhm])")
UNITS = {"d": "days", "h": "hours", "m": "minutes"}
NAME_CHARS = 128


async def run(words: argparse.Namespace) -> int:
    """Do the one thing that was asked for."""
    if words.action == "new" and words.mesh:
        _new_mesh(words)
        return 0
    actions: dict[str, Callable[[argparse.Namespace, Path], None]] = {
        "new": _new,
        "list": _list,
        "rotate": _rotate,
        "revoke": _revoke,
    }
    actions[words.action](words, _file(words))
    return 0


def _file(words: argparse.Namespace) -> Path:
    """Return the file that is meant.

    Raises:
        InvalidArgument: none is.

    """
    path = Path(words.keys).expanduser() if words.keys else load_settings().auth.keys
    if path is None:
        raise InvalidArgument(FieldViolation("--keys", "say which file: --keys FILE, or RECALLMESH_AUTH__KEYS"))
    return path


def _new_mesh(words: argparse.Namespace) -> None:
    if any((words.name, words.tenant, words.rights, words.bank, words.expires, words.keys)):
        raise InvalidArgument(FieldViolation("--mesh", "is for processes: it has no name, tenant, rights or file"))
    print(new_mesh_key(), flush=True)
    print("  the same for every process of the mesh: RECALLMESH_AUTH__MESH_KEY, or …MESH_KEY_FILE", file=sys.stderr)


def _new(words: argparse.Namespace, path: Path) -> None:
    now = system_clock()
    tenant = words.tenant or DEFAULT_TENANT
    _check(words, tenant)
    key_id, key = new_key()
    row = KeyRow(
        id=key_id,
        name=words.name,
        tenant=tenant,
        rights=frozenset(map(Right, words.rights or (Right.RECALL, Right.RETAIN))),
        hash=hash_of(key),
        created=now,
        banks=tuple(dict.fromkeys(words.bank)) if words.bank else None,
        expires=None if words.expires is None else _moment(words.expires, now),
    )
    change_keys(path, lambda file: with_key(file, row))
    _show(key, row)


def _rotate(words: argparse.Namespace, path: Path) -> None:
    now = system_clock()
    until = now + _span(words.overlap, "--overlap")
    key_id, key = new_key()
    made: list[KeyRow] = []

    def change(file: KeyFile) -> KeyFile:
        old = found(file, words.key, now)
        changed, new = with_rotated(file, old, lambda: (key_id, hash_of(key)), now=now, until=until)
        made.extend((new, changed.rows[old.id]))
        return changed

    change_keys(path, change)
    new, old = made
    _show(key, new)
    print(f"  {old.id}, whose place it takes, is good until {_minute(old.expires)}", file=sys.stderr)


def _revoke(words: argparse.Namespace, path: Path) -> None:
    now = system_clock()
    gone: list[KeyRow] = []

    def change(file: KeyFile) -> KeyFile:
        gone.append(found(file, words.key, now))
        return with_revoked(file, gone[0], now)

    change_keys(path, change)
    print(f"{gone[0].id} ({gone[0].name}) is good no more")


def _list(words: argparse.Namespace, path: Path) -> None:
    rows, now = load_keys(path).rows.values(), system_clock()
    if words.json:
        print(json.dumps([{**row_json(row), "good": row.is_good(now)} for row in rows], ensure_ascii=False))
    elif rows or not sys.stdout.isatty():
        print_table(console(), HEADINGS, [_cells(row, now) for row in rows], folding=frozenset({1, 4}))
    else:
        print("no keys; make one: recallmesh key new NAME")


def _cells(row: KeyRow, now: datetime) -> tuple[str, ...]:
    rights = " ".join(right for right in CALLERS_RIGHTS if right in row.rights)
    banks = "all" if row.banks is None else " ".join(row.banks)
    return row.id, row.name, row.tenant, rights, banks, f"{row.created:%Y-%m-%d}", _state(row, now)


def _state(row: KeyRow, now: datetime) -> str:
    if row.revoked is not None:
        return f"revoked {row.revoked:%Y-%m-%d}"
    if row.expires is None:
        return "good"
    return f"{'good until' if row.is_good(now) else 'expired'} {_minute(row.expires)}"


def _show(key: str, row: KeyRow) -> None:
    """Print the key alone where a programme reads it, and what it is good for to whoever sits there."""
    print(key, flush=True)
    rights = ", ".join(right for right in CALLERS_RIGHTS if right in row.rights)
    banks = "all banks" if row.banks is None else f"the banks {', '.join(row.banks)}"
    until = "" if row.expires is None else f", until {_minute(row.expires)}"
    print(f"  {row.name} ({row.id}) may {rights} in {banks} of the tenant {row.tenant}{until}", file=sys.stderr)
    print("  it is not shown again: calls bear it as authorization: Bearer KEY, or RECALLMESH_KEY", file=sys.stderr)


def _check(words: argparse.Namespace, tenant: str) -> None:
    """Refuse what cannot be a key's.

    Raises:
        InvalidArgument: names it.

    """
    if not words.name or not words.name.isprintable() or len(words.name) > NAME_CHARS:
        raise InvalidArgument(FieldViolation("NAME", f"say who uses it, in 1 to {NAME_CHARS} printable characters"))
    if not TENANT.fullmatch(tenant):
        raise InvalidArgument(FieldViolation("--tenant", "must be 1 to 128 printable ASCII characters without spaces"))


def _moment(said: str, now: datetime) -> datetime:
    """Read when something ends.

    Raises:
        InvalidArgument: it is no time to come.

    """
    if SPAN.fullmatch(said):
        return now + _span(said, "--expires")
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or moment <= now:
        wanted = "say for how long (90d, 12h, 30m), or until when: a date to come with UTC offset"
        raise InvalidArgument(FieldViolation("--expires", f"{said!r}: {wanted}, such as 2027-05-11T09:00+02:00"))
    return moment


def _span(said: str, word: str) -> timedelta:
    """Read for how long something is.

    Raises:
        InvalidArgument: it is no number of days, hours or minutes.

    """
    read = SPAN.fullmatch(said)
    if read is None:
        raise InvalidArgument(FieldViolation(word, f"{said!r}: say how many days, hours or minutes: 1d, 12h, 30m"))
    return timedelta(**{UNITS[read[2]]: int(read[1])})


def _minute(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M %z}"
