"""``recallmesh recall``: ask a bank."""

import argparse
import asyncio
from dataclasses import replace
from datetime import datetime

from rich.text import Text

from recallmesh.cli.account import print_account
from recallmesh.cli.address import folder
from recallmesh.cli.answer import print_answer
from recallmesh.cli.keys import tuned
from recallmesh.cli.lines import moment
from recallmesh.cli.page.document import check_place, write_page
from recallmesh.cli.places import open_place
from recallmesh.cli.screen import console
from recallmesh.cli.streaming import heard
from recallmesh.cli.tags import tag_test
from recallmesh.core.bank import BankRef
from recallmesh.core.memory import ALL_FACT_TYPES, FactType
from recallmesh.core.recall import RecallProgress, RecallRequest, RecallStage
from recallmesh.core.time import system_clock
from recallmesh.core.tuning import Budget, RecallTuning
from recallmesh.rpc.text import recall_answer_json, recall_progress_json


def request_of(words: argparse.Namespace, now: datetime) -> RecallRequest:
    """Make the request that the words ask for; ``now`` is the asker's, with the asker's UTC offset."""
    return RecallRequest(
        bank=BankRef(words.bank),
        query=words.query,
        budget=Budget(words.budget),
        max_tokens=words.max_tokens,
        limit=words.limit,
        query_time=moment(words.query_time, "--query-time") if words.query_time else now,
        fact_types=tuple(FactType(name) for name in words.types) if words.types else ALL_FACT_TYPES,
        tags=tag_test(words),
        tuning=tuned(words.set, RecallTuning(reranking=False if words.no_rerank else None)),
        trace=words.trace or bool(words.trace_html),
    )


async def run(words: argparse.Namespace) -> int:
    """Ask, and print the answer."""
    request = request_of(words, system_clock().astimezone())
    page = folder(words.trace_html)
    if page is not None:
        check_place(page)
    async with open_place(words) as faces:
        if words.stream:
            answer = await heard(faces.recaller, request, console(), as_json=words.json)
        else:
            answer = await faces.recaller.recall(request)
    if page is not None:
        await asyncio.to_thread(write_page, page, request, answer)
    if not words.trace:
        answer = replace(answer, trace=None)
    if words.json:
        final = RecallProgress(RecallStage.FINAL, answer)
        print(recall_progress_json(final) if words.stream else recall_answer_json(answer))
        return 0
    screen = console()
    print_answer(screen, answer)
    print_account(screen, answer)
    if page is not None:
        screen.print(Text(f"how it came about is in {page}: open it in a browser", style="dim"))
    elif words.trace and screen.is_terminal:
        screen.print(Text("what the columns say, and each memory's way: --trace-html FILE", style="dim"))
    return 0
