"""Resolution: which entity a name means, by name, neighbours and time, and what must never be taken for the same."""

import itertools
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallmesh.core.entity import LABEL, Entity
from recallmesh.core.key import fold, key_of
from recallmesh.core.likeness import Rule, Spelling, likeness
from recallmesh.core.resolution import (
    COMPARISONS,
    LEAD,
    NEIGHBOURS_MOST,
    THRESHOLD,
    TIME_MOST,
    Asked,
    Known,
    judge,
    neighbour_score,
    time_score,
    worth,
)
from recallmesh.core.retain import NamedEntity
from recallmesh.retain.cast import Cast

DAY = datetime(2026, 3, 1, tzinfo=UTC)
NEVER = [
    ("Rune Iversen", "Rune Iversrud"),
    ("Room 101", "Room 102"),
    ("UA123", "UA124"),
    ("Mira", "Samira"),
    ("2023 Tax Return", "2024 Tax Return"),
    ("Martin Berg", "Martina Berg"),
    ("Daniel Kvass", "Danielle Kvass"),
    ("Christian Holm", "Christina Holm"),
    ("Marian Lindqvist", "Marina Lindqvist"),
    ("Carol Bianchi", "Carlo Bianchi"),
    ("Kari Pedersen", "Kari Petersen"),
    ("Kari Hansen", "Kari Hanssen"),
    ("Kari Henriksen", "Kari Hendriksen"),
    ("Mr Chen", "Mrs Chen"),
    ("Alice Chen", "Alice Cole"),
    ("Alice Chen", "Chen"),
    ("Karin Holt", "Karen Holt"),
    ("North Bank", "South Bank"),
    ("Acme Labs", "Acme Bank"),
    ("A-20391", "B-20391"),
    ("Jane", "Jane Co"),
]
FRIENDS = ("Bo Dahl", "Ida Berg", "Leo Vik", "Nadia Moe")


def known(*names, kind="person", aliases=(), **parts):
    return [Known(f"e{n}", key_of(name, kind), kind, name, tuple(aliases), **parts) for n, name in enumerate(names)]


def meant(name, *names, kind="person", **parts):
    held = known(*names, kind=kind, **parts)
    found = judge(Asked(name, kind), held).entity_id
    return next((one.name for one in held if one.id == found), None)


def cast(*names):
    ids = (f"n{number}" for number in itertools.count())
    held = [
        Entity(f"e{n}", name, fold(name), "person", datetime(2026, 1, 1, tzinfo=UTC)) for n, name in enumerate(names)
    ]
    return Cast(lambda: next(ids), held)


@pytest.mark.parametrize("names", NEVER)
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
            assert meant(other, one, kind="organisation" if "Acme" in variants[0] else "person") == one


def test_an_initial_that_two_could_have_is_nobody_known():
    assert meant("Alice C.", "Alice Chen", "Alice Cole") is None
    assert meant("Alice Chen", "Alice C.", "Alice Chen") == "Alice Chen"


def test_an_alias_is_the_entity():
    assert meant("Ally", "Alice Chen", aliases=("Ally",)) == "Alice Chen"


def test_a_label_is_compared_exactly_and_with_labels_only():
    teams = known("team:north", kind=LABEL)
    assert judge(Asked("team:north", LABEL), teams).entity_id == "e0"
    assert judge(Asked("team:nort", LABEL), teams).entity_id is None
    assert judge(Asked("Alice Chen", LABEL), known("Alice Chen")).entity_id is None
    assert judge(Asked("Alice Chen", "person"), known("Alice Chen", kind=LABEL)).entity_id is None


def test_kana_keep_their_marks():
    assert fold("がく") != fold("かく")
    assert fold("ｶﾞｸ") == fold("ガク")


def test_a_name_of_signs_has_a_key():
    assert fold("C++") == "c++"
    assert fold("...") == "..."
    assert fold("") == ""


words = st.text(st.sampled_from("aebcnrst1. -,"), min_size=1, max_size=14)
spellings = st.builds(
    Spelling, words.map(fold), st.sampled_from(["person", "concept", "place", "organisation"]), st.booleans()
)


