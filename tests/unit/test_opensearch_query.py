"""What OpenSearch is asked, as objects."""

import json

from hypothesis import given
from hypothesis import strategies as st

from recallmesh.core.memory import FactType
from recallmesh.keyword.analysis import Analyser, QueryTerm
from recallmesh.keyword.defaults import Ranking
from recallmesh.keyword.opensearch_query import (
    CLAUSES,
    NAMED_WORDS,
    Statistics,
    forms_of,
    hits_of,
    mark_of,
    search_of,
    statistics_body,
    statistics_of,
)
from recallmesh.keyword.ranking import idf
from recallmesh.keyword.store import KeywordQuery

RANKING = Ranking()
ANALYSER = Analyser("english")


def bodies(search) -> list[dict]:
    return [json.loads(line) for line in search.lines.splitlines()][1::2]


def asked_of(text: str, holding: int = 3, memories: int = 10, **wanted):
    asked = ANALYSER.query(text, ("english",))
    statistics = Statistics(memories, dict.fromkeys(forms_of(asked), holding), ("english",))
    return search_of(KeywordQuery("b", text, **wanted), asked, statistics, RANKING)


def keys_of(body: object) -> set[str]:
    """Return every key, at any depth: what a server takes for syntax."""
    if isinstance(body, dict):
        return set(body).union(*map(keys_of, body.values()))
    return set().union(*map(keys_of, body)) if isinstance(body, list) else set()


KEYS = keys_of(bodies(asked_of("Where is the harbour of A-20391?"))) | {"min_score"}
STATISTICS_KEYS = keys_of(statistics_body("b", ("harbour",)))


@given(st.text())
def test_no_character_of_a_query_stands_where_syntax_does(text) -> None:
    asked = ANALYSER.query(text, ("english",))
    assert keys_of(statistics_body("b", forms_of(asked))) <= STATISTICS_KEYS
    search = asked_of(text)
    if search is not None:
        for body in bodies(search):
            assert keys_of(body) <= KEYS


def test_a_word_weighs_by_its_rarity_and_a_function_word_less() -> None:
    (body, *_) = bodies(asked_of("the harbour", holding=2, memories=40))
    (word,) = body["query"]["bool"]["must"][0]["bool"]["should"]
    (helping,) = body["query"]["bool"]["should"]
    worth = idf(40, 2) * (RANKING.k1 + 1)
    assert word["term"]["words"] == {"value": f"{mark_of('b')}harbour", "boost": worth, "_name": "0"}
    assert helping["term"]["words"] == {"value": f"{mark_of('b')}the", "boost": worth * RANKING.function_words}


def test_only_hits_that_are_to_be_explained_tell_their_words() -> None:
    assert "_name" in asked_of("the harbour").lines
    assert "_name" not in asked_of("the harbour", explained=False).lines
    assert "_name" not in asked_of("who is it", explained=False).lines


def test_each_asked_type_has_a_search_of_its_own() -> None:
    search = asked_of("harbour", fact_types=(FactType.OBSERVATION, FactType.WORLD, FactType.WORLD), limit=7)
    assert search.kinds == (FactType.WORLD, FactType.OBSERVATION)
    asked = [body["query"]["bool"]["filter"][1]["term"]["fact_type"] for body in bodies(search)]
    assert asked == ["world", "observation"]
    assert {body["size"] for body in bodies(search)} == {7}


def test_of_very_many_words_the_rarest_are_looked_for_and_fewer_told_of() -> None:
    asked = tuple(QueryTerm((f"w{number:04}",), f"w{number:04}", 1.0, stop=False) for number in range(2_000))
    statistics = Statistics(5_000, {term.word: 2_000 - number for number, term in enumerate(asked)}, ())
    search = search_of(KeywordQuery("b", "", fact_types=(FactType.WORLD,)), asked, statistics, RANKING)
    (body,) = bodies(search)
    words = [clause["term"]["words"] for clause in body["query"]["bool"]["must"][0]["bool"]["should"]]
    assert [word["value"].removeprefix(mark_of("b")) for word in words] == [
        f"w{number:04}" for number in range(1_999, 1_999 - CLAUSES, -1)
    ]
    assert [word["_name"] for word in words if "_name" in word] == [str(number) for number in range(NAMED_WORDS)]


def test_a_word_that_nobody_has_is_not_looked_for() -> None:
    asked = ANALYSER.query("harbour kvassberg", ("english",))
    statistics = Statistics(10, {"harbour": 1, "kvassberg": 0}, ("english",))
    search = search_of(KeywordQuery("b", "", fact_types=(FactType.WORLD,)), asked, statistics, RANKING)
    assert search.words == ("harbour",)
    assert search_of(KeywordQuery("b", ""), asked, Statistics(10, dict.fromkeys(("harbour", "kvassberg"), 0), ()),
                     RANKING) is None  # fmt: skip


def test_hits_tell_their_words_the_rarest_first_and_are_merged_by_score_and_id() -> None:
    search = asked_of("harbour ferry", fact_types=(FactType.WORLD, FactType.EXPERIENCE))
    rows = [[(2.0, "c", ["1", "0"]), (1.0, "b", ["1"])], [(3.0, "a", ["0"]), (1.0, "a2", [])]]
    answers = [
        [{"sort": [score, memory_id], "matched_queries": marks} for score, memory_id, marks in each] for each in rows
    ]
    hits = hits_of({"responses": [{"hits": {"hits": each}} for each in answers]}, search)
    assert [hit.memory_id for hit in hits] == ["a", "c", "a2", "b"]
    assert [hit.fact_type for hit in hits][:2] == [FactType.EXPERIENCE, FactType.WORLD]
    assert hits[1].matched == search.words
    assert hits[2].matched == ()


def test_an_empty_bank_has_no_languages_and_no_counts() -> None:
    answer = {
        "hits": {"total": {"value": 0}},
        "aggregations": {"held": {"buckets": [{"doc_count": 0}]}},
    }
    assert statistics_of(answer, ("harbour",)) == Statistics(0, {"harbour": 0}, ())
