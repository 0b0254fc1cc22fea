"""The memories of a bank that grows: documents made of their numbers alone, so that a load goes on where it stopped.

Beside what ``corpus`` has (Zipf words, lengths, subjects, speakers), what grows with a bank grows here: people, places,
topics and coined words become more by the powers that real collections show (Heaps), and each is met as often as its
rank says (Zipf). Things are told again: a turn in eight repeats a topic's stock of sentences in other words. Times do
not follow the numbers: however many documents are taken, they fill two years evenly.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache

from bench import corpus
from bench.corpus import Vocabulary
from recallmesh.core.retain import NamedEntity, RetainItem

TURNS = corpus.TURNS_PER_DOCUMENT
GOLDEN = 0.6180339887498949
"""Multiples of the golden ratio, without their whole part, fill [0, 1) evenly however many are taken."""
TOPICS, PEOPLE, PLACES, COINED = (4.0, 0.75), (24.0, 0.6), (20.0, 0.4), (200.0, 0.8)
"""How many there are of each after n documents: the first times n to the power of the second."""
COINED_SHARE = 0.003
"""The share of words that no dictionary has: names of products, numbers of orders."""
TOLD_AGAIN = 0.12
STOCK = 6
"""Sentences of a topic that are told again and again."""
KEPT = 0.85
"""The share of a sentence's words that stay when it is told again."""
SYLLABLES = ("ba", "ro", "li", "den", "mar", "ka", "to", "vi", "sel", "un", "gra", "pe", "no", "sha", "ter", "il")


@dataclass(frozen=True, slots=True)
class Topic:
    """What documents are about: words that recur, and sentences that do."""

    words: tuple[str, ...]
    stock: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Growing:
    """Makes documents of their numbers; ``seed`` makes another bank."""

    vocabulary: Vocabulary = field(hash=False)
    seed: int = 0

    def items(self, first: int, after: int) -> Iterator[RetainItem]:
        """Yield the turns with these numbers, both the first turn of a document."""
        for document in range(first // TURNS, -(-after // TURNS)):
            yield from self.document(document)

    def document(self, number: int) -> list[RetainItem]:
        """Make a document of twenty turns."""
        chance = random.Random(number * 1_000_003 + self.seed)
        topic = _topic(self, drawn(chance, number, TOPICS))
        cast = chance.sample(corpus.SPEAKERS, 2)
        person, place = _person(drawn(chance, number, PEOPLE)), _place(drawn(chance, number, PLACES))
        begin = time_of(number)
        tag = f"subject-{chance.randrange(40)}"
        return [
            self._turn(chance, topic, cast[turn % 2], (person, place), (number, turn, begin, tag))
            for turn in range(TURNS)
        ]

    def _turn(
        self,
        chance: random.Random,
        topic: Topic,
        speaker: str,
        about: tuple[str, str],
        where: tuple[int, int, datetime, str],
    ) -> RetainItem:
        number, turn, begin, tag = where
        if chance.random() < TOLD_AGAIN:
            words = [
                word if chance.random() < KEPT else self._word(chance, topic, number)
                for word in chance.choice(topic.stock)
            ]
        else:
            words = [self._word(chance, topic, number) for _ in range(_length(chance))]
        names = [
            (name, kind)
            for name, kind in zip(about, ("person", "place"), strict=True)
            if chance.random() < corpus.NAMED_SHARE
        ]
        for name, _ in names:
            words.insert(chance.randrange(len(words)), name)
        named = [*([(speaker, "person")] if speaker != "assistant" else []), *names]
        return RetainItem(
            content=(f"{speaker}: {' '.join(words)}.",),
            time=begin + timedelta(minutes=turn),
            context=f"{speaker} speaking",
            document_id=f"d{number:06}",
            tags=(tag,),
            entities=tuple(NamedEntity(name, kind) for name, kind in named),
        )

    def _word(self, chance: random.Random, topic: Topic, number: int) -> str:
        if chance.random() < COINED_SHARE:
            return coined(drawn(chance, number, COINED))
        return chance.choice(topic.words) if chance.random() < corpus.SUBJECT_SHARE else self.vocabulary.draw(chance)


def sample(growing: Growing, size: int, count: int) -> list[RetainItem]:
    """Return so many of the first ``size`` turns, from anywhere among them; the same in every run."""
    chance = random.Random(size)
    return [growing.document(chance.randrange(size // TURNS))[chance.randrange(TURNS)] for _ in range(count)]


def texts_of(items: Sequence[RetainItem]) -> list[str]:
    """Return what is said in them."""
    return [str(item.content[0]) for item in items]


def time_of(document: int) -> datetime:
    """Return when a document begins: every stretch of the two years gets its share of any number of documents."""
    return corpus.BEGIN + corpus.YEARS * (document * GOLDEN % 1.0)


def drawn(chance: random.Random, document: int, growth: tuple[float, float]) -> int:
    """Draw a rank by Zipf's law among as many as there are by then; the first is 0."""
    many = growth[0] * (document + 1) ** growth[1]
    return int(many ** chance.random()) - 1


def coined(rank: int) -> str:
    """Return a word that no dictionary has, another one for each rank."""
    return f"{_spelt(rank + 7)}{rank % 97}"


def _length(chance: random.Random) -> int:
    return max(3, int(chance.lognormvariate(corpus.WORDS_MEAN, corpus.WORDS_SPREAD)))


@lru_cache(4096)
def _topic(growing: Growing, rank: int) -> Topic:
    chance, vocabulary = random.Random(f"topic {growing.seed} {rank}"), growing.vocabulary
    words = tuple(vocabulary.words[int(chance.triangular(300, 12_000, 300))] for _ in range(corpus.SUBJECT_WORDS))

    def word() -> str:
        return chance.choice(words) if chance.random() < corpus.SUBJECT_SHARE else vocabulary.draw(chance)

    return Topic(words, tuple(tuple(word() for _ in range(_length(chance))) for _ in range(STOCK)))


@lru_cache(65_536)
def _person(rank: int) -> str:
    if rank < len(corpus.PEOPLE):
        return corpus.PEOPLE[rank]
    given = corpus.PEOPLE[rank % len(corpus.PEOPLE)].split()[0]
    return f"{given} {_spelt(rank).capitalize()}"


@lru_cache(65_536)
def _place(rank: int) -> str:
    return corpus.PLACES[rank] if rank < len(corpus.PLACES) else f"{_spelt(rank).capitalize()}ville"


def _spelt(number: int) -> str:
    """Write a number in syllables, three at least."""
    parts: list[str] = []
    while number or len(parts) < 3:  # shorter ones could be words
        number, digit = divmod(number, len(SYLLABLES))
        parts.append(SYLLABLES[digit])
    return "".join(parts)
