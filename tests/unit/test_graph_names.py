"""Which entities a query names."""

import pytest

from recallmesh.graph.names import name_key, named, prefixes, spans
from recallmesh.graph.store import NamedEntity


def known(*names):
    """Make entities of names; a colon makes a label, a star a person, a digit a thing."""
    return tuple(
        NamedEntity(name.strip("*"), name.strip("*"), name_key(name.strip("*")), kind, 1)
        for name in names
        for kind in ("label" if ":" in name else "person" if name.endswith("*") else "concept",)
    )


def found(text, *names):
    return {entity.name for entity in named(spans(text), known(*names))}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Alice Chen", "alice  chen"),
        ("Alice Chen", "ALICE\tCHEN\n"),
        ("José", "Jose"),
        ("Straße", "STRASSE"),
        ("Ｇｏｏｇｌｅ", "google"),
        ("“Acme, Inc.”", "Acme Inc"),
        ("Alice C.", "alice c"),
        ("が", "か\u3099"),
        ("Zoe\u0308", "Zoë"),
    ],
)
def test_names_that_differ_in_dress_only_have_one_key(one, other):
    assert name_key(one) == name_key(other) != ""


@pytest.mark.parametrize(("one", "other"), [("が", "か"), ("C++", "C"), ("A-20391", "A-20392"), ("민수", "민주")])
def test_names_that_differ_in_substance_keep_their_keys(one, other):
    assert name_key(one) != name_key(other)


def test_what_no_store_can_hold_does_not_reach_a_key():
    assert name_key("a\x00b\ud800") == "a b"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Where does Alice work?", {"Alice"}),
        ("where does alice's sister work", {"Alice"}),
        ("What did Alice and GOOGLE do", {"Alice", "Google"}),
        ("(alice)", {"Alice"}),
        ("who is Alicea", set()),
        ("", set()),
    ],
)
def test_names_are_found_whatever_their_case_and_punctuation(text, names):
    assert found(text, "Alice", "Google", "Bob") == names


def test_the_longest_name_wins_over_names_inside_it():
    assert found("what is in Room 101 now", "Room 101", "Room") == {"Room 101"}
    assert found("the Room and Room 101", "Room 101", "Room") == {"Room 101", "Room"}


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("what is in Room 102", "Room 101"),
        ("flight UA124", "UA123"),
        ("where is Mira", "Samira"),
        ("where is Samira", "Mira"),
        ("Rune Iversrud called", "Rune Iversen"),
        ("the 2024 Tax Return", "2023 Tax Return"),
        ("what about the sound", "Bound"),
        ("the key priority:hihg", "priority:high"),
        ("Nina came", "Mina"),
        ("where is Maria", "Mario"),
    ],
)
def test_near_names_are_not_taken_for_one_another(text, near):
    assert found(text, near) == set()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("where is Katherina", "Katharina"),
        ("what does Gogole make", "Google"),
        ("did Rune Iversn call", "Rune Iversen"),
    ],
)
def test_a_slip_in_a_name_is_forgiven(text, name):
    assert found(text, name) == {name}


def test_an_exact_name_leaves_no_room_for_a_near_one():
    assert found("where is Katharina", "Katharina", "Katherina") == {"Katharina"}


def test_a_given_name_means_the_only_person_who_has_it():
    assert found("Where does Alice work?", "Alice Chen*", "Bob Chen*") == {"Alice Chen"}
    assert found("Where does Alice work?", "Alice Chen*", "Alice Wu*") == set()
    assert found("Where does Alice Jones work?", "Alice Chen*") == set()
    assert found("the acme report", "Acme Rockets") == set()


def test_small_words_are_names_only_when_written_as_names():
    assert found("will it rain in may", "Will*", "May*", "It") == set()
    assert found("did Will come", "Will*") == {"Will"}


def test_labels_match_as_they_are():
    assert found("tickets with priority:high", "priority:high") == {"priority:high"}


def test_names_are_found_inside_text_without_spaces():
    assert found("昨天王小明去了北京吗", "王小明", "北京", "上海") == {"王小明", "北京"}
    assert found("민수는 어디에 있어", "민수") == {"민수"}


def test_a_long_text_is_not_read_for_slips():
    text = "word " * 40 + "Katherina"
    assert found(text, "Katharina") == set()
    assert prefixes(spans(text)) == ("katherina ", "word ")


def test_a_name_under_two_keys_is_one_entity():
    twice = (*known("Bob"), NamedEntity("Bob", "Bob", "bobby", "person", 1))
    assert len(named(spans("Bob or Bobby"), twice)) == 1
