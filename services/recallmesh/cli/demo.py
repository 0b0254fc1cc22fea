"""``recallmesh demo``: a whole conversation, questions, and answers with why."""

import argparse
import asyncio
import shlex
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from uuid import uuid4

from rich.console import Console
from rich.table import Table
from rich.text import Text

from recallmesh.cli.account import print_account
from recallmesh.cli.address import folder
from recallmesh.cli.answer import print_answer
from recallmesh.cli.batch import Reading
from recallmesh.cli.candidates import LEGEND
from recallmesh.cli.lines import read_items
from recallmesh.cli.meter import metering, tell_pause
from recallmesh.cli.page.document import check_place, write_page
from recallmesh.cli.screen import console
from recallmesh.cli.stream import Cut, packets
from recallmesh.cli.tally import Tally, summary
from recallmesh.client import Client
from recallmesh.client.batch import SIZE, Batch
from recallmesh.client.load import Load
from recallmesh.core.bank import BankRef
from recallmesh.core.recall import RecallRequest
from recallmesh.core.retain import RetainAnswer
from recallmesh.core.tuning import Budget
from recallmesh.mesh import open_embedded
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging

BANK = "demo"
ASKED = datetime.fromisoformat("2026-10-06T09:00:00+02:00")
QUESTIONS = (
    (
        "Which nuts does Leo avoid?",
        "hardly a word of the question is in the answer: the semantic arm reads its meaning",
    ),
    ("What became of VL-20391?", "an identifier: the keyword arm finds it whole"),
    (
        "Where does Pixel stay while Leo is aboard the G.O. Sars?",
        "names that tie turns together: the graph arm has it first",
    ),
    ("Why is Nadia going to work in a bakery?", "a reason: the cross-encoder, reading both, lifts the answer"),
    ("What did Nadia win in June?", "a time: the temporal arm is asked, with a window"),
)
SHOWN = 2
EXPLAINED = 8


async def run(words: argparse.Namespace) -> int:
    """Retain the conversation, ask the questions, and explain the last answer."""
    set_up_logging(level="warning")
    screen = console()
    page = folder(words.trace_html)
    if page is not None:
        check_place(page)
    began = time.monotonic()
    async with _open_folder(folder(words.keep)) as place, open_embedded(load_settings(data=place)) as faces:
        await _retain(screen, faces)
        for question, why in QUESTIONS:
            await _ask(screen, faces, question, why)
        await _explain(screen, faces, page)
    screen.print(Text(f"\ndone in {time.monotonic() - began:.0f} s", style="dim"))
    if words.keep:
        quoted = shlex.quote(words.keep)
        screen.print(f'kept in {words.keep}; ask on: recallmesh recall --data {quoted} --bank {BANK} "…"')
    else:
        screen.print("keep it and ask on: recallmesh demo --keep DIR    your own: recallmesh retain --help")
    return 0


@asynccontextmanager
async def _open_folder(kept: Path | None) -> AsyncIterator[Path]:
    if kept is not None:
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="recallmesh-demo-") as made:
        yield Path(made)


async def _retain(screen: Console, faces: Client) -> None:
    lines = files("recallmesh.cli").joinpath("demo.jsonl").read_bytes().splitlines(keepends=True)
    items = [item for _, item in read_items(lines)]
    first, last = items[0].time, items[-1].time
    if first is not None and last is not None:
        screen.print(
            f"Nadia and Leo talk, from {first:%B %Y} to {last:%B %Y}: {len(items)} turns of seven conversations."
        )
    screen.print("All of it is retained, in this process, by models on this machine. Then we ask, on 6 October 2026.")
    bank, tally, run = BankRef(BANK), Tally(), uuid4().hex
    await faces.bank(BANK).ensure()
    with metering(sum(map(len, lines))) as meter:

        def kept(batch: Batch, answer: RetainAnswer) -> None:
            tally.add(answer, batch)
            meter.show(len(batch.items), batch.offset)

        load = Load(faces.retainer, bank, lambda batch: f"demo-{run}-{batch.first}", kept, waiting=tell_pause)
        await load.keep(_batches(lines))
    screen.print(Text(summary(BANK, tally), style="dim"))


async def _batches(lines: list[bytes]) -> AsyncIterator[Batch]:
    reading = Reading()
    async for packet in packets(lines, Cut(SIZE)):
        yield reading.batch(packet)


def _request(question: str) -> RecallRequest:
    return RecallRequest(bank=BankRef(BANK), query=question, query_time=ASKED, max_tokens=400, budget=Budget.LOW)


async def _ask(screen: Console, faces: Client, question: str, why: str) -> None:
    screen.print()
    screen.print(Text(question, style="bold"))
    screen.print(Text(why, style="italic dim"))
    print_answer(screen, await faces.recaller.recall(_request(question)), most=SHOWN)


async def _explain(screen: Console, faces: Client, page: Path | None) -> None:
    question, _ = QUESTIONS[-1]
    screen.print()
    screen.print(Text(f"And why these? The trace of {question!r}:", style="bold"))
    request = replace(_request(question), trace=True)
    answer = await faces.recaller.recall(request)
    print_account(screen, answer, most=EXPLAINED)
    if page is not None:
        await asyncio.to_thread(write_page, page, request, answer)
        screen.print(Text(f"the same as a page: {page}", style="dim"))
    screen.print()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for columns, meaning in LEGEND:
        table.add_row(Text(columns), Text(meaning))
    screen.print(table)
