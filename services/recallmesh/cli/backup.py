"""``recallmesh backup``: the whole ledger as one file."""

import argparse
import asyncio
import errno
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from recallmesh.cli.address import folder
from recallmesh.cli.screen import progress
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.time import system_clock
from recallmesh.ledger import Contents, back_up_ledger, read_contents
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging

PRIVATE = 0o600
"""Who may read a backup: it holds all that banks were told."""
THERE = "is there already: a backup takes no file's place"


async def run(words: argparse.Namespace) -> int:
    """Write the file, and read it back."""
    set_up_logging(level="error")
    settings = load_settings(data=folder(words.data))
    begun = time.monotonic()
    with written(words.file) as file, progress("rows") as bar:
        task = bar.add_task("backing up", total=None, rate="")

        def tell(done: int, total: int) -> None:
            rate = done / max(time.monotonic() - begun, 1e-6)
            bar.update(task, completed=done, total=total, rate=f"{rate:,.0f}/s")

        await back_up_ledger(settings.ledger_url, file, at=system_clock(), tell=tell)
        file.flush()
        file.seek(0)
        # What the disk holds is what counts: a file that cannot be read is told now, not on the day it is needed.
        contents = await asyncio.to_thread(read_contents, file)
        size = file.seek(0, os.SEEK_END)
    show(contents, words)
    print(f"{size:,} bytes in {time.monotonic() - begun:.1f} s", file=sys.stderr)
    return 0


def show(contents: Contents, words: argparse.Namespace) -> None:
    """Say what a backup holds."""
    if words.json:
        print(json.dumps(said(contents)))
        return
    rows = contents.rows
    print(
        f"{words.file}: {rows.get('banks', 0):,} banks, {rows.get('documents', 0):,} documents,"
        f" {rows.get('memories', 0):,} memories, {contents.total:,} rows of the schema {contents.schema},"
        f" as of {contents.at.isoformat(timespec='seconds')}"
    )


def said(contents: Contents) -> dict[str, Any]:
    """Return what a backup holds as JSON has it."""
    return {
        "schema": contents.schema,
        "made_by": contents.made_by,
        "database": contents.database,
        "at": contents.at.isoformat(),
        "rows": dict(contents.rows),
    }


@contextmanager
def written(name: str) -> Iterator[IO[bytes]]:
    """Open a file that gets its name when all of it is on the disk; raises ``InvalidArgument``."""
    path = Path(name).expanduser()
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    if os.path.lexists(path):
        raise InvalidArgument(FieldViolation("FILE", f"{path} {THERE}"))
    try:
        handle = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC, PRIVATE)
    except OSError as error:
        raise InvalidArgument(FieldViolation("FILE", f"{path} cannot be written: {error.strerror}")) from error
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            os.fsync(file.fileno())
        _name(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _name(partial: Path, path: Path) -> None:
    try:
        path.hardlink_to(partial)  # fails where a name is taken; a renaming would replace
    except FileExistsError as error:
        raise InvalidArgument(FieldViolation("FILE", f"{path} {THERE}")) from error
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
        partial.replace(path)  # a file system without links
    home = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(home)
    finally:
        os.close(home)
