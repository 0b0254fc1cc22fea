"""Whatever is asked: no error, and hits of just those memories that share a word with it."""

import string
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recallmesh.core.memory import FactType
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.keyword.analysis import Analyser
from recallmesh.keyword.defaults import RANKING
from recallmesh.keyword.postings import Postings, StoredMemory
from recallmesh.keyword.ranking import terms_of
from recallmesh.keyword.store import KeywordDocument, KeywordQuery

ANALYSER = Analyser("english")
TEXTS = [
    "To be, or not to be: he recited it by the harbour",
    "the plan of 8 May is not to be changed",
    "Ticket A-20391 says C++ and a/b testing, see https://example.org/x?y=z",
    "Wir haben drei Häuser in Zürich gekauft",
    "L'amour de la musique",
    "今日は会議室でしりとりをした",
    "오늘 끝말잇기를 했다",
    "ฉันกินข้าวผัด",
    "Она читала книги",
    "great 👩\u200d🚀🎉 and e\u0301te\u0301",
    "AND OR NOT NEAR TO",
    "getUserName(v2.10.3) -> +49 30 1234567",
]
HELD = {f"m{n:02}": terms_of(KeywordDocument(f"m{n:02}", 1, FactType.WORLD, text), ANALYSER)
        for n, text in enumerate(TEXTS)}  # fmt: skip
BANK = Postings(RANKING, [StoredMemory(memory_id, FactType.WORLD, (), terms) for memory_id, terms in HELD.items()])
PIECES = sorted({piece for text in TEXTS for piece in text.split()})
SIGNS = st.sampled_from([*string.punctuation, "\x00", "\u200d", "\u0301", "\u202e", "\ufeff", "\n", " ", "\ud83d"])
ANY_TEXT = st.text(st.characters(codec=None), max_size=80)
MIXED = st.lists(st.one_of(st.sampled_from(PIECES), SIGNS, ANY_TEXT), max_size=12).map("".join)
SPACED = st.lists(st.one_of(st.sampled_from(PIECES), SIGNS, ANY_TEXT), max_size=12).map(" ".join)


def check(query: str) -> list[str]:
    """Ask, and hold the answer against what each memory holds."""
    asked = ANALYSER.query(query, BANK.languages)
    hits = BANK.search(KeywordQuery("bank", query), asked)
    found = [hit.memory_id for hit in hits]
    words = [term for term in asked if not term.stop]
    if words:
        forms = {form for term in words for form in term.forms}
        expected = {memory_id for memory_id, terms in HELD.items() if forms & set(terms.terms)}
    else:
        expected = {
            memory_id
            for memory_id, terms in HELD.items()
            if len(asked) > 1 and all(set(term.forms) & set(terms.terms) for term in asked)
        }
    assert set(found) == expected
    assert len(found) == len(expected)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.score > 0 and hit.matched for hit in hits)
    return found


@settings(max_examples=400)
@given(st.one_of(ANY_TEXT, MIXED, SPACED))
def test_any_query_finds_exactly_what_shares_a_word_with_it(query):
    check(query)


@settings(max_examples=100)
@given(st.sampled_from(range(len(TEXTS))), st.lists(SIGNS, min_size=1, max_size=4))
def test_signs_around_the_words_change_nothing_but_identifiers(number, signs):
    noise = "".join(signs)
    assert f"m{number:02}" in check(f"{noise} {TEXTS[number]} {noise}")


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_every_memory_is_first_for_its_own_text(number):
    assert check(TEXTS[number])[0] == f"m{number:02}"


@pytest.mark.parametrize("query", ["to be or not to be", "not to be"])
def test_a_query_of_function_words_finds_who_holds_them_all(query):
    assert check(query)[0] in {"m00", "m01"}


@pytest.mark.parametrize(
    "query",
    [
        "the",
        "is",
        "???",
        "",
        " \n\t",
        "\x00",
        "\u200b\u2060",
        "\u0301\u0301",
        "\u202e",
        "-- // ()",
        "*",
        "的" * 0,
        "und",
    ],
)
def test_a_query_without_a_word_finds_nothing(query):
    assert check(query) == []


@pytest.mark.parametrize(
    "query",
    [
        "harbour " * 500,
        "harbour " + "x" * 40_000,
        "harbour " + "語" * 2_000,
        "harbour " + "끝" * 2_000,
        "harbour " + "a\u0301" * 2_000,
        "harbour " + "-".join("ab" for _ in range(2_000)),
        "harbour " + "'".join("ab" for _ in range(2_000)),
        "harbour " + "aB" * 2_000,
        "harbour " + "1 " * 2_000,
        "harbour " + "+1" * 2_000,
        "harbour " + "((" * 2_000 + "1",
        " ".join(f"w{n}" for n in range(499)) + " harbour",
        "harbour " + "\u0301" * 10_000,
        "harbour\x00harbour",
        "har\u200bbour",
        "HARBOUR\u202e",
    ],
    ids=range(16),
)
def test_long_and_odd_queries_are_answered(query):
    assert "m00" in check(query)


def test_a_rare_tag_of_twenty_thousand_memories_is_found_whole():
    near = terms_of(KeywordDocument("m", 1, FactType.WORLD, "harbour ferry harbour ferry"), ANALYSER)
    far = terms_of(KeywordDocument("m", 1, FactType.WORLD, f"long ago a harbour {'and more ' * 30}"), ANALYSER)
    names = [f"m{n:05}" for n in range(20_000)]
    rare = set(names[700::1_300])
    crowd = (StoredMemory(name, FactType.WORLD, (f"s{name[-3:]}",), near) for name in names if name not in rare)
    few = (StoredMemory(name, FactType.WORLD, ("rare",), far) for name in rare)
    bank = Postings(RANKING, chain(crowd, few))
    query = KeywordQuery("bank", "harbour ferry", limit=20, tags=TagLeaf(frozenset({"rare"}), TagMode.ANY_STRICT))
    hits = bank.search(query, ANALYSER.query(query.text, bank.languages))
    assert len(rare) == 15
    assert [hit.memory_id for hit in hits] == sorted(rare)
