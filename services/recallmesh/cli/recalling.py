"""``recallmesh recall``: ask a bank."""

import argparse
from datetime import datetime

from recallmesh.cli.account import print_account
from recallmesh.cli.answer import print_answer
from recallmesh.cli.lines import moment
from recallmesh.cli.places import open_place
from recallmesh.cli.screen import console
from recallmesh.core.bank import BankRef
from recallmesh.core.memory import ALL_FACT_TYPES, FactType
from recallmesh.core.recall import RecallRequest
from recallmesh.core.tags import EVERYTHING, TagLeaf, TagMode
from recallmesh.core.time import system_clock
from recallmesh.core.tuning import Budget, RecallTuning
from recallmesh.rpc.text import recall_answer_json


def request_of(words: argparse.Namespace, now: datetime) -> RecallRequest:
    """Make the request that the words ask for; ``now`` is the asker's, with the asker's UTC offset."""
    mode = TagMode(words.tags_match)
    filtered = bool(words.tags) or mode is TagMode.EXACT
    return RecallRequest(
        bank=BankRef(words.bank),
        query=words.query,
        budget=Budget(words.budget),
        max_tokens=words.max_tokens,
        limit=words.limit,
        query_time=moment(words.query_time, "--query-time") if words.query_time else now,
        fact_types=tuple(FactType(name) for name in words.types) if words.types else ALL_FACT_TYPES,
        tags=TagLeaf(frozenset(words.tags), mode) if filtered else EVERYTHING,
        tuning=RecallTuning(reranking=False if words.no_rerank else None),
        trace=words.trace,
    )


async def run(words: argparse.Namespace) -> int:
    """Ask, and print the answer."""
    request = request_of(words, system_clock().astimezone())
    async with open_place(words) as faces:
        answer = await faces.recaller.recall(request)
    if words.json:
        print(recall_answer_json(answer))
        return 0
    screen = console()
    print_answer(screen, answer)
    print_account(screen, answer)
    return 0
