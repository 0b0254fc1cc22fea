"""Evidence recall on real conversations: each arm alone, RRF of all, the whole pipeline, and that with parts off."""

import argparse
import asyncio
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.ablation import ABLATION, WAVES, WHOLE, Trial, compared, print_compared
from bench.locomo import CATEGORIES, DEFAULT_DATA, Conversation, Question, load_conversations
from bench.measure import COLUMNS, Quality, average, figures, judge
from bench.remembering import open_remembering
from bench.results import write_result
from bench.table import print_figures
from recallmesh.cli.screen import progress
from recallmesh.client import Client
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig, BankRef, ExtractionMode, RetainTuning
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.page import PageRequest
from recallmesh.core.recall import RecallRequest, Trace, TraceCandidate
from recallmesh.core.retain import RetainRequest
from recallmesh.core.tuning import Budget, RecallTuning
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging

FUSED = "RRF of all"
BATCH = 100


@dataclass(frozen=True, slots=True)
class Turn:
    """What a memory is in the conversation: its turn and its length."""

    dia_id: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Mark:
    """How good one ranking was for one question, of this category and conversation."""

    conversation: str
    category: int
    quality: Quality


@dataclass(frozen=True, slots=True)
class Judged:
    """The marks by ranking, and the trials of other settings by theirs, question by question."""

    marks: dict[str, list[Mark]] = field(default_factory=lambda: defaultdict(list))
    trials: dict[str, list[Trial]] = field(default_factory=lambda: defaultdict(list))


async def retain(faces: Client, conversation: Conversation, mode: ExtractionMode) -> dict[str, Turn]:
    """Retain a conversation, one item a turn; returns the turn of every memory."""
    bank = BankRef(f"conv-{conversation.name}")
    await faces.admin.create_bank(bank, config=BankConfig(retain=RetainTuning(mode=mode)))
    documents: dict[str, list[int]] = defaultdict(list)
    for place, item in enumerate(conversation.items):
        documents[item.document_id].append(place)
    for places in documents.values():
        await faces.retainer.retain(RetainRequest(bank, tuple(conversation.items[place] for place in places)))
    turns: dict[str, Turn] = {}
    after = ""
    while True:
        page = await faces.admin.list_memories(bank, MemoryFilter(), PageRequest(1000, after))
        turns.update({row.id: Turn(row.metadata.get("dia_id", ""), row.tokens) for row in page.rows})
        after = page.next_after
        if not after:
            return turns


async def ask(faces: Client, bank: BankRef, question: Question, tuning: RecallTuning, budget: Budget) -> Trace:
    """Ask with a trace, which holds every candidate's place at every stage."""
    request = RecallRequest(
        bank=bank, query=question.text, query_time=question.asked, tuning=tuning, budget=budget, trace=True
    )
    answer = await faces.recaller.recall(request)
    assert answer.trace is not None
    return answer.trace


def rankings(candidates: Iterable[TraceCandidate]) -> dict[str, list[str]]:
    """Return the memory ids by arm and by RRF, best first."""
    rows = list(candidates)
    found = {FUSED: [row.memory_id for row in sorted(rows, key=lambda row: row.fused_rank)]}
    for arm in ArmName:
        held = [row for row in rows if arm in row.ranks]
        found[arm.value] = [row.memory_id for row in sorted(held, key=lambda row: row.ranks[arm])]
    return found


def final_ranking(candidates: Iterable[TraceCandidate]) -> list[str]:
    """Return the memory ids by final score, best first."""
    return [row.memory_id for row in sorted((row for row in candidates if row.final_rank), key=lambda r: r.final_rank)]


async def judge_conversation(
    faces: Client, conversation: Conversation, words: argparse.Namespace, judged: Judged
) -> None:
    """Ask every question both ways and judge every ranking; then under every other setting."""
    turns = await retain(faces, conversation, ExtractionMode(words.mode))
    tokens = {memory_id: turn.tokens for memory_id, turn in turns.items()}
    bank, budget = BankRef(f"conv-{conversation.name}"), Budget(words.budget)
    fused = RecallTuning(reranking=False)
    whole = RecallTuning(reranking=True, rerank_limit=words.rerank_limit, recency_alpha=words.recency_alpha)
    others = {**ABLATION, **WAVES} if words.ablation else {}
    settings = {} if words.fast and not others else {WHOLE: whole, **others}
    with progress("questions") as bar:
        for question in bar.track(conversation.questions, description=conversation.name):
            lists = rankings((await ask(faces, bank, question, fused, budget)).candidates)
            for name, ranking in lists.items():
                quality = _judge(ranking, question, turns, tokens)
                judged.marks[name].append(Mark(conversation.name, question.category, quality))
            for name, tuning in settings.items():
                trace = await ask(faces, bank, question, tuning, budget)
                quality = _judge(final_ranking(trace.candidates), question, turns, tokens)
                if name == WHOLE and not words.fast:
                    judged.marks[name].append(Mark(conversation.name, question.category, quality))
                if others:
                    judged.trials[name].append(Trial(quality, trace.prefilter.kept))


