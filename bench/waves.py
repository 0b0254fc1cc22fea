"""Reading in waves: one run reads everything, and every setting of the waves is then told from it."""

import argparse
import asyncio
import itertools
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import log
from pathlib import Path
from statistics import mean, quantiles

from bench.locomo import DEFAULT_DATA, Conversation, load_conversations
from bench.measure import packed
from bench.quality import ask, retain, sampled
from bench.results import write_result
from bench.table import print_figures
from recallmesh.cli.screen import progress
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.memory import FactType, Memory
from recallmesh.core.recall import Scores, TraceCandidate
from recallmesh.core.tuning import Budget, RecallTuning
from recallmesh.mesh import Faces, open_embedded
from recallmesh.recall.score import SHARPNESS
from recallmesh.recall.waves import Goal, stop
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging

COLUMNS = ("read", "p90", "time", "recall@10", "recall@20", "MRR", "pack")
MARGINS = (0.0, 1.0, 2.0, 4.0)
USUAL = 100
"""What recall reads by default: the tokens of its texts, which are the time it takes, are the measure for others."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its candidates in fused order: of those read the raw score and the log of what else counts."""

    memories: tuple[Memory, ...]
    raw: tuple[float, ...]
    known: tuple[float, ...]
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Setting:
    """How far is read: at most ``cap``, in waves of ``wave`` (0: at once) until so many ``places`` are sure."""

    cap: int
    wave: int = 0
    places: int = 0
    margin: float = 0.0
    max_tokens: int = 4096

    @property
    def name(self) -> str:
        """What a table calls it."""
        if not self.wave:
            return f"{self.cap} at once"
        places = f"{self.places} places" if self.places else "the pack"
        return f"{self.cap} in waves of {self.wave}, {places}, margin {self.margin:g}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one question: how many were read, their tokens as a share of the usual, and how good it is."""

    read: int
    share: float
    recall_10: float
    recall_20: float
    reciprocal: float
    pack: float


def asked_of(candidates: Sequence[TraceCandidate], evidence: frozenset[str]) -> Asked:
    """Take from a trace what was known of each candidate, in fused order."""
    made = datetime.fromtimestamp(0, UTC)
    rows = [row for row in sorted(candidates, key=lambda row: row.fused_rank) if row.scores is not None]
    read = [row.scores for row in rows if row.reranked and row.scores is not None]
    return Asked(
        tuple(Memory(row.memory_id, "", FactType.WORLD, made, tokens=row.tokens) for row in rows),
        tuple(scores.reranker_raw or 0.0 for scores in read),
        tuple(_known(scores) for scores in read),
        evidence,
    )


def _known(scores: Scores) -> float:
    priors = scores.fusion_prior * scores.context_prior * scores.naming_prior
    boosts = scores.recency_boost * scores.temporal_boost * scores.proof_boost * scores.strategy_boost
    return log(priors) + SHARPNESS * log(boosts)


def outcome(asked: Asked, setting: Setting) -> Outcome:
    """Read as the setting says, rank what was read, and judge; what was not read follows in fused order."""
    cap = min(setting.cap, len(asked.raw))
    goal = Goal(setting.wave, setting.places, setting.margin, setting.max_tokens)
    read = cap
    for count in range(setting.wave, cap, setting.wave) if setting.wave else ():
        if stop(asked.raw[:count], asked.known[:cap], asked.memories[:cap], goal):
            read = count
            break
    order = sorted(range(read), key=lambda place: (-asked.raw[place] - asked.known[place], place))
    ranking = [asked.memories[place].id for place in (*order, *range(read, len(asked.memories)))]
    tokens = {memory.id: memory.tokens for memory in asked.memories}
    first = next((place for place, key in enumerate(ranking, start=1) if key in asked.evidence), 0)
    within = packed(ranking, tokens, setting.max_tokens)

    def share(keys: Iterable[str]) -> float:
        return len(asked.evidence.intersection(keys)) / len(asked.evidence)

    usual = sum(memory.tokens for memory in asked.memories[:USUAL])
    return Outcome(
        read=read,
        share=sum(memory.tokens for memory in asked.memories[:read]) / usual if usual else 1.0,
        recall_10=share(ranking[:10]),
        recall_20=share(ranking[:20]),
        reciprocal=1 / first if first else 0.0,
        pack=share(within),
    )


