"""What a reader may be told of a memory and of a chunk (SPEC R20, case 29)."""

from dataclasses import replace

import pytest
from unit.recall_fakes import memory

from recallmesh.core.disclosure import disclosed, may_quote, may_show_chunk
from recallmesh.core.document import Chunk, ChunkOutline
from recallmesh.core.memory import FactType, MemoryState, Mention, Outline
from recallmesh.core.tags import EVERYTHING, TagAnd, TagLeaf, TagMode, TagNot

OPEN = TagLeaf(frozenset({"open"}), TagMode.ANY_STRICT)
BUYER = Mention("e", "Mira Orwin", "person", ("Orwin", "the buyer of the mill", "オルウィン"))


def about(text: str, *mentions: Mention, context: str = ""):
    return replace(memory(1), text=text, context=context, mentions=mentions or (BUYER,), tags=("open",))


def names(told) -> list[tuple[str, ...]]:
    return [(one.name, *one.aliases) for one in told.mentions]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Mira Orwin called.", "Mira Orwin"),
        ("MÍRA  ORWIN, she called.", "Mira Orwin"),
        ("Ms Orwin's car is red.", "Orwin"),
        ("The buyer of the mill is Orwin.", "Orwin"),
        ("昨日オルウィンが来た。", "オルウィン"),
    ],
)
def test_an_entity_is_called_what_the_memory_calls_it(text, name):
    assert names(disclosed(about(text), OPEN)) == [(name,)]


def test_the_context_counts_as_the_memorys_own_word():
    assert names(disclosed(about("I called.", context="Orwin is speaking"), OPEN)) == [("Orwin",)]


@pytest.mark.parametrize("text", ["She called.", "Orwins are many.", "The buyers of the mill called.", ""])
def test_an_entity_that_the_memory_does_not_name_is_left_out(text):
    assert names(disclosed(about(text), OPEN)) == []


def test_a_label_is_the_memorys_own_and_stays():
    label = Mention("l", "mood:glad", "label")
    assert names(disclosed(about("She called.", label, BUYER), OPEN)) == [("mood:glad",)]


@pytest.mark.parametrize("test", [EVERYTHING, TagLeaf(mode=TagMode.ALL_STRICT)])
def test_without_a_test_a_memory_is_told_as_it_is(test):
    told = about("She called.")
    assert disclosed(told, test) is told
    assert may_quote("names Mira Orwin", told, test)
    assert may_quote("names Mira Orwin", None, test)


@pytest.mark.parametrize("test", [OPEN, TagLeaf(mode=TagMode.EXACT), TagNot(OPEN), TagAnd(())])
def test_any_other_test_is_in_force(test):
    assert names(disclosed(about("She called."), test)) == []


def test_a_phrase_may_call_nobody_what_the_memory_does_not():
    said = about("Ms Orwin called.")
    assert may_quote("names Orwin; near the query", said, OPEN)
    assert not may_quote("shares Mira Orwin with the seeds", said, OPEN)
    assert not may_quote("names the buyer of the mill, Orwin", said, OPEN)
    assert not may_quote("near the query", None, OPEN)


def outline(*tags: str, state: MemoryState = MemoryState.ACTIVE) -> Outline:
    return Outline(f"m{tags}", FactType.WORLD, tags, state=state)


def test_a_chunk_comes_only_where_all_its_memories_may():
    def comes(*memories: Outline, outdated: bool = False) -> bool:
        chunk = Chunk("c", "d", 0, "Both called.", 3, outdated=outdated)
        return may_show_chunk(chunk, ChunkOutline("c", memories), OPEN)

    shown, hidden = outline("open"), outline("shut")
    assert comes(shown, shown)
    assert comes(outline("open", state=MemoryState.RETIRING))
    assert not comes(shown, hidden)
    assert not comes(shown, outline("open", state=MemoryState.INVALIDATED))
    assert not comes(shown, outdated=True)
    assert not comes()
    assert not may_show_chunk(Chunk("c", "d", 0, "", 0), None, OPEN)
