"""The language of a text."""

import pytest

from recallmesh.keyword.snowball import LANGUAGES
from recallmesh.keyword.stopwords import ALSO_ENGLISH, TELLING, WORDS
from recallmesh.keyword.tongue import STOPS, language_of


def told(text: str, expected: str = "english") -> str:
    return language_of(text.lower().split(), expected)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("the dogs are asleep in the garden", "english"),
        ("Wir haben drei Häuser in der Stadt", "german"),
        ("elle a acheté deux livres pour sa mère", "french"),
        ("mi hermana tiene dos perros y un gato", "spanish"),
        ("ela não gosta dos cães da vizinha", "portuguese"),
        ("i cani dormono nel giardino della nonna", "italian"),
        ("ik heb een fiets gekocht voor mijn dochter", "dutch"),
        ("hon har köpt en båt och jag är glad", "swedish"),
        ("jeg har købt en cykel til min søster", "danish"),
        ("jeg har ikke kjøpt bøkene", "norwegian"),
        ("koirat ja kissat ovat puutarhassa", "finnish"),
        ("nem tudom hogy ez mit jelent", "hungarian"),
        ("nie lubię tego miasta", "polish"),
        ("děti si hrají a já jsem doma", "czech"),
        ("copiii se joacă în parc și sunt fericiți", "romanian"),
        ("kediler bahçede uyuyor ve çok mutlu", "turkish"),
        ("hem comprat això amb els nens", "catalan"),
        ("saya tidak suka makanan ini", "indonesian"),
        ("", "english"),
        ("Ida Berg, Rune Iversen", "english"),
        ("run, dog, man, place", "english"),
        ("Zoë met Chloé at the café in Zürich", "english"),
        ("Take care! See ya later, thanks and bye", "english"),
        ("Van Gogh and Leonardo da Vinci painted", "english"),
    ],
)
def test_a_text_tells_its_language_and_otherwise_is_of_the_expected_one(text, language):
    assert told(text) == language


def test_another_language_may_be_expected():
    assert told("Ida Berg", "german") == "german"
    assert told("this is what I thought", "german") == "english"


def test_only_the_languages_asked_about_are_told():
    words = ["wir", "haben", "nicht"]
    assert language_of(words, "english", ("french",)) == "english"
    assert language_of(words, "english", ("french", "german")) == "german"


def test_a_long_text_with_a_foreign_phrase_keeps_its_language():
    names = [f"name{number}" for number in range(60)]
    assert language_of([*names, "und", "nicht"], "english") == "english"
    assert language_of(["und", "nicht"], "english") == "german"


def test_every_language_with_function_words_has_a_stemmer():
    assert WORDS.keys() <= LANGUAGES
    assert TELLING.keys() <= WORDS.keys()
    assert all(STOPS[language] for language in WORDS)
    assert not ALSO_ENGLISH & set(WORDS["english"].split())
