"""Feeding: the lines of a file or of standard input into a bank, from where an earlier run stopped if that is asked."""

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import BinaryIO

from recallmesh.cli.address import address_of, folder, state_folder
from recallmesh.cli.batch import Reading, in_their_words
from recallmesh.cli.lines import HERE, lines_of, read_line, weight
from recallmesh.cli.meter import Meter, metering, tell_pause
from recallmesh.cli.note import About, Note, note_path, read_note
from recallmesh.cli.stream import Cut, packets
from recallmesh.cli.tally import Tally
from recallmesh.client import Client
from recallmesh.client.batch import SIZE, Batch
from recallmesh.client.load import Load
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.errors import DefenseBlocked, FieldViolation, InvalidArgument, MeshError
from recallmesh.core.retain import RetainAnswer
from recallmesh.settings import load_settings

STDIN = 0
"""The descriptor of standard input."""
STDIN_NAME = "-"
EMPTY = FieldViolation("input", "holds no items: every line is blank, or there is none")
TOLD = 20
"""Wrong lines of a file that are told at once."""


async def feed(words: argparse.Namespace, faces: Client, tally: Tally) -> None:
    """Retain every line; the bank is there.

    Raises:
        InvalidArgument: the words, the file or a line is wrong. A file's lines are looked at before any is retained.

    """
    with _open(words) as stream:
        size = _size(stream)
        if size is not None and not words.skip_bad:
            await asyncio.to_thread(_check_lines, stream)
        note = await _note(words, faces)
        lines = lines_of(stream)
        reading = Reading(_skipping(tally) if words.skip_bad else None, _folder(stream))
        await asyncio.to_thread(_go_on_from, note, reading, lines)
        tally.before = tally.line = note.line
        with metering(size, note.offset) as meter:
            await _load(words, faces, note, meter, tally).keep(_batches(lines, reading, note))
    if not (tally.items or tally.line):
        note.forget()
        raise InvalidArgument(EMPTY)
    note.forget()


def _load(words: argparse.Namespace, faces: Client, note: Note, meter: Meter, tally: Tally) -> Load:
    def kept(batch: Batch, answer: RetainAnswer) -> None:
        note.answered(batch)
        tally.add(answer, batch)
        meter.show(len(batch.items), batch.offset)

    def refused(batch: Batch, error: MeshError) -> bool:
        if not isinstance(error, DefenseBlocked):
            return False
        note.answered(batch)
        tally.refuse(batch)
        meter.show(len(batch.items), batch.offset)
        return True

    return Load(
        faces.retainer,
        BankRef(words.bank),
        note.request_id,
        kept,
        sending=note.sent,
        refused=refused,
        waiting=tell_pause,
        worded=in_their_words,
        mode=ExtractionMode(words.mode) if words.mode else None,
        tags=tuple(words.tags),
    )


async def _batches(lines: Iterator[bytes], reading: Reading, note: Note) -> AsyncIterator[Batch]:
    """Yield the lines in batches; those that an earlier run had sent, just as they were."""
    try:
        async for packet in packets(lines, Cut(SIZE, sizes=note.sizes, weigh=partial(weight, folder=reading.folder))):
            # Ten microseconds a line, a hundred lines: too long for the loop that has answers to take.
            yield await asyncio.to_thread(reading.batch, packet)
    except OSError as error:
        raise InvalidArgument(
            FieldViolation(f"after line {reading.line}", f"cannot be read: {error.strerror}")
        ) from error


def _open(words: argparse.Namespace) -> AbstractContextManager[BinaryIO]:
    if words.file in {None, STDIN_NAME}:
        # A file object of its own, never closed: the thread that waits for a line has it locked until the end.
        return nullcontext(open(STDIN, "rb", closefd=False))
    try:
        return Path(words.file).expanduser().open("rb")
    except OSError as error:
        raise InvalidArgument(FieldViolation("--file", f"{words.file}: {error.strerror}")) from error


def _folder(stream: BinaryIO) -> Path:
    """Return where the images are that lines name: beside their file; of standard input, in the current folder."""
    return HERE if stream.name == STDIN else Path(stream.name).parent


def _size(stream: BinaryIO) -> int | None:
    """Return the bytes of a file; nothing of a stream, which cannot be read twice."""
    return os.fstat(stream.fileno()).st_size if stream.name != STDIN and stream.seekable() else None


def _check_lines(stream: BinaryIO) -> None:
    """Read a file once, so that wrong lines are told before any is retained."""
    wrong: list[FieldViolation] = []
    items = 0
    for number, line in enumerate(lines_of(stream), start=1):
        try:
            items += read_line(line, f"line {number}", folder=_folder(stream)) is not None
        except InvalidArgument as error:
            wrong += error.violations
        if len(wrong) >= TOLD:
            break
    if wrong:
        raise InvalidArgument(*wrong[:TOLD])
    if not items:
        raise InvalidArgument(EMPTY)
    stream.seek(0)


async def _note(words: argparse.Namespace, faces: Client) -> Note:
    """Return the note to go on from, or a new one."""
    about = About(_place(words), words.bank, _file(words))
    shape = f"mode={words.mode or ''} tags={sorted(set(words.tags))} skip_bad={words.skip_bad}"
    bank = await faces.admin.get_bank(BankRef(words.bank))
    there = state_folder()
    found = await asyncio.to_thread(read_note, there, about)
    if words.resume:
        _check_note(found, shape, bank.uid)
    elif found is not None and about.file != STDIN_NAME and not words.anew:
        where = f"after line {found.line}" if found.line else "before anything of it was answered"
        said = f"{words.file} was begun before and stopped {where}: go on with --resume, or begin again with --anew"
        raise InvalidArgument(FieldViolation("--file", said))
    if found is not None and words.resume:
        return found
    await asyncio.to_thread(_make_private, there)
    return Note(note_path(there, about), about, bank.uid, shape)


def _check_note(found: Note | None, shape: str, bank_uid: str) -> None:
    if found is None:
        raise InvalidArgument(
            FieldViolation("--resume", "nothing of this file and bank stopped half way on this machine")
        )
    if found.bank_uid != bank_uid:
        raise InvalidArgument(FieldViolation("--resume", "the bank was deleted since; begin again with --anew"))
    if found.words != shape:
        said = f"it was begun with other words ({found.words}); give the same, or begin again with --anew"
        raise InvalidArgument(FieldViolation("--resume", said))


def _go_on_from(note: Note, reading: Reading, lines: Iterator[bytes]) -> None:
    reading.pass_over(lines, note.line)
    if note.line and (reading.offset, reading.digest) != (note.offset, note.digest):
        said = f"what was retained of it, lines 1 to {note.line}, has changed since; begin again with --anew"
        raise InvalidArgument(FieldViolation("--resume", said))


def _place(words: argparse.Namespace) -> str:
    return address_of(words) or str(load_settings(data=folder(words.data)).data.absolute())


def _file(words: argparse.Namespace) -> str:
    if words.file in {None, STDIN_NAME}:
        return STDIN_NAME
    return str(Path(words.file).expanduser().resolve())


def _make_private(there: Path) -> None:
    try:
        there.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        said = f"{there}, where a note is kept of how far it came, cannot be made: {error.strerror}"
        raise InvalidArgument(FieldViolation("XDG_STATE_HOME", said)) from error


def _skipping(tally: Tally) -> Callable[[InvalidArgument], None]:
    def skip(error: InvalidArgument) -> None:
        tally.skipped += 1
        for violation in error.violations:
            print(f"recallmesh: {violation.field}: {violation.description}: left out", file=sys.stderr)

    return skip
