import pytest

from recallmesh.retain.entity import find_names


def kind(text, name):
    return {found.name: found.kind for found in find_names(text)}[name]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("My father has a bakery in Bergen.", "Bergen", "place"),
        ("Samira is moving to Lisbon.", "Lisbon", "place"),
        ("We got back from Porto.", "Porto", "place"),
        ("We ate at Lysverket.", "Lysverket", "place"),
        ("After eleven years at Fjordbank she left.", "Fjordbank", "organisation"),
        ("He works for Tidewise.", "Tidewise", "organisation"),
        ("I applied to the Vestland cooperative.", "Vestland", "organisation"),
        ("A letter of Kvass GmbH came.", "Kvass GmbH", "organisation"),
        ("I saw that the Bank of England wrote.", "Bank of England", "organisation"),
        ("He met Dr. Haugen.", "Dr. Haugen", "person"),
        ("This is my sister Samira.", "Samira", "person"),
        ("We hire an apprentice called Jonas.", "Jonas", "person"),
        ("Then we heard Ida said no.", "Ida", "person"),
        ("He is aboard the vessel G.O. Sars.", "G.O. Sars", "product"),
        ("It is a Miwe Condo from 1998.", "Miwe Condo", "product"),
        ("She bought a new Brompton.", "Brompton", "product"),
        ("We wrote to Ida.", "Ida", "person"),
        ("We wrote to Kvassberg.", "Kvassberg", "concept"),
        ("She sings in Spanish.", "Spanish", "concept"),
        ("We visit them at Christmas.", "Christmas", "concept"),
        ("It is a Norwegian Forest cat.", "Norwegian Forest", "concept"),
    ],
)
def test_the_words_in_and_around_a_name_tell_its_kind(text, name, expected):
    assert kind(text, name) == expected


def test_a_number_with_a_word_before_it_is_no_name():
    assert find_names("About 310,000 kroner.") == ()