@given(spellings, spellings)
def test_alike_is_mutual_and_within_its_range(one, other):
    found = likeness(one, other)
    assert found == likeness(other, one)
    assert 0.0 <= found.score <= 1.0


@given(spellings, spellings)
def test_other_names_cannot_be_lifted_over_the_threshold(one, other):
    found = likeness(one, other)
    if found.rule in {Rule.UNLIKE, Rule.NUMBER}:
        assert found.score + NEIGHBOURS_MOST + TIME_MOST < THRESHOLD


def test_a_rule_has_its_score():
    def of(one, other, kind="concept"):
        found = likeness(Spelling(fold(one), kind, one.endswith(".")), Spelling(fold(other), kind, other.endswith(".")))
        return found.score, found.rule

    assert of("Acme Inc", "the Acme") == (0.95, Rule.FORM)
    assert of("Chen, Alice", "Alice Chen") == (0.95, Rule.ORDER)
    assert of("Door Dash", "DoorDash") == (0.95, Rule.SPACING)
    assert of("Rune Iversen", "Rune Iverssen") == (0.9, Rule.SLIP)
    assert of("Alice C", "Alice Chen", "person") == (0.85, Rule.INITIAL)
    assert of("Alice C.", "Alice Chen") == (0.85, Rule.INITIAL)
    assert of("Vitamin C", "Vitamin Complex") == (0.6, Rule.PERHAPS_INITIAL)
    assert of("Room A", "Room Alpha", "place")[1] is Rule.UNLIKE
    assert of("Katherine Holt", "Katharine Holt") == (0.6, Rule.LETTER)
    assert of("Room 101", "Room 102") == (0.0, Rule.NUMBER)
    assert of("Mira", "Samira") == (pytest.approx(0.45 * 0.75), Rule.UNLIKE)


def test_neighbours_and_time_add_what_they_are_said_to():
    scores = [round(neighbour_score([1.0] * number), 4) for number in range(5)]
    assert scores == [0.0, 0.1155, 0.1904, 0.2263, 0.241]
    assert neighbour_score([1.0] * 1000) == NEIGHBOURS_MOST
    assert [time_score(DAY, DAY + timedelta(days=days)) for days in (0, 30, -90)] == [0.05, 0.025, 0.0125]
    assert time_score(None, DAY) == time_score(DAY, None) == 0.0
    assert [worth(count) for count in (0, 1, 50, 500)] == [1.0, 1.0, 1.0, 0.1]


def friends(*whole, **parts):
    return Asked(*parts.pop("name"), dict.fromkeys(whole, 1.0), **parts)


def test_common_neighbours_tell_who_of_two_is_meant():
    chen, cole = known("Alice Chen", "Alice Cole")
    chen, cole = replace(chen, met=frozenset({"bo", "ida"})), replace(cole, met=frozenset({"leo"}))
    assert judge(friends("bo", name=("Alice C.", "person")), [chen, cole]).entity_id == chen.id
    assert judge(friends("leo", name=("Alice C.", "person")), [chen, cole]).entity_id == cole.id
    assert judge(friends("bo", "leo", name=("Alice C.", "person")), [chen, cole]).entity_id is None
    assert judge(friends("nadia", name=("Alice C.", "person")), [chen, cole]).entity_id is None
    verdict = judge(friends("bo", name=("Alice C.", "person"), time=DAY), [chen, replace(cole, last=DAY)])
    assert verdict.entity_id is None  # closeness in time takes away the lead that a neighbour gave
    assert {one.rule for one in verdict.comparisons} == {Rule.AS_NEAR}
    assert verdict.comparisons[0].score - verdict.comparisons[1].score < LEAD


def test_a_possible_name_needs_neighbours_and_a_hub_is_none():
    [one] = known("Katherine Holt", met=frozenset({"bo", "ida"}), last=DAY)
    name = ("Katharine Holt", "person")
    assert judge(Asked(*name, time=DAY), [one]).entity_id is None
    assert judge(friends("bo", name=name, time=DAY), [one]).entity_id is None
    assert judge(friends("bo", "ida", name=name, time=DAY), [one]).entity_id == one.id
    hubs = Asked(*name, {"bo": worth(20_000), "ida": worth(20_000)}, DAY)
    assert judge(hubs, [one]).entity_id is None


