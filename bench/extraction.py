"""What the local extractor makes of conversations, and how much of the evidence a pack of its facts holds.

A turn is an item and a session a document, as a chat client retains; every mode is asked the same questions.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from bench.ablation import SAMPLES, interval
from bench.evidence import PACKS, Found, Kept, average, find, turns_of
from bench.labelled import load_labelled, tally_names
from bench.locomo import DEFAULT_DATA, Conversation, load_conversations
from bench.quality import ask, final_ranking, rankings, sampled
from bench.remembering import open_remembering
from bench.results import write_result
from bench.table import print_figures
from recallmesh.cli.screen import progress
from recallmesh.client import Client
from recallmesh.core.bank import BankConfig, BankRef, ExtractionMode, RetainTuning
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import RetainRequest
from recallmesh.core.tuning import Budget, RecallTuning
from recallmesh.retain.local import LocalExtractor
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging
from recallmesh.when import GrammarTimeReader

FUSED, WHOLE = "RRF of all", "whole"
MODES = ("chunks", "concise", "verbose")


@dataclass(slots=True)
class Yield:
    """What a mode made of all turns."""

    turns: int = 0
    silent: int = 0
    facts: int = 0
    tokens: int = 0
    dated: int = 0
    named: int = 0
    evidence: int = 0
    evidence_lost: list[str] = field(default_factory=list)

    def figures(self) -> dict[str, float | int | list[str]]:
        """Return what is told of it."""
        return {
            "turns": self.turns,
            "turns without a fact": self.silent,
            "facts": self.facts,
            "facts per turn": round(self.facts / self.turns, 3),
            "tokens per fact": round(self.tokens / self.facts, 1),
            "facts per 1000 tokens": round(1000 * self.facts / self.tokens, 1),
            "share with a date": round(self.dated / self.facts, 4),
            "entities per fact": round(self.named / self.facts, 2),
            "evidence turns": self.evidence,
            "evidence turns without a fact": self.evidence_lost,
        }


async def retain(faces: Client, conversation: Conversation, mode: str, made: Yield) -> tuple[BankRef, dict[str, Kept]]:
    """Retain a conversation in a bank of its own; returns what became of it."""
    bank = BankRef(f"conv-{conversation.name}-{mode}")
    tuning = RetainTuning(mode=ExtractionMode(mode))
    await faces.admin.create_bank(bank, config=BankConfig(retain=tuning))
    before: dict[str, tuple[str, str]] = {}
    documents: dict[str, list[int]] = defaultdict(list)
    for place, item in enumerate(conversation.items):
        if documents[item.document_id]:
            last = conversation.items[documents[item.document_id][-1]]
            before[item.metadata["dia_id"]] = (last.metadata["dia_id"], str(last.content[0]))
        documents[item.document_id].append(place)
    for places in documents.values():
        await faces.retainer.retain(RetainRequest(bank, tuple(conversation.items[place] for place in places)))
    kept: dict[str, Kept] = {}
    after = ""
    while True:
        page = await faces.admin.list_memories(bank, MemoryFilter(), PageRequest(1000, after))
        for row in page.rows:
            own = row.metadata["dia_id"]
            kept[row.id] = Kept(row.text, row.tokens, turns_of(row.text, own, before.get(own)))
            made.dated += row.occurred is not None
            made.named += len(row.mentions)
        after = page.next_after
        if not after:
            break
    told = frozenset(turn for one in kept.values() for turn in one.turns)
    wanted = frozenset(turn for question in conversation.questions for turn in question.evidence)
    made.turns += len(conversation.items)
    made.silent += sum(item.metadata["dia_id"] not in told for item in conversation.items)
    made.facts += len(kept)
    made.tokens += sum(one.tokens for one in kept.values())
    made.evidence += len(wanted)
    made.evidence_lost += [f"{conversation.name}/{turn}" for turn in sorted(wanted - told)]
    return bank, kept


async def ask_all(
    faces: Client, conversation: Conversation, bank: BankRef, kept: dict[str, Kept], *, whole: bool
) -> dict[str, list[tuple[Found, ...]]]:
    """Ask every question; returns how much each pack held, by ranking."""
    judged: dict[str, list[tuple[Found, ...]]] = defaultdict(list)
    with progress("questions") as bar:
        for question in bar.track(conversation.questions, description=str(bank.bank_id)):
            trace = await ask(faces, bank, question, RecallTuning(reranking=whole), Budget.MID)
            lists = {FUSED: rankings(trace.candidates)[FUSED]}
            if whole:
                lists[WHOLE] = final_ranking(trace.candidates)
            for name, ranking in lists.items():
                judged[name].append(find(ranking, kept, question.evidence, question.answer))
    return judged


def compared(judged: dict[str, dict[str, list[tuple[Found, ...]]]]) -> dict[str, Any]:
    """Return the shares by ranking and mode, and how the others differ from one memory a turn, question by question."""
    table: dict[str, Any] = {}
    for mode, lists in judged.items():
        for name, rows in lists.items():
            table.setdefault(name, {})[mode] = average(rows)
            usual = judged.get("chunks", {}).get(name)
            if mode != "chunks" and usual:
                for place, limit in enumerate(PACKS):
                    pairs = [(row[place], base[place]) for row, base in zip(rows, usual, strict=True)]
                    table[name][mode][str(limit)] |= {
                        "evidence_difference": _difference([row.evidence - base.evidence for row, base in pairs]),
                        "answer_difference": _difference([row.answer - base.answer for row, base in pairs]),
                    }
    return table


def _difference(differences: Sequence[float]) -> list[float]:
    chance = random.Random(0)
    draws = [[chance.randrange(len(differences)) for _ in differences] for _ in range(SAMPLES)]
    return [round(mean(differences), 4), *interval(differences, draws)]


def report(table: dict[str, Any]) -> None:
    """Print the shares, and the differences in points with their 95 % bootstrap intervals."""
    for name, modes in table.items():
        rows = []
        for mode, packs in modes.items():
            cells = []
            for what in ("evidence", "answer"):
                for figures in packs.values():
                    cell = f"{figures[what]:.3f}"
                    if (difference := figures.get(f"{what}_difference")) is not None:
                        points, low, high = (100 * one for one in difference)
                        cell += f" ({points:+.1f} [{low:+.1f}, {high:+.1f}])"
                    cells.append(cell)
            rows.append((mode, *cells))
        print(f"\n{name}")
        print_figures(("mode", *(f"{what} {limit}" for what in ("evidence", "answer") for limit in PACKS)), rows)


async def run(words: argparse.Namespace) -> None:
    """Measure, print and write down."""
    set_up_logging(level="warning")
    conversations = load_conversations(Path(words.data), tuple(words.conversations))
    if words.sample:
        conversations = sampled(conversations, words.sample)
    made = {mode: Yield() for mode in words.modes}
    judged: dict[str, dict[str, list[tuple[Found, ...]]]] = {mode: defaultdict(list) for mode in words.modes}
    with tempfile.TemporaryDirectory() as folder:
        async with open_remembering(load_settings(data=Path(folder)), words.pairs) as faces:
            for conversation in conversations:
                for mode in words.modes:
                    bank, kept = await retain(faces, conversation, mode, made[mode])
                    lists = await ask_all(faces, conversation, bank, kept, whole=not words.fast)
                    for name, rows in lists.items():
                        judged[mode][name] += rows
                print(f"conversation {conversation.name} done", file=sys.stderr)
    table = compared(judged)
    report(table)
    yields = {mode: one.figures() for mode, one in made.items()}
    print()
    heads = [key for key in yields[words.modes[0]] if not key.endswith("without a fact") or key.startswith("turns")]
    print_figures(("what", *words.modes), [(key, *(str(yields[mode][key]) for mode in words.modes)) for key in heads])
    tallies = await tally_names(load_labelled(), LocalExtractor(GrammarTimeReader()))
    names = {part: tally.figures() for part, tally in tallies.items()}
    print("\nnames in sentences marked by hand")
    print_figures(("part", *names["all"]), [(part, *map(str, one.values())) for part, one in names.items()])
    setup = {key: getattr(words, key) for key in ("modes", "fast", "sample")}
    path = write_result(words.name, {"setup": setup, "packs": table, "facts": yields, "names": names})
    print(f"\nwritten to {path.name} in bench/results")


def main() -> None:
    """Read the words and measure."""
    parser = argparse.ArgumentParser(prog="bench.extraction", description=__doc__)
    parser.add_argument("--data", default=DEFAULT_DATA, help="folder with conv-*.jsonl and questions-*.jsonl")
    parser.add_argument("--conversations", nargs="*", default=(), metavar="N", help="only these, say 26 30")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="about N questions instead of all")
    parser.add_argument("--fast", action="store_true", help="leave out the whole pipeline (no reranking)")
    parser.add_argument("--modes", nargs="*", default=("chunks", "concise"), choices=MODES)
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="keeps what the cross-encoder said, from run to run")
    parser.add_argument("--name", default="extraction", help="name of the result file")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
