"""``recallmesh bank export`` and ``import``: a bank as a file."""

import argparse
import asyncio
import errno
import gzip
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, cast

from recallmesh.cli.screen import progress
from recallmesh.core.admin import Admin
from recallmesh.core.bank import BankRef
from recallmesh.core.errors import BankNotFound, FieldViolation, InvalidArgument
from recallmesh.rpc.text import imported_json

PIECE_BYTES = 262_144
MEGABYTE = 1_000_000
POLL_S = 0.2
STANDARD = "-"


async def export_bank(words: argparse.Namespace, admin: Admin) -> None:
    """Write a bank to a file, which gets its name once it is whole."""
    with _written(words.file) as file, progress("MB") as bar:
        task = bar.add_task(f"exporting {words.bank}", total=None, rate="")
        size = 0
        async for piece in admin.export_bank(BankRef(words.bank)):
            await asyncio.to_thread(file.write, piece)
            size += len(piece)
            bar.update(task, completed=size // MEGABYTE)
    if words.file != STANDARD:
        print(f"exported bank {words.bank}: {size:,} bytes of JSON lines to {words.file}", file=sys.stderr)


async def import_bank(words: argparse.Namespace, admin: Admin) -> None:
    """Fill a bank from a file; one that is not there is made, and gone again if nothing comes of it."""
    ref, made = BankRef(words.bank), False
    with _read(words.file) as file:
        try:
            await admin.get_bank(ref)
        except BankNotFound:
            await admin.create_bank(ref)
            made = True
        done = False
        try:
            with progress("MB") as bar:
                task = bar.add_task(f"importing into {words.bank}", total=None, rate="")
                found = await admin.import_bank(ref, _pieces(file, lambda size: bar.update(task, completed=size)))
            done = True
        finally:
            if made and not done:
                await admin.delete_bank(ref)
    await _indexed(ref, admin)
    if words.json:
        print(imported_json(found))
    else:
        print(f"imported {found.documents:,} documents and {found.memories:,} memories into bank {words.bank}")


async def _indexed(ref: BankRef, admin: Admin) -> None:
    """Wait until every arm has what came: without a server nobody would bring it there before the next command."""
    with progress("index writes") as bar:
        pending = (await admin.bank_stats(ref)).pending
        task = bar.add_task(f"indexing {ref.bank_id}", total=pending, rate="")
        most = pending
        while pending:
            await asyncio.sleep(POLL_S)
            pending = (await admin.bank_stats(ref)).pending
            bar.update(task, completed=most - pending)


async def _pieces(file: IO[bytes], tell: Callable[[int], None]) -> AsyncIterator[bytes]:
    size = 0
    while piece := await asyncio.to_thread(_piece, file):
        size += len(piece)
        tell(size // MEGABYTE)
        yield piece


def _piece(file: IO[bytes]) -> bytes:
    try:
        return file.read(PIECE_BYTES)
    except (OSError, EOFError) as error:
        raise InvalidArgument(FieldViolation("FILE", f"cannot be read: {error}")) from error


@contextmanager
def _written(name: str) -> Iterator[IO[bytes]]:
    if name == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    # Through links: what they lead to is what is written, not they.
    path = Path(name).resolve()
    # A pipe or a device is written to as it is: to put a file in its place would destroy it.
    in_place = path.exists() and not path.is_file() and not path.is_dir()
    partial = path if in_place else path.with_name(path.name + ".partial")
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        raw = partial.open("wb")
    except OSError as error:
        raise InvalidArgument(FieldViolation("FILE", f"{name} cannot be written: {error.strerror}")) from error
    if in_place:
        with raw, _packed(path, raw) as file:
            yield file
        return
    try:
        with raw:
            with _packed(path, raw) as file:
                yield file
            raw.flush()
            os.fsync(raw.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _packed(path: Path, raw: IO[bytes]) -> Iterator[IO[bytes]]:
    # No time in the file: the same bank gives the same bytes.
    packed = gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) if path.suffix == ".gz" else None
    with packed or nullcontext():
        yield cast("IO[bytes]", packed or raw)


@contextmanager
def _read(name: str) -> Iterator[IO[bytes]]:
    if name == STANDARD:
        yield sys.stdin.buffer
        return
    path = Path(name)
    try:
        file = gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # noqa: SIM115 -- closed below
    except OSError as error:
        raise InvalidArgument(FieldViolation("FILE", f"{name} cannot be read: {error.strerror}")) from error
    with file:
        yield cast("IO[bytes]", file)