def test_who_is_in_doubt_is_who_neighbours_could_decide():
    def doubted(name, *names):
        return judge(Asked(name, "person"), known(*names)).doubted

    assert doubted("Alice C.", "Alice Chen", "Alice Cole") == {"e0", "e1"}
    assert doubted("Katharine Holt", "Katherine Holt", "Karen Holt") == {"e0"}
    assert doubted("Alice C.", "Alice Chen") == frozenset()
    assert doubted("alice chen", "Alice Chen", "Alice Cole") == frozenset()
    assert doubted("Mira", "Samira") == frozenset()


def test_what_a_split_told_apart_is_never_the_same_by_likeness():
    [one] = known("Alice Chen", apart=("alice c",))
    verdict = judge(Asked("Alice C.", "person"), [one])
    assert (verdict.entity_id, verdict.comparisons[0].rule) == (None, Rule.APART)
    assert judge(Asked("A. Chen", "person"), [one]).entity_id == one.id


def test_a_short_form_that_is_taken_means_nobody_else():
    [chen] = known("Alice Chen", aliases=("Alice C.",))
    verdict = judge(Asked("Alice Cole", "person"), [chen])
    assert (verdict.entity_id, verdict.comparisons[0].rule) == (None, Rule.TAKEN)
    short, cole = known("Alice C.", "Alice Cole")
    assert judge(Asked("Alice Chen", "person"), [short, cole]).entity_id is None


def test_a_name_of_its_own_goes_before_anothers_alias():
    one, other = known("Alice Chen", "Ally")
    assert judge(Asked("Ally", "person"), [replace(one, aliases=("Ally",)), other]).entity_id == other.id


def test_a_name_does_not_drift_from_alias_to_alias():
    [one] = known("Rune Iversen", aliases=("Rune Iverssen",))
    assert judge(Asked("Rune Iverssne", "person"), [one]).entity_id is None


def test_a_verdict_tells_the_best_twenty():
    many = known(*(f"Alice {letter * 4}" for letter in "abcdefghijklmnopqrstuvwxyz"))
    verdict = judge(Asked("Alice Zeta", "person"), many)
    scores = [one.score for one in verdict.comparisons]
    assert len(scores) == COMPARISONS
    assert scores == sorted(scores, reverse=True)
    assert not any(one.matched for one in verdict.comparisons)


def told(batch, world):
    """Retain a batch: the ledger's part of it, in a dictionary."""
    players = Cast(world["ids"], list(world["held"].values()))
    players.meet(world["met"])
    for group in batch:
        found = players.mentions([NamedEntity(name, "person") for name in group], DAY)
        for one in found:
            world["met"].setdefault(one.entity_id, frozenset())
            world["met"][one.entity_id] |= {other.entity_id for other in found} - {one.entity_id}
            world["called"].setdefault(one.entity_id, set()).update((one.name, *one.aliases))
    for one in players.used:
        before = world["held"].get(one.id)
        aliases = tuple(dict.fromkeys((*(before.aliases if before else ()), *one.aliases)))
        world["held"][one.id] = Entity(one.id, one.name, one.key, one.kind, DAY, aliases, 1, DAY)


NOISE = ("Alice C.", "A. Chen", "Rune I.", "R. Iversen", "rune  iverssen", "Dr. Martin Berg", "K. Holt", "Daniel K.")


@pytest.mark.parametrize("seed", range(40))
def test_in_whatever_order_batches_come_what_must_never_merge_does_not(seed):
    chance = random.Random(seed)
    names = [*itertools.chain.from_iterable(NEVER), *NOISE] * 2
    chance.shuffle(names)
    # All share the same neighbours, at the same time.
    groups = [(name, *chance.sample(FRIENDS, 3)) for name in names]
    numbers = itertools.count()
    world = {"held": {}, "met": {}, "called": {}, "ids": lambda: f"n{next(numbers)}"}
    for start in range(0, len(groups), 7):
        told(groups[start : start + 7], world)
    for one, other in NEVER:
        together = [held for held in world["called"].values() if {one, other} <= held]
        assert together == [], (one, other)
    for friend in FRIENDS:
        assert sum(friend in held for held in world["called"].values()) == 1


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
