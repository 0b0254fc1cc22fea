"""What is stored on OpenSearch of a memory, and what an index of which shape is called."""

import json

import pytest

from recallmesh.core.arm import Removal
from recallmesh.core.memory import FactType
from recallmesh.keyword.analysis import Analyser
from recallmesh.keyword.defaults import Ranking
from recallmesh.keyword.opensearch_index import (
    BULK_CHARS,
    BULK_DOCUMENTS,
    MOST,
    PIVOT_WORDS,
    SCALE,
    Names,
    Row,
    Shape,
    batches,
    document_rows,
    index_body,
    mark_of,
    removal_rows,
)
from recallmesh.keyword.store import KeywordDocument

PLAIN = Shape("none")


def written(rows: list[Row]) -> list[tuple[dict, dict]]:
    pairs = [row.lines.splitlines() for row in rows]
    return [(json.loads(action)["index"], json.loads(stored)) for action, stored in pairs]


def frequencies(document: KeywordDocument, shape: Shape = PLAIN, bank: str = "b") -> dict[str, int]:
    ((_, stored),) = written(document_rows(bank, [document], Analyser(shape.language), shape))
    rows = (row.rpartition("|") for row in stored["words"].split())
    return {term.removeprefix(mark_of(bank)): int(number) for term, _, number in rows}


def document(text: str, **fields) -> KeywordDocument:
    return KeywordDocument("m", 1, FactType.WORLD, text, **fields)


def test_a_word_of_a_text_of_the_pivots_length_counts_as_one() -> None:
    text = " ".join(f"word{chr(97 + number)}" for number in range(int(PIVOT_WORDS)))
    assert set(frequencies(document(text)).values()) == {SCALE}


def test_frequencies_are_those_of_bm25f() -> None:
    ranking = Ranking(b=0.5, names=2.0, labels=0.5, dates=0.0)
    found = frequencies(
        document("harbour harbour", names=("harbour", "ferry"), labels=("ferry",), dates="may"), Shape("none", ranking)
    )
    norm = 0.5 + 0.5 * 2 / PIVOT_WORDS
    assert found == {"harbour": round((2 / norm + 2.0) * SCALE), "ferry": round(2.5 * SCALE)}


def test_no_frequency_is_too_small_to_be_stored_or_too_large_to_be_added_up() -> None:
    assert frequencies(document("harbour " * 60_000), Shape("none", Ranking(b=0.0))) == {"harbour": MOST}
    long = frequencies(document(f"ferry {'harbour ' * 60_000}"), Shape("none", Ranking(b=1.0)))
    assert long["ferry"] == 1


def test_a_text_without_words_is_stored_without_words() -> None:
    assert frequencies(document("…")) == {}


def test_terms_begin_with_a_mark_of_their_bank() -> None:
    one, other = (
        written(document_rows(bank, [document("harbour")], Analyser("none"), PLAIN))[0][1]["words"] for bank in "bc"
    )
    assert one != other
    assert one.partition("harbour")[0] == mark_of("b")


def test_a_removal_outranks_what_it_removes_and_nothing_newer() -> None:
    ((upsert, _),) = written(document_rows("b", [document("harbour")], Analyser("none"), PLAIN))
    ((removal, stored),) = written(removal_rows("b", [Removal("m", 1)]))
    assert (upsert["version"], removal["version"]) == (2, 3)
    assert upsert["_id"] == removal["_id"]
    assert {upsert["version_type"], removal["version_type"]} == {"external_gte"}
    assert stored == {"bank": "b", "memory_id": "m", "live": False, "version": 1}


@pytest.mark.parametrize(
    "other",
    [
        Shape("german"),
        Shape(ranking=Ranking(k1=1.2)),
        Shape(ranking=Ranking(b=0.75)),
        Shape(ranking=Ranking(names=2.0)),
        Shape(ranking=Ranking(labels=2.0)),
        Shape(ranking=Ranking(dates=2.0)),
    ],
    ids=str,
)
def test_what_is_in_the_stored_frequencies_makes_another_index(other) -> None:
    assert other.version != Shape().version
    assert Names("p", other.version).first != Names("p", Shape().version).first


def test_what_function_words_count_comes_with_the_query() -> None:
    assert Shape(ranking=Ranking(function_words=0.5)).version == Shape().version


def test_the_index_notes_its_shape() -> None:
    note = index_body(Shape(), "alias")["mappings"]["_meta"]["recallmesh"]
    assert note == {"version": Shape().version, **Shape().about}
    assert (note["schema"], note["k1"]) == (1, 0.9)


def test_a_lone_surrogate_is_spelled_out() -> None:
    ((_, stored),) = written(document_rows("b", [document("x", tags=("a\ud83d", "b"))], Analyser("none"), PLAIN))
    assert stored["tags"] == ["a\\ud83d", "b"]
    assert stored["tag_count"] == 2


def test_many_rows_and_long_ones_are_parted_in_their_order_and_none_is_left_behind() -> None:
    many = [Row(str(number), "x") for number in range(2 * BULK_DOCUMENTS + 1)]
    assert [len(batch) for batch in batches(many)] == [BULK_DOCUMENTS, BULK_DOCUMENTS, 1]
    assert [row for batch in batches(many) for row in batch] == many
    long = [Row("a", "x"), Row("b", "x" * BULK_CHARS), Row("c", "x"), Row("d", "x" * (BULK_CHARS - 1))]
    assert [[row.id for row in batch] for batch in batches(long)] == [["a"], ["b"], ["c", "d"]]
    assert list(batches([])) == []
