"""Labels: a bank's vocabulary, what it allows, what a text says of it, and what becomes of it in a retain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.retain_fakes import REF, open_bench

from recallmesh.cli.labels import own_labels, relabelled
from recallmesh.core.bank import BankConfig, ExtractionMode, LabelKey, RetainTuning
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.label import find_labels, label_fault, labels_of, tags_of, vocabulary_violations
from recallmesh.core.limits import LABEL_KEYS, LABEL_VALUES, TAG_BYTES
from recallmesh.core.retain import NamedEntity
from recallmesh.retain.extraction import Fact, FoundName

PRIORITY = LabelKey("priority", ("high", "low", "high-est"), "how urgent", write_tags=True)
TEAM = LabelKey("team", ("north", "south:1"))
VOCABULARY = (PRIORITY, TEAM)
CONFIG = BankConfig(labels=VOCABULARY)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a priority:high ticket of team:north", ("priority:high", "team:north")),
        ("(priority:low), priority:low.", ("priority:low",)),
        ("priority:high-est and priority:high", ("priority:high-est", "priority:high")),
        ("team:south:1!", ("team:south:1",)),
        ("priority: high, Priority:high, priority:highest, xpriority:high, priority:high-er, priority:high:er", ()),
        ("team:south and priority:middle", ()),
    ],
)
def test_a_text_has_the_labels_that_it_says_letter_by_letter(text, found):
    assert find_labels(text, VOCABULARY) == found


def test_without_a_vocabulary_nothing_is_a_label():
    assert find_labels("priority:high", ()) == ()
    assert "no vocabulary" in label_fault("priority:high", ())


def test_a_label_that_the_vocabulary_lacks_is_told_what_there_is():
    assert label_fault("team:south:1", VOCABULARY) == ""
    assert label_fault("team", VOCABULARY) == "is no label: one is written key:value"
    assert label_fault("Team:north", VOCABULARY).endswith("it has priority, team")
    assert label_fault("team:nort", VOCABULARY) == "has a value that 'team' may not have; it may have north, south:1"


def test_labels_of_the_keys_that_say_so_are_tags_too():
    assert labels_of(VOCABULARY) == {
        "priority:high", "priority:low", "priority:high-est", "team:north", "team:south:1",
    }  # fmt: skip
    assert tags_of(("team:north", "priority:low"), VOCABULARY) == ("priority:low",)


@pytest.mark.parametrize(
    ("vocabulary", "fields"),
    [
        (VOCABULARY, []),
        ((LabelKey("", ("a",)),), ["l[0].key"]),
        ((LabelKey(" k", ("a",)),), ["l[0].key"]),
        ((LabelKey("a:b", ("a",)),), ["l[0].key"]),
        ((LabelKey("k", ()),), ["l[0].values"]),
        ((LabelKey("k", ("a", "", "b\0")),), ["l[0].values[1]", "l[0].values[2]"]),
        ((LabelKey("k", ("a", "a")),), ["l[0].values[0]", "l[0].values[1]"]),
        ((TEAM, TEAM), ["l[0].key", "l[1].key"]),
        ((LabelKey("k", ("x" * TAG_BYTES,)),), ["l[0].values[0]"]),
        ((LabelKey("k", ("a",), "x" * 1025),), ["l[0].description"]),
        ((LabelKey("k", tuple(map(str, range(LABEL_VALUES + 1)))),), ["l[0].values"]),
        (tuple(LabelKey(f"k{n}", ("a",)) for n in range(LABEL_KEYS + 1)), ["l"]),
    ],
)
def test_a_vocabulary_is_refused_by_the_name_of_its_part(vocabulary, fields):
    assert [violation.field for violation in vocabulary_violations(vocabulary, "l")] == fields


words = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8)
keys = st.builds(
    LabelKey, words, st.lists(words.filter("none".__ne__), min_size=1, unique=True).map(tuple), words, st.booleans()
)


@given(st.lists(keys, unique_by=lambda one: one.key).map(tuple))
def test_a_vocabulary_is_read_from_what_the_command_line_writes_of_it(vocabulary):
    assert relabelled(own_labels(vocabulary), ()) == vocabulary


def test_the_command_line_changes_what_it_names_and_says_what_is_wrong():
    changed = relabelled(["labels.team=", "labels.priority=low", "labels.priority.tags=off"], VOCABULARY)
    assert changed == (LabelKey("priority", ("low",), "how urgent"),)
    with pytest.raises(InvalidArgument) as caught:
        relabelled(["labels.x", "labels.y.tags=on", "labels.team.tags=maybe"], VOCABULARY)
    assert [one.field for one in caught.value.violations] == ["labels.x", "labels.y.tags=on", "labels.team.tags=maybe"]


class Telling:
    """An extractor that gives every passage one fact, with a label of the vocabulary and one of its own."""

    fingerprint, vision = "telling", False
    modes = frozenset({ExtractionMode.CONCISE})

    def __init__(self):
        self.passages = []

    async def extract(self, passages, _mode, _tuning):
        self.passages.extend(passages)
        names = (FoundName("team:north", "label"), FoundName("team:west", "label"), FoundName("Ida"))
        return tuple((Fact(passage.text, names=names),) for passage in passages)


async def test_a_memory_has_the_labels_that_were_given_found_and_said(tmp_path):
    extractor = Telling()
    async with open_bench(tmp_path, extractor=extractor) as bench:
        await bench.ledger.update_bank(REF, name=None, config=CONFIG, version=0)
        given = (NamedEntity("priority:high", "label"),)
        await bench.keep("It is priority:low.", mode=ExtractionMode.CONCISE, entities=given, tags=("t",))
        [memory] = await bench.memories()

    assert [(one.name, one.kind) for one in memory.mentions] == [
        ("priority:high", "label"),
        ("team:north", "label"),
        ("Ida", "concept"),
        ("priority:low", "label"),
    ]
    assert memory.tags == ("t", "priority:high", "priority:low")
    assert extractor.passages[0].labels == VOCABULARY


async def test_a_label_that_the_vocabulary_lacks_is_refused_by_name_and_nothing_is_kept(tmp_path):
    async with open_bench(tmp_path) as bench:
        await bench.ledger.update_bank(REF, name=None, config=CONFIG, version=0)
        for wait in (True, False):
            given = (NamedEntity("Ida"), NamedEntity("team:west", "label"))
            with pytest.raises(InvalidArgument) as caught:
                await bench.keep("It rains.", entities=given, wait=wait)
            assert [one.field for one in caught.value.violations] == ["items[0].entities[1].name"]
        assert await bench.memories() == []


async def test_a_changed_vocabulary_reads_a_document_again(tmp_path):
    async with open_bench(tmp_path) as bench:
        said = ("Leo: the ticket is priority:low.",)
        for labels, tags in (((), ()), (VOCABULARY, ("priority:low",)), (VOCABULARY, ("priority:low",))):
            config = BankConfig(retain=RetainTuning(), labels=labels)
            await bench.ledger.update_bank(REF, name=None, config=config, version=0)
            answer = await bench.keep(*said, mode=ExtractionMode.CONCISE, document_id="d")
            [memory] = await bench.memories()
            assert memory.tags == tags
        assert answer.items[0].unchanged
