"""BM25 against the formula written out the long way."""

import math
import random

import pytest

from recallmesh.core.memory import FactType
from recallmesh.keyword import postings as postings_module
from recallmesh.keyword.analysis import Analyser
from recallmesh.keyword.postings import Postings
from recallmesh.keyword.ranking import Ranking, contribution, fingerprint, idf, length_norm, terms_of
from recallmesh.keyword.store import KeywordDocument, KeywordQuery

ANALYSER = Analyser("none")
WORDS = [f"w{number}" for number in range(30)]


def bm25(bags: list[list[str]], query: list[str], ranking: Ranking) -> dict[int, float]:
    average = sum(map(len, bags)) / len(bags)
    scores = {}
    for number, bag in enumerate(bags):
        score = 0.0
        for word in query:
            holding = sum(word in other for other in bags)
            frequency = bag.count(word)
            if not frequency:
                continue
            rarity = math.log(1 + (len(bags) - holding + 0.5) / (holding + 0.5))
            norm = frequency + ranking.k1 * (1 - ranking.b + ranking.b * len(bag) / average)
            score += rarity * frequency * (ranking.k1 + 1) / norm
        if score:
            scores[number] = score
    return scores


def add(index: Postings, number: int, text: str, ranking: Ranking) -> tuple[str, ...]:
    terms = terms_of(KeywordDocument(f"{number:03}", 1, FactType.WORLD, text), ANALYSER, ranking)
    index.add(f"{number:03}", FactType.WORLD, (), terms)
    return terms.terms


def search(index: Postings, text: str, limit: int = 1000) -> dict[int, float]:
    hits = index.search(KeywordQuery("bank", text, limit=limit), ANALYSER.query(text))
    return {int(hit.memory_id): hit.score for hit in hits}


def test_reference_values():
    assert idf(10, 1) == pytest.approx(math.log(1 + 9.5 / 1.5))
    assert idf(1, 1) > 0
    ranking = Ranking(k1=1.2, b=0.75)
    assert length_norm(10, 10, ranking) == pytest.approx(1.2)
    assert length_norm(20, 10, ranking) == pytest.approx(1.2 * 1.75)
    assert length_norm(0, 0, ranking) == 1.2
    assert contribution(1, 1.2, 1.2) == 1.0
    assert contribution(2, 1.2, 1.2) == pytest.approx(1.375)


@pytest.mark.parametrize("ranking", [Ranking(), Ranking(k1=1.2, b=0.75), Ranking(k1=2, b=0), Ranking(k1=0, b=1)])
def test_scores_are_bm25_after_any_history_of_writes(ranking):
    chance = random.Random(7)
    index = Postings(ranking)
    held: dict[int, tuple[list[str], tuple[str, ...]]] = {}
    for number in range(120):
        bag = chance.choices(WORDS, weights=range(1, 31), k=chance.randint(1, 40))
        held[number] = (bag, add(index, number, " ".join(bag), ranking))
        if number % 3 == 2:
            gone = chance.choice(sorted(held))
            index.discard(f"{gone:03}", held.pop(gone)[1])
    numbers = sorted(held)
    for _ in range(20):
        query = chance.sample(WORDS, 4)
        expected = bm25([held[number][0] for number in numbers], query, ranking)
        got = search(index, " ".join(query))
        assert got == pytest.approx({numbers[place]: score for place, score in expected.items()})
        assert list(got.values()) == sorted(got.values(), reverse=True)


def test_removing_what_is_not_there_changes_nothing():
    index = Postings(Ranking())
    add(index, 1, "harbour", Ranking())
    index.discard("999", ("harbour",))
    assert len(index) == 1
    assert set(search(index, "harbour")) == {1}


def test_a_bank_emptied_again_finds_nothing():
    index = Postings(Ranking())
    index.discard("001", add(index, 1, "harbour", Ranking()))
    assert len(index) == 0
    assert search(index, "harbour") == {}


def test_dead_rows_are_told_when_they_are_many(monkeypatch):
    monkeypatch.setattr(postings_module, "DEAD_ROWS", 5)
    index = Postings(Ranking())
    for number in range(12):
        terms = add(index, number, "harbour", Ranking())
        if number % 2:
            assert not index.wasteful
            index.discard(f"{number:03}", terms)
    assert index.wasteful


def test_function_words_raise_a_score_by_their_share():
    english = Analyser("english")
    scores = []
    for share in (0.0, 0.5, 1.0):
        ranking = Ranking(function_words=share)
        index = Postings(ranking)
        for number, text in enumerate(("the harbour", "harbour of ice", "a ferry")):
            terms = terms_of(KeywordDocument(str(number), 1, FactType.WORLD, text), english, ranking)
            index.add(str(number), FactType.WORLD, (), terms)
        hits = index.search(KeywordQuery("bank", "the harbour"), english.query("the harbour"))
        assert {hit.memory_id for hit in hits} == {"0", "1"}
        scores.append(next(hit.score for hit in hits if hit.memory_id == "0"))
    assert scores[1] - scores[0] == pytest.approx(scores[2] - scores[1])
    assert scores[0] < scores[1]


def test_fields_weigh_what_the_ranking_says():
    ranking = Ranking(names=0.5, labels=0.25, dates=2.0)
    document = KeywordDocument(
        "m", 1, FactType.WORLD, "ida met ida", names=("Ida Berg",), labels=("topic",), dates="May 2023"
    )
    terms = terms_of(document, ANALYSER, ranking)
    assert dict(zip(terms.terms, terms.frequencies, strict=True)) == {
        "ida": 2.0, "met": 1.0, "berg": 0.5, "topic": 0.25, "may": 2.0, "2023": 2.0,
    }  # fmt: skip
    assert terms.length == 5


def test_a_field_of_no_weight_is_not_indexed():
    document = KeywordDocument("m", 1, FactType.WORLD, "met", names=("Ida",), dates="May")
    assert terms_of(document, ANALYSER, Ranking(names=0, dates=0)).terms == ("met",)


def test_what_changes_stored_terms_changes_the_fingerprint():
    plain = fingerprint(Ranking(), "english")
    assert fingerprint(Ranking(k1=3, b=1, function_words=0), "english") == plain
    others = {fingerprint(Ranking(dates=2), "english"), fingerprint(Ranking(names=2), "english")}
    assert len({plain, fingerprint(Ranking(), "german"), *others}) == 4
