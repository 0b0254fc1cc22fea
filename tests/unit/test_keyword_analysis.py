"""Text to terms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallmesh.keyword.analysis import QUERY_TERMS, WHOLE_WEIGHT, Analyser
from recallmesh.keyword.script import fold
from recallmesh.keyword.snowball import TERM_CHARS, Stemmer

ENGLISH = Analyser("english")
HELD = {language: Analyser(language) for language in ("english", "german", "turkish", "none")}


def asked(text: str, analyser: Analyser = ENGLISH) -> list[str]:
    """Return the first form of each word of a query."""
    return [term.forms[0] for term in analyser.query(text)]


def meets(text: str, analyser: Analyser = ENGLISH) -> bool:
    """Tell whether every word of a text, asked for in a bank that holds the text, is found in it."""
    stored = analyser.document(text)
    return all(set(term.forms) & stored.counts.keys() for term in analyser.query(text, (stored.language,)))


def terms(text: str, analyser: Analyser = ENGLISH) -> set[str]:
    return set(analyser.document(text).counts)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Zoë", "zoe"),
        ("ŁÓDŹ", "lodz"),
        ("Straße", "strasse"),
        ("ﬁnding", "finding"),
        ("Ｂ２", "b2"),
        ("Ελλάδα", "ελλαδα"),
        ("Việt Nam", "viet nam"),
        ("Ёлка й", "елка й"),
        ("한국", "한국"),
        ("ｶﾞ", "が"),
        ("カタカナ", "かたかな"),
        ("İstanbul IŞIK ışık", "istanbul isik isik"),
        ("٢٠٢٤ २०२४ ๒๐๒๔", "2024 2024 2024"),
        ("👍🏽 ❤️", "👍 ❤"),
        ("کی", "كي"),
        ("non\u2011stop", "non-stop"),
        ("in\u200bvisible", "invisible"),
        ("مُحَمَّد", "محمد"),
    ],
)
def test_spellings_of_one_word_fold_to_one(text, folded):
    assert fold(text) == folded
    assert fold(fold(text)) == folded


def test_composed_and_decomposed_hangul_are_the_same():
    assert fold("\u1112\u1161\u11ab") == "한"


def test_words_are_stemmed_and_function_words_kept():
    assert terms("The dogs were running") == {"the", "dog", "were", "run"}


def test_length_counts_words_not_terms():
    assert ENGLISH.document("see A-20391 now").length == 4
    assert ENGLISH.document("see UA20391 now").length == 4
    assert ENGLISH.document("猫が好き").length == 3
    assert ENGLISH.document("").length == 0


def test_numbers_of_each_term_are_kept():
    assert ENGLISH.document("run, runs, running: dog").counts == {"run": 3, "dog": 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A-20391", {"a-20391", "a20391", "a", "20391"}),
        ("(10.7/x.y).", {"10.7/x.y", "10.7", "x.y", "10", "7", "x", "y"}),
        ("C++,", {"c++", "c"}),
        ("F#.", {"f#", "f"}),
        ("ida@example.org", {"ida@example.org", "example.org", "ida", "exampl", "org"}),
        ("1,000", {"1,000", "1000", "1", "000"}),
        ("cat,dog", {"cat", "dog"}),
        ("tb-", {"tb"}),
        ("snake_case", {"snake_case", "snakecas", "snake", "case"}),
        ("Ida's dog", {"ida", "dog"}),
        ("getUserName", {"getusernam", "get", "user", "name"}),
        ("UA123", {"ua123", "ua", "123"}),
        ("21st", {"21st"}),
        ("l'amour", {"l'amour", "lamour", "l", "amour"}),
        ("don't", {"don't"}),
        ("a1b2c3d4e5f6a7b8", {"a1b2c3d4e5f6a7b8"}),
        ("v2.10", {"v2.10", "v210", "2.10", "v2", "v", "2", "10"}),
        ("+49 30 1234567", {"tel:1234567", "49", "30", "1234567"}),
        ("2 4 8 16 32 64 128", {"2", "4", "8", "16", "32", "64", "128"}),
    ],
)
def test_joined_words_give_whole_segments_and_parts(text, expected):
    assert terms(text) == expected


def test_a_query_weighs_the_whole_more_than_its_parts():
    weights = {term.forms: term.weight for term in ENGLISH.query("A-20391")}
    assert weights == {("a-20391", "a20391"): WHOLE_WEIGHT, ("a",): 1.0, ("20391",): 1.0}


def test_the_letters_of_a_numbered_thing_only_help():
    assert [(term.word, term.stop) for term in ENGLISH.query("UA123")] == [
        ("ua123", False),
        ("ua", True),
        ("123", False),
    ]


def test_a_query_knows_its_function_words_and_shows_its_words_as_written():
    words = ENGLISH.query("When did the charities race")
    assert [(term.word, term.stop) for term in words] == [
        ("when", True),
        ("did", True),
        ("the", True),
        ("charities", False),
        ("race", False),
    ]


def test_a_word_met_twice_counts_twice():
    weights = [(term.forms, term.weight) for term in ENGLISH.query("dog dogs cat")]
    assert weights == [(("dog",), 2.0), (("cat",), 1.0)]


def test_pairs_of_characters_are_asked_for_and_single_ones_only_alone():
    assert asked("しりとり") == ["しり", "りと", "とり"]
    assert asked("猫") == ["猫"]
    assert terms("끝말잇기를") >= {"끝말", "말잇", "잇기", "끝"}
    assert asked("집에서") == ["집에", "에서", "집"]


def test_what_is_asked_is_among_what_is_stored():
    text = "Ida's C++ talk (10.7/x.y) on 猫, 끝말잇기 and 👩\u200d🚀, see https://example.org/a?b=c"
    assert meets(text)


@given(st.text(st.characters()))
def test_any_text_at_all_is_analysed_and_finds_itself(text):
    stored = terms(text)
    assert meets(text)
    assert all(term and len(term) <= TERM_CHARS and len(term.split()) == 1 for term in stored)


@given(st.text(alphabet="aBé-_./:@'+#,>(1 猫끝\u0301\u200d🇩", max_size=60))
@pytest.mark.parametrize("language", ["english", "german", "turkish", "none"])
def test_any_heap_of_signs_is_analysed_and_finds_itself(language, text):
    assert meets(text, HELD[language])


def test_signs_alone_are_no_terms():
    assert ENGLISH.query('??? " ( ) * \\ ^ ~ [ ] { } -- // \x00 \ud83d') == ()


def test_a_very_long_word_is_cut():
    assert max(map(len, terms("x" * 40_000))) == TERM_CHARS


def test_a_query_of_very_many_words_is_bounded():
    assert len(ENGLISH.query(" ".join(f"w{number}" for number in range(5_000)))) == QUERY_TERMS


def test_the_language_chooses_stems_and_function_words():
    german = Analyser("german")
    assert terms("Häuser", german) == terms("Haus", german)
    assert [term.stop for term in german.query("die Häuser")] == [True, False]
    assert [term.stop for term in ENGLISH.query("die")] == [False]
    assert terms("l'amour", Analyser("french")) >= {"l", "amour"}


def test_a_language_without_a_stemmer_leaves_words_as_they_are():
    assert terms("running dogs", Analyser("none")) == {"running", "dogs"}


def test_a_script_that_gives_the_language_away_is_stemmed_by_it():
    assert Stemmer().forms("книги", "english") == Stemmer().forms("книга", "english")


def test_a_word_with_accents_has_the_forms_of_those_who_write_it_otherwise():
    stemmer = Stemmer()
    assert stemmer.forms("zürich", "english") == ("zurich", "zuerich")
    assert set(stemmer.forms("informações", "portuguese")) & set(stemmer.forms("informação", "portuguese"))
    assert stemmer.forms("harbour", "english") == stemmer.forms("harbours", "english")


def test_a_text_is_stemmed_by_its_own_language_and_asked_for_in_all_that_the_bank_holds():
    stored = ENGLISH.document("Wir haben drei Gärten und sind nicht reich")
    assert stored.language == "german"
    (alone,) = ENGLISH.query("Gartens")
    (both,) = ENGLISH.query("Gartens", ("german",))
    assert not set(alone.forms) & stored.counts.keys()
    assert set(both.forms) & stored.counts.keys()


def test_function_words_are_those_of_the_languages_of_the_bank():
    assert [term.stop for term in ENGLISH.query("und nicht", ("german",))] == [True, True]
    assert [term.stop for term in ENGLISH.query("gatto della", ("italian",))] == [False, True]
    assert [term.stop for term in ENGLISH.query("gatto della")] == [False, False]
    assert [term.stop for term in ENGLISH.query("die", ("german",))] == [False]  # an English word too
