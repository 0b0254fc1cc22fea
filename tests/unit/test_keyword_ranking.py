"""BM25F against the formula written out the long way."""

import math
import random
from statistics import mean

import pytest

from recallmesh.core.memory import FactType
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.keyword import postings as postings_module
from recallmesh.keyword.analysis import Analyser, QueryTerm
from recallmesh.keyword.defaults import Ranking
from recallmesh.keyword.embedded import open_embedded_keyword_store
from recallmesh.keyword.postings import Postings, StoredMemory
from recallmesh.keyword.ranking import Terms, fingerprint, frequencies, idf, terms_of
from recallmesh.keyword.store import KeywordDocument, KeywordQuery

ANALYSER = Analyser("none")
WORDS = [f"word{chr(97 + number)}" for number in range(26)]
RANKINGS = [
    Ranking(),
    Ranking(k1=1.2, b=0.75),
    Ranking(k1=2, b=0, names=0.3, labels=0.7, dates=1.9),
    Ranking(k1=0, b=1),
    Ranking(b=1, names=0, labels=2.5),
]


def bm25f(documents: list[KeywordDocument], query: list[str], ranking: Ranking) -> dict[str, float]:
    """Robertson, Zaragoza and Taylor (2004), each field with its own length norm (Zaragoza et al., 2004).

    The norm of names, labels and dates is 1 (b = 0); a name or label counts once.
    """
    average = mean(len(document.text.split()) for document in documents)
    scores: dict[str, float] = {}

    def frequency(document: KeywordDocument, word: str) -> float:
        text = document.text.split()
        norm = 1 - ranking.b + ranking.b * len(text) / average
        return (
            text.count(word) / norm
            + ranking.names * (word in " ".join(document.names).split())
            + ranking.labels * (word in " ".join(document.labels).split())
            + ranking.dates * document.dates.split().count(word)
        )

    for word in query:
        found = {document.memory_id: frequency(document, word) for document in documents}
        holding = sum(value > 0 for value in found.values())
        rarity = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
        for memory_id, value in found.items():
            if value > 0:
                worth = rarity * value * (ranking.k1 + 1) / (ranking.k1 + value)
                scores[memory_id] = scores.get(memory_id, 0) + worth
    return scores


def some_words(chance: random.Random, most: int, least: int = 0) -> str:
    return " ".join(chance.choices(WORDS, weights=range(1, 27), k=chance.randint(least, most)))


def some_document(chance: random.Random, number: int) -> KeywordDocument:
    names = tuple(some_words(chance, 3, 1) for _ in range(chance.randint(0, 3)))
    labels = tuple(some_words(chance, 2, 1) for _ in range(chance.randint(0, 2)))
    text, dates = some_words(chance, 40, 1), some_words(chance, 3)
    return KeywordDocument(f"{number:03}", 1, FactType.WORLD, text, names=names, labels=labels, dates=dates)


def memory(document: KeywordDocument, analyser: Analyser = ANALYSER) -> StoredMemory:
    return StoredMemory(document.memory_id, document.fact_type, document.tags, terms_of(document, analyser))


def worded(number: int, text: str) -> StoredMemory:
    return memory(KeywordDocument(f"{number:03}", 1, FactType.WORLD, text))


def search(index: Postings, text: str, limit: int = 1000) -> dict[str, float]:
    hits = index.search(KeywordQuery("bank", text, limit=limit), ANALYSER.query(text))
    return {hit.memory_id: hit.score for hit in hits}


def test_reference_values():
    assert idf(10, 1) == pytest.approx(math.log(1 + 9.5 / 1.5))
    assert idf(1, 1) > 0
    assert frequencies(3, Ranking()) == (3.0, 0.0)
    index = Postings(Ranking(k1=1.2, b=0.75), [worded(0, "harbour"), worded(1, "harbour seal seal")])
    norm = 1 - 0.75 + 0.75 * 3 / 2
    assert search(index, "seal") == pytest.approx({"001": math.log(2) * 2 / norm * 2.2 / (2 / norm + 1.2)}, rel=1e-12)


