"""``recallmesh demo``: a whole conversation, questions, and answers with why."""

import argparse
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from importlib.resources import files
from pathlib import Path

from rich.console import Console
from rich.text import Text

from recallmesh.cli.account import print_account
from recallmesh.cli.answer import print_answer
from recallmesh.cli.lines import read_items
from recallmesh.cli.places import folder
from recallmesh.cli.retaining import ensure_bank, retain_all, summary
from recallmesh.cli.screen import console
from recallmesh.core.bank import BankRef
from recallmesh.core.recall import RecallRequest
from recallmesh.core.tuning import Budget
from recallmesh.mesh import Faces, open_embedded
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging

BANK = "demo"
ASKED = datetime.fromisoformat("2026-10-06T09:00:00+02:00")
QUESTIONS = (
    ("What can Leo not eat?", "no word of the question is in the answer: the semantic arm finds it"),
    ("What became of VL-20391?", "an identifier: the keyword arm finds it whole"),
    ("Why did Nadia leave the bank?", "a reason"),
    ("Who looks after Pixel when Leo is at sea?", "names tie turns together: the graph arm"),
    ("What happened in May?", "a time: the temporal arm is asked, with a window"),
)
SHOWN = 3


async def run(words: argparse.Namespace) -> int:
    """Retain the conversation, ask the questions, and explain the last answer."""
    set_up_logging(level="warning")
    screen = console()
    began = time.monotonic()
    async with _open_folder(folder(words.keep)) as place, open_embedded(load_settings(data=place)) as faces:
        await _retain(screen, faces)
        for question, why in QUESTIONS:
            await _ask(screen, faces, question, why)
        await _explain(screen, faces)
        if words.keep:
            screen.print(f'\nkept in {words.keep}; ask on: recallmesh recall --data {words.keep} --bank {BANK} "…"')
    screen.print(Text(f"\ndone in {time.monotonic() - began:.0f} s", style="dim"))
    return 0


@asynccontextmanager
async def _open_folder(kept: Path | None) -> AsyncIterator[Path]:
    if kept is not None:
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="recallmesh-demo-") as made:
        yield Path(made)


async def _retain(screen: Console, faces: Faces) -> None:
    lines = files("recallmesh.cli").joinpath("demo.jsonl").read_text(encoding="utf-8").splitlines()
    items = tuple(read_items(lines))
    first, last = items[0].time, items[-1].time
    if first is not None and last is not None:
        screen.print(f"Nadia and Leo talk, from {first:%B %Y} to {last:%B %Y}: {len(items)} turns.")
    bank = BankRef(BANK)
    await ensure_bank(faces.admin, bank)
    answers = await retain_all(faces.retainer, bank, items)
    screen.print(summary(BANK, items, answers))


def _request(question: str) -> RecallRequest:
    return RecallRequest(bank=BankRef(BANK), query=question, query_time=ASKED, max_tokens=400, budget=Budget.LOW)


async def _ask(screen: Console, faces: Faces, question: str, why: str) -> None:
    screen.print()
    heading = Text(question, style="bold")
    heading.append(f"   ({why})", style="dim")
    screen.print(heading)
    print_answer(screen, await faces.recaller.recall(_request(question)), most=SHOWN)


async def _explain(screen: Console, faces: Faces) -> None:
    question, _ = QUESTIONS[-1]
    screen.print()
    screen.print(Text(f"And why these? The trace of {question!r}:", style="bold"))
    answer = await faces.recaller.recall(replace(_request(question), trace=True))
    print_account(screen, answer, most=8)
