"""Synthetic memories with the statistics of real ones: Zipf words, subjects, speakers, names, two years of dates.

The same number gives the same texts in every run. The words are those of the packaged embedder's vocabulary, which
lists them by frequency, so that a model reads them like any text.
"""

import json
import random
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from recallmesh.core.bank import BankRef
from recallmesh.core.recall import RecallRequest
from recallmesh.core.retain import NamedEntity, RetainItem
from recallmesh.embedder.onnx import PACKAGED
from recallmesh.onnx.files import model_files

BEGIN = datetime(2024, 1, 8, 9, 0, tzinfo=UTC)
YEARS = timedelta(days=730)
TURNS_PER_DOCUMENT = 20
WORDS_MEAN, WORDS_SPREAD = 3.1, 0.5
"""Log-normal lengths: a median of 22 words, as turns of long real conversations have."""
ZIPF_SHIFT = 2.7  # Mandelbrot's correction of Zipf's law for the most frequent words
SUBJECT_WORDS = 60
SUBJECT_SHARE = 0.3
"""The share of words that come from what a document is about."""
SPEAKERS = ("Mara", "Oskar", "Ingrid", "Bashir", "Yuki", "assistant")
PEOPLE = (
    *("Tomas Brenner", "Leila Haddad", "Pavel Novak", "Ana Duarte", "Kofi Mensah", "Greta Lind", "Hugo Marchetti"),
    *("Sunita Rao", "Declan Byrne", "Mirela Popa", "Jonas Falk", "Aiko Tanaka", "Ruth Okafor", "Emil Sorensen"),
)
PLACES = ("Lisbon", "Tromso", "Ghent", "Kyoto", "Valparaiso", "Gdansk", "Cork", "Porto", "Bergen", "Leipzig")
NAMED_SHARE = 0.35
PERIODS = ("last month", "in March 2025", "last summer", "two weeks ago", "in 2024")
PERIOD_EVERY = 7
"""One question in seven names a period: 14 % of the 883 asked of six real conversations (LoCoMo) do."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words by frequency; ``weights`` are the running sums of Zipf's law."""

    words: tuple[str, ...]
    weights: tuple[float, ...]

    def draw(self, chance: random.Random) -> str:
        """Return a word as often as Zipf's law has it."""
        return self.words[bisect(self.weights, chance.random() * self.weights[-1])]


def load_vocabulary() -> Vocabulary:
    """Read the whole words of the packaged embedder's vocabulary."""
    path = model_files(None, packaged=PACKAGED).directory / "tokenizer.json"
    ids: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]
    words = tuple(word for word in sorted(ids, key=ids.__getitem__) if word.isascii() and word.isalpha() and word[1:])
    return Vocabulary(words, tuple(accumulate(1 / (rank + ZIPF_SHIFT) for rank in range(1, len(words) + 1))))


def items(size: int, vocabulary: Vocabulary) -> Iterator[RetainItem]:
    """Yield so many turns of conversation, document after document, in the order of time."""
    chance = random.Random(size)
    documents = -(-size // TURNS_PER_DOCUMENT)
    for number in range(size):
        document, turn = divmod(number, TURNS_PER_DOCUMENT)
        if not turn:
            subject = [vocabulary.words[int(chance.triangular(300, 12_000, 300))] for _ in range(SUBJECT_WORDS)]
            cast = chance.sample(SPEAKERS, 2)
            about = (chance.choice(PEOPLE), chance.choice(PLACES))
        speaker = cast[turn % 2]
        words = [
            chance.choice(subject) if chance.random() < SUBJECT_SHARE else vocabulary.draw(chance)
            for _ in range(max(3, int(chance.lognormvariate(WORDS_MEAN, WORDS_SPREAD))))
        ]
        names = [name for name in about if chance.random() < NAMED_SHARE]
        for name in names:
            words.insert(chance.randrange(len(words)), name)
        entities = [NamedEntity(speaker, "person")] if speaker != "assistant" else []
        entities += [NamedEntity(name, "person" if name in PEOPLE else "place") for name in names]
        yield RetainItem(
            content=(f"{speaker}: {' '.join(words)}.",),
            time=BEGIN + YEARS * document / documents + timedelta(minutes=turn),
            context=f"{speaker} speaking",
            document_id=f"d{document:06}",
            tags=(f"subject-{document % 40}",),
            entities=tuple(entities),
        )


def questions(texts: list[str], count: int, bank: BankRef, *, period_every: int = PERIOD_EVERY) -> list[RecallRequest]:
    """Ask about random memories: a few of their words, a name, and in every ``period_every``-th question a period."""
    chance = random.Random(count)
    asked = []
    for number in range(count):
        speaker, _, said = chance.choice(texts).partition(": ")
        rare = sorted(set(said.rstrip(".").split()), key=lambda word: (-len(word), word))[:8]
        about = " ".join(chance.sample(rare, min(4, len(rare))))
        turn, left = divmod(number, period_every)
        period = "" if left else f" {PERIODS[turn % len(PERIODS)]}"
        text = f"What did {speaker} say about {about}{period}?"
        asked.append(RecallRequest(bank, text, query_time=BEGIN + YEARS))
    return asked