@pytest.mark.parametrize("ranking", RANKINGS, ids=str)
@pytest.mark.parametrize("at_once", [0, 60])
def test_scores_are_bm25f_after_any_history_of_writes(ranking, at_once):
    chance = random.Random(7)
    held = {document.memory_id: document for document in (some_document(chance, n) for n in range(at_once))}
    index = Postings(ranking, map(memory, held.values()))
    for number in range(at_once, 120):
        document = held[f"{number:03}"] = some_document(chance, number)
        index.add(memory(document))
        if number % 3 == 2:
            gone = held.pop(chance.choice(sorted(held)))
            index.discard(gone.memory_id, memory(gone).terms)
    for _ in range(20):
        query = chance.sample(WORDS, 4)
        got = search(index, " ".join(query))
        assert got == pytest.approx(bm25f(list(held.values()), query, ranking), rel=1e-9)
        assert list(got.values()) == sorted(got.values(), reverse=True)


async def test_each_bank_of_a_store_has_its_own_statistics(tmp_path):
    chance = random.Random(11)
    banks = {f"bank-{size}": [some_document(chance, n) for n in range(size)] for size in (1, 7, 90)}
    weights = {"name_weight": 0.4, "label_weight": 0.6}
    async with open_embedded_keyword_store(tmp_path / "keyword.db", language="none", **weights) as store:
        for bank, documents in banks.items():
            await store.upsert(bank, tuple(documents))
        for bank, documents in banks.items():
            query = WORDS[20:24]
            hits = await store.search(KeywordQuery(bank, " ".join(query)))
            expected = bm25f(documents, query, Ranking(names=0.4, labels=0.6))
            assert {hit.memory_id: hit.score for hit in hits} == pytest.approx(expected, rel=1e-9)


def test_a_word_of_several_forms_counts_once_by_its_best():
    index = Postings(Ranking(), [worded(0, "ax bx"), worded(1, "ax"), worded(2, "bx bx"), worded(3, "other words")])
    both = index.search(KeywordQuery("bank", "?"), (QueryTerm(("ax", "bx"), "ax", 1.0, stop=False),))
    alone = {form: index.search(KeywordQuery("bank", "?"), (QueryTerm((form,), form, 1.0, stop=False),))
             for form in ("ax", "bx")}  # fmt: skip
    share = idf(4, 4) / idf(4, 2)  # each form is held by two, so the word by up to four
    best = {hit.memory_id: hit.score * share for hit in (*alone["ax"], *alone["bx"])}
    assert {hit.memory_id: hit.score for hit in both} == pytest.approx(best, rel=1e-9)


def test_scores_do_not_hang_on_the_order_of_writes():
    texts = [some_words(random.Random(n), 20, 1) for n in range(50)]
    query = " ".join(WORDS[10:])
    forward = Postings(Ranking(), [worded(n, text) for n, text in enumerate(texts)])
    backward = Postings(Ranking())
    for number in reversed(range(50)):
        backward.add(worded(number, texts[number]))
    assert list(search(forward, query).items()) == list(search(backward, query).items())


def test_removing_what_is_not_there_changes_nothing():
    index = Postings(Ranking(), [worded(1, "harbour")])
    index.discard("999", worded(999, "harbour").terms)
    assert len(index) == 1
    assert set(search(index, "harbour")) == {"001"}


def test_a_bank_emptied_again_finds_nothing():
    index = Postings(Ranking())
    assert search(index, "harbour") == {}
    index.add(worded(1, "harbour"))
    index.discard("001", worded(1, "harbour").terms)
    assert len(index) == 0
    assert index.languages == ()
    assert search(index, "harbour") == {}


def test_dead_rows_are_told_when_they_are_many(monkeypatch):
    monkeypatch.setattr(postings_module, "DEAD_ROWS", 5)
    index = Postings(Ranking())
    for number in range(12):
        index.add(worded(number, "harbour"))
        if number % 2:
            assert not index.wasteful
            index.discard(f"{number:03}", worded(number, "harbour").terms)
    assert index.wasteful


