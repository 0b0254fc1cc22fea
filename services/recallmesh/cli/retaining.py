"""``recallmesh retain``: keep text, a conversation or a document."""

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from recallmesh.cli.lines import batches, moment, read_items
from recallmesh.cli.places import open_place
from recallmesh.cli.screen import progress
from recallmesh.core.admin import Banks
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.errors import BankExists, BankNotFound, FieldViolation, InvalidArgument
from recallmesh.core.retain import Delivery, DeliveryState, RetainAnswer, Retainer, RetainItem, RetainRequest
from recallmesh.rpc.text import retain_answer_json

BATCH = 50
"""Items a call: enough to spare round trips, few enough that the progress bar moves."""


async def run(words: argparse.Namespace) -> int:
    """Retain everything, and say what came of it."""
    items = items_of(words)
    bank = BankRef(words.bank)
    async with open_place(words) as faces:
        await ensure_bank(faces.admin, bank)
        mode = ExtractionMode(words.mode) if words.mode else None
        answers = await retain_all(faces.retainer, bank, items, mode=mode, tags=tuple(words.tags))
    if words.json:
        for answer in answers:
            print(retain_answer_json(answer))
    else:
        print(summary(words.bank, items, answers))
        for delivery in _pending(answers):
            late = f"  the {delivery.arm} arm does not have all of it yet; it follows from the outbox."
            print(f"{late} {delivery.detail}".rstrip())
    return 0


def items_of(words: argparse.Namespace) -> tuple[RetainItem, ...]:
    """Read what the command line, the file or standard input holds."""
    if words.text is not None:
        when = moment(words.time, "--time") if words.time else None
        return (RetainItem(content=(words.text,), time=when, context=words.context),)
    if words.stdin == "-" or words.file == "-":
        return _read(sys.stdin)
    path = Path(words.file)
    try:
        with path.open(encoding="utf-8") as lines:
            return _read(lines)
    except OSError as error:
        raise InvalidArgument(FieldViolation("--file", f"{words.file}: {error.strerror}")) from error
    except UnicodeDecodeError as error:
        raise InvalidArgument(FieldViolation("--file", f"{words.file} is not UTF-8")) from error


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
    items: tuple[RetainItem, ...],
    *,
    mode: ExtractionMode | None = None,
    tags: tuple[str, ...] = (),
) -> list[RetainAnswer]:
    """Retain the items in batches, with a progress bar on a terminal."""
    answers = []
    began = time.monotonic()
    with progress("items") as bar:
        task = bar.add_task("retaining", total=len(items), rate="")
        for batch in batches(items, BATCH):
            answers.append(await retainer.retain(RetainRequest(bank, batch, mode=mode, tags=tags)))
            bar.advance(task, len(batch))
            done = bar.tasks[task].completed
            bar.update(task, rate=f"{done / max(time.monotonic() - began, 1e-6):.0f}/s")
    return answers


def summary(bank: str, items: tuple[RetainItem, ...], answers: list[RetainAnswer]) -> str:
    """Say in a line what was kept."""
    memories = sum(answer.memory_count for answer in answers)
    documents = len({item.document_id for answer in answers for item in answer.items})
    return f"retained {len(items)} items as {memories} memories of {documents} documents in bank {bank}"


def _read(lines: Iterable[str]) -> tuple[RetainItem, ...]:
    items = tuple(read_items(lines))
    if not items:
        raise InvalidArgument(FieldViolation("input", "holds no items"))
    return items


def _pending(answers: list[RetainAnswer]) -> list[Delivery]:
    late = {
        delivery.arm: delivery
        for answer in answers
        for delivery in answer.deliveries
        if delivery.state is DeliveryState.PENDING
    }
    return list(late.values())
