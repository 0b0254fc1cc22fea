"""``recallmesh retain``: keep text, a conversation or a document."""

import argparse
import asyncio
import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from uuid import uuid4

from recallmesh.cli.address import place_of
from recallmesh.cli.batch import TEXT, in_their_words
from recallmesh.cli.feeding import feed
from recallmesh.cli.filing import keep_files
from recallmesh.cli.lines import moment
from recallmesh.cli.pictures import read_picture
from recallmesh.cli.places import open_place
from recallmesh.cli.tally import Tally, collecting, count, summary
from recallmesh.client.batch import Batch, Continuation
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.errors import FieldViolation, InvalidArgument, MeshError
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.core.time import system_clock

FAILED = 1
NO_FACT = "  nothing in it was a fact: greetings and fillers are not kept; --mode verbose keeps everything"
OF_ONE = 'is for --text alone; a line of JSONL has its own "{}"'
OF_TEXT = "is for --text alone: a file says itself whose words it holds"
OWN = {"attach": "content"}
"""What a line of JSONL calls it, where that is not the word."""
OF_LINES = "is for lines alone: --file, or -"
STDIN = "-"


async def run(words: argparse.Namespace) -> int:
    """Retain everything, and say what came of it."""
    _check(words)
    with collecting() if words.json else nullcontext() as items_json:
        tally = Tally(items_json=items_json)
        if words.text is not None:
            await _keep_text(words, tally)
        elif words.file is None and STDIN not in words.sources:
            await _keep_files(words, tally)
        else:
            await _keep_lines(words, tally)
        if words.json:
            tally.print_json()
        else:
            _tell(words, tally)
    return FAILED if tally.skipped else 0


def mode_of(words: argparse.Namespace) -> ExtractionMode | None:
    """Return the mode that was asked for."""
    return ExtractionMode(words.mode) if words.mode else None


def _check(words: argparse.Namespace) -> None:
    """Refuse what would have no effect."""
    if STDIN in words.sources and len(words.sources) > 1:
        raise InvalidArgument(FieldViolation("-", "comes alone: standard input is lines, not a file among others"))
    files = bool(words.sources) and STDIN not in words.sources
    if files and (given := [name for name in ("context", "attach") if getattr(words, name)]):
        raise InvalidArgument(*(FieldViolation(f"--{name}", OF_TEXT) for name in given))
    if files and (given := [name for name in ("resume", "anew", "skip_bad") if getattr(words, name)]):
        raise InvalidArgument(*(FieldViolation(f"--{name.replace('_', '-')}", OF_LINES) for name in given))
    if files:
        return
    for text, names, why in (
        (False, ("time", "context", "attach"), OF_ONE),
        (True, ("resume", "anew", "skip_bad"), OF_LINES),
    ):
        given = [name.replace("_", "-") for name in names if getattr(words, name)]
        if given and (words.text is not None) is text:
            raise InvalidArgument(*(FieldViolation(f"--{name}", why.format(OWN.get(name, name))) for name in given))


async def _keep_text(words: argparse.Namespace, tally: Tally) -> None:
    # "Yesterday" is the speaker's: without --time, now is told with the UTC offset of this machine.
    when = moment(words.time, "--time") if words.time else system_clock().astimezone()
    attached = [await asyncio.to_thread(read_picture, Path(path), "--attach") for path in words.attach]
    item = RetainItem(content=(words.text, *attached), time=when, context=words.context)
    batch: Batch = Continuation().batch([(TEXT, item)])
    bank = BankRef(words.bank)
    async with open_place(words) as faces:
        await faces.bank(words.bank).ensure()
        request = RetainRequest(bank, batch.items, request_id=uuid4().hex, mode=mode_of(words), tags=tuple(words.tags))
        try:
            tally.add(await faces.retainer.retain(request), batch)
        except InvalidArgument as error:
            raise in_their_words(error, batch) from error


async def _keep_files(words: argparse.Namespace, tally: Tally) -> None:
    async with open_place(words) as faces:
        await faces.bank(words.bank).ensure()
        await keep_files(words, faces, tally)


async def _keep_lines(words: argparse.Namespace, tally: Tally) -> None:
    try:
        async with open_place(words) as faces:
            await faces.bank(words.bank).ensure()
            await feed(words, faces, tally)
    except (MeshError, asyncio.CancelledError):
        if tally.line:
            print(f"recallmesh: lines 1 to {tally.line} were retained\n  {_going_on(words)}", file=sys.stderr)
        raise


def _going_on(words: argparse.Namespace) -> str:
    source = ["-"] if words.file in {None, "-"} else ["--file", words.file]
    given = shlex.join(["recallmesh", "retain", "--bank", words.bank, *source, "--resume"]) + place_of(words)
    return f"to go on{', with the same lines again' if source == ['-'] else ''}: {given}"


def _defended(tally: Tally) -> str:
    took = f"took something out of {count(tally.redacted, 'item')}" if tally.redacted else ""
    return " and ".join(filter(None, (took, f"refused {count(tally.refused, 'item')}" if tally.refused else "")))


def _tell(words: argparse.Namespace, tally: Tally) -> None:
    if words.sources and not tally.items:
        print("nothing was retained")
        return
    if tally.line and not tally.items:
        print(f"nothing was left to retain: lines 1 to {tally.line} were there already")
        return
    print(summary(words.bank, tally))
    if tally.before:
        print(f"  and lines 1 to {tally.before} before")
    if tally.skipped:
        print(f"  {count(tally.skipped, 'file' if words.sources else 'wrong line')} left out, as said above")
    if tally.redacted or tally.refused:
        print(f"  memory defense {_defended(tally)}: recallmesh events --bank {words.bank} --security{place_of(words)}")
    elif not tally.memories and words.mode in {None, ExtractionMode.CONCISE.value}:
        print(NO_FACT)
    for delivery in tally.pending:
        late = f"  the {delivery.arm} arm does not have all of it yet; it follows from the outbox."
        print(f"{late} {delivery.detail}".rstrip())