def figures(outcomes: Sequence[Outcome]) -> tuple[float, ...]:
    """Return the figures of a setting in the order of ``COLUMNS``."""
    reads = [one.read for one in outcomes]
    return (
        mean(reads),
        quantiles(reads, n=10)[-1] if len(reads) > 1 else float(reads[0]),
        mean(one.share for one in outcomes),
        mean(one.recall_10 for one in outcomes),
        mean(one.recall_20 for one in outcomes),
        mean(one.reciprocal for one in outcomes),
        mean(one.pack for one in outcomes),
    )


def settings(caps: Sequence[int], max_tokens: int) -> list[Setting]:
    """Return what is compared: every cap at once and in waves, and lower caps, which cost as little without waves."""
    fixed = [Setting(cap, max_tokens=max_tokens) for cap in sorted({*caps, 50, 60, 70, 80, 90})]
    waves = itertools.product(caps, (16, 32), (10, 20, 0), MARGINS)
    return fixed + [Setting(cap, wave, places, margin, max_tokens) for cap, wave, places, margin in waves]


async def gather(faces: Faces, conversation: Conversation, read: int) -> list[Asked]:
    """Retain a conversation and ask its questions, reading so many candidates of each."""
    turns = await retain(faces, conversation, ExtractionMode.CHUNKS)
    bank, tuning = BankRef(f"conv-{conversation.name}"), RecallTuning(rerank_limit=read, rerank_wave=0)
    found = []
    with progress("questions") as bar:
        for question in bar.track(conversation.questions, description=conversation.name):
            wanted = frozenset(memory_id for memory_id, turn in turns.items() if turn.dia_id in question.evidence)
            found.append(asked_of(await ask(faces, bank, question, tuning, Budget.MID), wanted))
    return found


async def run(words: argparse.Namespace) -> None:
    """Ask once, tell every setting from it, print and write down."""
    set_up_logging(level="warning")
    conversations = load_conversations(Path(words.data), tuple(words.conversations))
    if words.sample:
        conversations = sampled(conversations, words.sample)
    asked: list[Asked] = []
    with tempfile.TemporaryDirectory() as folder:
        async with open_embedded(load_settings(data=Path(folder))) as faces:
            for conversation in conversations:
                asked += await gather(faces, conversation, max(words.caps))
                print(f"conversation {conversation.name} done", file=sys.stderr)
    found: dict[str, dict[str, tuple[float, ...]]] = {}
    for max_tokens in words.max_tokens:
        rows = {
            setting.name: figures([outcome(one, setting) for one in asked])
            for setting in settings(words.caps, max_tokens)
        }
        found[f"pack of {max_tokens} tokens"] = rows
        print(f"\npack of {max_tokens} tokens, {len(asked)} questions")
        print_figures(("setting", *COLUMNS), [(name, *map(_told, row)) for name, row in rows.items()])
    path = write_result(words.name, {"columns": COLUMNS, "questions": len(asked), "figures": found})
    print(f"\nwritten to {path.name} in bench/results")


def _told(value: float) -> str:
    return f"{value:.1f}" if value > 1 else f"{value:.3f}"


def main() -> None:
    """Read the words and measure."""
    parser = argparse.ArgumentParser(prog="bench.waves", description=__doc__)
    parser.add_argument("--data", default=DEFAULT_DATA, help="folder with conv-*.jsonl and questions-*.jsonl")
    parser.add_argument("--conversations", nargs="*", default=(), metavar="N", help="only these, say 26 30")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="about N questions instead of all")
    parser.add_argument("--caps", nargs="+", type=int, default=(100,), metavar="N", help="pairs read at most")
    parser.add_argument("--max-tokens", nargs="+", type=int, default=(4096, 1024), metavar="N", help="packs")
    parser.add_argument("--name", default="waves", help="name of the result file")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
