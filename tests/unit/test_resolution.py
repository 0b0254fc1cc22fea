import itertools
from datetime import UTC, datetime

import pytest

from recallmesh.core.entity import LABEL, Entity
from recallmesh.core.retain import NamedEntity
from recallmesh.retain.cast import Cast
from recallmesh.retain.resolution import Known, fold, key_of, resolve, same


def known(*names, kind="person", aliases=()):
    return [Known(f"e{n}", key_of(name, kind), kind, name, tuple(aliases)) for n, name in enumerate(names)]


def meant(name, *names, **parts):
    found = resolve(name, "person", known(*names, **parts))
    return found.name if found else None


@pytest.mark.parametrize(
    "names",
    [
        ("Rune Iversen", "Rune Iversrud"),
        ("Room 101", "Room 102"),
        ("UA123", "UA124"),
        ("Mira", "Samira"),
        ("2023 Tax Return", "2024 Tax Return"),
        ("Martin Berg", "Martina Berg"),
        ("Daniel Kvass", "Danielle Kvass"),
        ("Mr Chen", "Mrs Chen"),
        ("Alice Chen", "Alice Cole"),
        ("Alice Chen", "Chen"),
        ("Karin Holt", "Karen Holt"),
        ("North Bank", "South Bank"),
        ("Acme Labs", "Acme Bank"),
        ("A-20391", "B-20391"),
    ],
)
def test_two_names_stay_two(names):
    one, other = names
    assert meant(one, other) is None
    assert meant(other, one) is None


@pytest.mark.parametrize(
    "variants",
    [
        ("Alice Chen", "alice chen", "ALICE CHEN", "Alice  Chen", "Alice\tChen", "Alice\nChen", " Alice Chen "),
        ("Alice Chen", "Dr. Alice Chen", "Prof. Dr. Alice Chen", "Alice Chen's"),
        ("Alice Chen", "Alice C.", "Alice C", "A. Chen", "Chen, Alice"),
        ("José Núñez", "Jose Nunez", "JOSÉ NÚÑEZ"),
        ("Acme Inc.", "Acme", "ACME GmbH", "the Acme"),
        ("DoorDash", "Door Dash", "door-dash"),
        ("Rune Iversen", "Rune Iverssen", "Rune Ivresen"),
    ],
)
def test_variants_are_one(variants):
    for one, other in itertools.permutations(variants, 2):
        if one == variants[0] or fold(one) == fold(other):
            assert meant(other, one) == one


def test_an_initial_that_two_could_have_is_nobody_known():
    assert meant("Alice C.", "Alice Chen", "Alice Cole") is None
    assert meant("Alice Chen", "Alice C.", "Alice Chen") == "Alice Chen"


def test_an_alias_is_the_entity():
    assert meant("Ally", "Alice Chen", aliases=("Ally",)) == "Alice Chen"


def test_a_label_is_compared_exactly_and_with_labels_only():
    teams = known("team:north", kind=LABEL)
    assert resolve("team:north", LABEL, teams) == teams[0]
    assert resolve("team:nort", LABEL, teams) is None
    assert resolve("Alice Chen", LABEL, known("Alice Chen")) is None
    assert resolve("Alice Chen", "person", known("Alice Chen", kind=LABEL)) is None


def test_kana_keep_their_marks():
    assert fold("がく") != fold("かく")
    assert fold("ｶﾞｸ") == fold("ガク")


def test_a_name_of_signs_has_a_key():
    assert fold("C++") == "c++"
    assert fold("...") == "..."
    assert fold("") == ""


def test_alike_is_mutual():
    names = ["alice chen", "alice c", "chen, alice", "rune iversen", "rune iverssen", "rune iversrud", "mira", "samira"]
    assert all(same(one, other) == same(other, one) for one, other in itertools.product(names, names))


def cast(*names):
    ids = (f"n{number}" for number in itertools.count())
    held = [
        Entity(f"e{n}", name, fold(name), "person", datetime(2026, 1, 1, tzinfo=UTC)) for n, name in enumerate(names)
    ]
    return Cast(lambda: next(ids), held)


def test_a_cast_finds_whom_the_bank_knows_and_adds_the_other_spelling():
    players = cast("Alice Chen", "Rune Iversrud")
    assert players.mention(NamedEntity("Alice C.", "person")).entity_id == "e0"
    assert players.mention(NamedEntity("DR. ALICE CHEN", "person")).entity_id == "e0"
    assert players.mention(NamedEntity("Rune Iversen", "person")).entity_id == "n0"
    assert [(one.id, one.aliases) for one in players.used] == [("e0", ("Alice C.",)), ("n0", ())]


def test_names_of_one_write_are_resolved_to_each_other():
    players = cast()
    names = ["DoorDash", "Door Dash", "door  dash", "Rune Iversen", "Rune Iverssen", "Constantinople", "Constantniople"]
    ids = [players.mention(NamedEntity(name)).entity_id for name in names]
    assert ids == ["n0", "n0", "n0", "n1", "n1", "n2", "n2"]


def test_a_name_that_stands_for_itself_is_only_ever_itself():
    players = cast("Alice Chen")
    own = players.mention(NamedEntity("Alice C.", "person", resolve=False)).entity_id
    assert own == "n0"
    assert players.mention(NamedEntity("alice chen", "person", resolve=False)).entity_id == "e0"


def test_a_label_and_a_thing_of_one_name_are_two():
    players = cast("north")
    label = players.mention(NamedEntity("north", LABEL))
    assert (label.entity_id, label.kind) == ("n0", LABEL)
    assert players.mention(NamedEntity("North", LABEL)).entity_id == "n1"
    assert players.mention(NamedEntity("North")).entity_id == "e0"