def test_function_words_raise_a_score_by_their_share():
    english = Analyser("english")
    documents = [
        KeywordDocument(str(number), 1, FactType.WORLD, text)
        for number, text in enumerate(("the harbour", "harbour of ice", "a ferry"))
    ]
    scores = []
    for share in (0.0, 0.5, 1.0):
        index = Postings(Ranking(function_words=share), [memory(document, english) for document in documents])
        hits = index.search(KeywordQuery("bank", "the harbour"), english.query("the harbour"))
        assert {hit.memory_id for hit in hits} == {"0", "1"}
        scores.append(next(hit.score for hit in hits if hit.memory_id == "0"))
    assert scores[1] - scores[0] == pytest.approx(scores[2] - scores[1])
    assert scores[0] < scores[1]


def test_fields_are_counted_apart_and_weigh_what_the_ranking_says():
    document = KeywordDocument(
        "m", 1, FactType.WORLD, "ida met ida", names=("Ida Berg", "Ida"), labels=("topic",), dates="May 2023"
    )
    terms = terms_of(document, ANALYSER)
    ranking = Ranking(names=0.5, labels=0.25, dates=2.0)
    counted = zip(terms.terms, terms.counts, strict=True)
    assert {term: frequencies(packed, ranking) for term, packed in counted} == {
        "ida": (2.0, 0.5), "met": (1.0, 0), "berg": (0, 0.5), "topic": (0, 0.25), "may": (0, 2.0), "2023": (0, 2.0),
    }  # fmt: skip
    assert terms.length == 3


def test_a_field_of_no_weight_is_not_searched_and_not_counted():
    document = KeywordDocument("m", 1, FactType.WORLD, "met", names=("Ida",), dates="May")
    with_names, without = Postings(Ranking(), [memory(document)]), Postings(Ranking(names=0), [memory(document)])
    assert (set(search(with_names, "ida")), set(search(without, "ida"))) == ({"m"}, set())
    assert set(search(without, "may")) == {"m"}
    without.discard("m", memory(document).terms)
    assert search(without, "may met ida") == {}


def test_a_word_met_very_often_does_not_spill_into_the_next_field():
    document = KeywordDocument("m", 1, FactType.WORLD, "dog " * 70_000, dates="dog")
    (packed,) = terms_of(document, ANALYSER).counts
    assert frequencies(packed, Ranking()) == (65_535.0, 1.0)


def test_only_the_analysis_and_its_language_make_stored_terms_stale():
    assert fingerprint("english") == fingerprint("english")
    assert fingerprint("english") != fingerprint("german")


@pytest.mark.parametrize("words", [1, 70, 200])
def test_a_hit_tells_at_most_eight_of_its_words_the_rarest_first(words):
    asked = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}x" for n in range(words)]
    index = Postings(Ranking(), [worded(n, " ".join(asked[: n + 1])) for n in range(words)])
    hits = index.search(KeywordQuery("bank", " ".join(asked), limit=2000), ANALYSER.query(" ".join(asked)))
    assert {hit.memory_id: hit.matched for hit in hits} == {
        f"{n:03}": tuple(asked[: n + 1][::-1][:8]) for n in range(words)
    }


def test_a_rare_tag_is_cut_out_before_the_limit():
    index = Postings(Ranking())
    for number in range(500):
        tags = ("rare",) if number % 100 == 99 else (f"s{number}",)
        index.add(StoredMemory(f"{number:03}", FactType.WORLD, tags, Terms(*_bag(500 - number), 1)))
    hits = index.search(
        KeywordQuery("bank", "dog", limit=5, tags=TagLeaf(frozenset({"rare"}), TagMode.ANY_STRICT)),
        ANALYSER.query("dog"),
    )
    assert [hit.memory_id for hit in hits] == ["099", "199", "299", "399", "499"]


def _bag(count: int):
    terms = terms_of(KeywordDocument("m", 1, FactType.WORLD, "dog " * count), ANALYSER)
    return terms.terms, terms.counts