def _judge(ranking: list[str], question: Question, turns: dict[str, Turn], tokens: dict[str, int]) -> Quality:
    # Several memories of one turn count once, at the place of the first.
    wanted = frozenset(memory_id for memory_id, turn in turns.items() if turn.dia_id in question.evidence)
    if len(wanted) == len(question.evidence):
        return judge(ranking, wanted, tokens)
    keys = [turns[memory_id].dia_id for memory_id in ranking]
    lengths: dict[str, int] = defaultdict(int)
    for turn in turns.values():
        lengths[turn.dia_id] = max(lengths[turn.dia_id], turn.tokens)
    return judge(list(dict.fromkeys(keys)), question.evidence, lengths)


def report(marks: dict[str, list[Mark]]) -> dict[str, dict[str, dict[str, float]]]:
    """Print the tables and return the figures."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    names = dict.fromkeys(f"conversation {mark.conversation}" for mark in marks[FUSED])
    for part in ("overall", *CATEGORIES.values(), *names):
        rows = []
        for name, given in marks.items():
            chosen = [mark.quality for mark in given if part in _parts(mark)]
            if not chosen:
                continue
            mean = average(chosen)
            found.setdefault(part, {})[name] = {key: round(value, 4) for key, value in asdict(mean).items()}
            rows.append((name, str(len(chosen)), *(f"{value:.3f}" for value in figures(mean))))
        print(f"\n{part}")
        print_figures(("ranking", "questions", *COLUMNS), rows)
    return found


def _parts(mark: Mark) -> tuple[str, ...]:
    return ("overall", CATEGORIES[mark.category], f"conversation {mark.conversation}")


async def run(words: argparse.Namespace) -> None:
    """Measure, print and write down."""
    set_up_logging(level="warning")
    conversations = load_conversations(Path(words.data), tuple(words.conversations))
    if words.sample:
        conversations = sampled(conversations, words.sample)
    judged = Judged()
    with tempfile.TemporaryDirectory() as folder:
        async with open_remembering(load_settings(data=Path(folder))) as faces:
            for conversation in conversations:
                await judge_conversation(faces, conversation, words, judged)
                print(f"conversation {conversation.name} done", file=sys.stderr)
    found: dict[str, Any] = {"figures": report(judged.marks)}
    if judged.trials:
        print("\nwith one thing off, or set otherwise; differences in points, and where 95 % of them are")
        table = compared(judged.trials)
        print_compared(table)
        found["ablation"] = table
    setup = {key: getattr(words, key) for key in ("mode", "budget", "rerank_limit", "recency_alpha", "sample")}
    path = write_result(words.name, {"setup": setup, **found})
    print(f"\nwritten to {path.name} in bench/results")


def sampled(conversations: tuple[Conversation, ...], size: int) -> tuple[Conversation, ...]:
    """Keep the same random questions in every run: about ``size`` of all."""
    total = sum(len(conversation.questions) for conversation in conversations)
    chance = random.Random(7)
    return tuple(
        Conversation(
            conversation.name,
            conversation.items,
            tuple(question for question in conversation.questions if chance.random() < size / total),
        )
        for conversation in conversations
    )


def main() -> None:
    """Read the words and measure."""
    parser = argparse.ArgumentParser(prog="bench.quality", description=__doc__)
    parser.add_argument("--data", default=DEFAULT_DATA, help="folder with conv-*.jsonl and questions-*.jsonl")
    parser.add_argument("--conversations", nargs="*", default=(), metavar="N", help="only these, say 26 30")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="about N questions instead of all")
    parser.add_argument("--fast", action="store_true", help="leave out the whole pipeline (no reranking)")
    parser.add_argument("--ablation", action="store_true", help="also with each arm, prior and boost off, and in waves")
    parser.add_argument("--mode", default="chunks", choices=[mode.value for mode in ExtractionMode])
    parser.add_argument("--budget", default="mid", choices=[budget.value for budget in Budget])
    parser.add_argument("--rerank-limit", type=int, default=None, metavar="N", help="pairs the cross-encoder reads")
    parser.add_argument("--recency-alpha", type=float, default=None, metavar="A", help="weight of recency")
    parser.add_argument("--name", default="quality", help="name of the result file")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
