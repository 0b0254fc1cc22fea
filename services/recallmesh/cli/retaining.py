"""``recallmesh retain``: keep text, a conversation or a document."""

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from recallmesh.cli.batch import TEXT, Batch, Continuation, batches, in_their_words
from recallmesh.cli.lines import moment, read_items
from recallmesh.cli.places import open_place
from recallmesh.cli.screen import progress
from recallmesh.core.admin import Banks
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.errors import BankExists, BankNotFound, FieldViolation, InvalidArgument, MeshError
from recallmesh.core.retain import (
    Delivery,
    DeliveryState,
    RetainAnswer,
    RetainedItem,
    Retainer,
    RetainItem,
    RetainRequest,
)
from recallmesh.core.time import system_clock
from recallmesh.rpc.text import retain_answer_json

STDIN = 0
"""The descriptor of standard input."""
EMPTY = FieldViolation("input", "holds no items: every line is blank, or there is none")
NO_FACT = "  nothing in it was a fact: greetings and fillers are not kept; --mode verbose keeps everything"
OF_ONE = 'is for --text alone; a line of JSONL has its own "{}"'


@dataclass(slots=True)
class Tally:
    """What came of the calls so far."""

    items: list[RetainedItem] = field(default_factory=list)
    deliveries: dict[ArmName, Delivery] = field(default_factory=dict)
    line: int = 0
    """The last line of the input that was retained."""

    def add(self, answer: RetainAnswer, batch: Batch) -> None:
        """Count a call; an arm that missed one call has not all of it."""
        self.items.extend(answer.items)
        self.line = batch.last
        for delivery in answer.deliveries:
            if self.deliveries.get(delivery.arm, delivery).state is not DeliveryState.PENDING:
                self.deliveries[delivery.arm] = delivery

    def answer(self) -> RetainAnswer:
        """Return the calls as one."""
        return RetainAnswer(items=tuple(self.items), deliveries=tuple(self.deliveries.values()))


async def run(words: argparse.Namespace) -> int:
    """Retain everything, and say what came of it."""
    tally = Tally()
    _check(words)
    if words.text is not None:
        await _retain(words, _text(words), tally, total=1)
    else:
        with _open(words) as lines:
            total = await asyncio.to_thread(_count_items, lines)
            if total == 0:
                raise InvalidArgument(EMPTY)
            await _retain(words, batches(lines), tally, total=total)
    if not tally.items:
        raise InvalidArgument(EMPTY)
    if words.json:
        print(retain_answer_json(tally.answer()))
        return 0
    print(summary(words.bank, tally))
    if not any(item.memory_ids for item in tally.items) and words.mode in {None, ExtractionMode.CONCISE.value}:
        print(NO_FACT)
    for delivery in tally.deliveries.values():
        if delivery.state is DeliveryState.PENDING:
            late = f"  the {delivery.arm} arm does not have all of it yet; it follows from the outbox."
            print(f"{late} {delivery.detail}".rstrip())
    return 0


def _check(words: argparse.Namespace) -> None:
    """Refuse what would have no effect."""
    given = [name for name in ("time", "context") if getattr(words, name)]
    if given and words.text is None:
        raise InvalidArgument(*(FieldViolation(f"--{name}", OF_ONE.format(name)) for name in given))


async def _retain(words: argparse.Namespace, coming: AsyncIterator[Batch], tally: Tally, *, total: int | None) -> None:
    bank = BankRef(words.bank)
    mode = ExtractionMode(words.mode) if words.mode else None
    async with open_place(words) as faces:
        await ensure_bank(faces.admin, bank)
        try:
            await retain_all(faces.retainer, bank, coming, tally, total=total, mode=mode, tags=tuple(words.tags))
        except (MeshError, asyncio.CancelledError):
            if tally.line:
                rest = f"send the rest from line {tally.line + 1}"
                print(f"recallmesh: lines 1 to {tally.line} were retained; {rest}", file=sys.stderr)
            raise


async def ensure_bank(banks: Banks, bank: BankRef) -> None:
    """Make the bank if there is none."""
    try:
        await banks.get_bank(bank)
    except BankNotFound:
        try:
            await banks.create_bank(bank)
        except BankExists:
            return


async def retain_all(
    retainer: Retainer,
    bank: BankRef,
    coming: AsyncIterator[Batch],
    tally: Tally,
    *,
    total: int | None = None,
    mode: ExtractionMode | None = None,
    tags: tuple[str, ...] = (),
) -> None:
    """Retain the batches one after the other, with a progress bar on a terminal; ``total`` is unknown for a stream."""
    began = time.monotonic()
    with progress("items") as bar:
        task = bar.add_task("retaining", total=total, rate="")
        async for batch in coming:
            try:
                answer = await retainer.retain(RetainRequest(bank, batch.items, mode=mode, tags=tags))
            except InvalidArgument as error:
                raise in_their_words(error, batch) from error
            tally.add(answer, batch)
            rate = f"{len(tally.items) / max(time.monotonic() - began, 1e-6):.0f}/s"
            bar.update(task, advance=len(batch.items), rate=rate)


def summary(bank: str, tally: Tally) -> str:
    """Say in a line what was kept."""
    memories = sum(len(item.memory_ids) for item in tally.items)
    documents = len({item.document_id for item in tally.items})
    counts = f"{_count(len(tally.items), 'item')} as {_count(memories, 'memory')} of {_count(documents, 'document')}"
    return f"retained {counts} in bank {bank}"


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun.removesuffix('y') + 'ies' if noun.endswith('y') else noun + 's'}"


def _open(words: argparse.Namespace) -> AbstractContextManager[TextIO]:
    if words.stdin == "-" or words.file == "-":
        # A file object of its own, never closed: the thread that waits for a line has it locked until the end.
        return nullcontext(open(STDIN, encoding="utf-8", closefd=False))
    try:
        return Path(words.file).expanduser().open(encoding="utf-8")
    except OSError as error:
        raise InvalidArgument(FieldViolation("--file", f"{words.file}: {error.strerror}")) from error


def _count_items(lines: TextIO) -> int | None:
    """Read a file once, so that a wrong line is told before any is retained; a stream cannot be read twice."""
    if lines.name == STDIN or not lines.seekable():
        return None
    try:
        total = sum(1 for _ in read_items(lines))
    except UnicodeDecodeError as error:
        raise InvalidArgument(FieldViolation("--file", f"{lines.name} is not UTF-8")) from error
    lines.seek(0)
    return total


async def _text(words: argparse.Namespace) -> AsyncIterator[Batch]:
    # "Yesterday" is the speaker's: without --time, now is told with the UTC offset of this machine.
    when = moment(words.time, "--time") if words.time else system_clock().astimezone()
    yield Continuation().batch([(TEXT, RetainItem(content=(words.text,), time=when, context=words.context))])
