"""Memories that are edited by hand go through their bank's memory defense."""

from dataclasses import replace

import pytest
from unit.retain_fakes import REF, WordCounter, open_bench

from recallmesh.bank.admin import LedgerAdmin
from recallmesh.core.defense import DefenseAction, DefenseTuning
from recallmesh.core.errors import DefenseBlocked, NotReady
from recallmesh.core.event import EventFilter, EventKind
from recallmesh.core.ledger import MemoryEdit
from recallmesh.core.page import PageRequest
from recallmesh.retain.defense.screening import RuleScreening

REDACT, BLOCK = DefenseAction
MAIL = "nadia.berg" + "@mail.example"


@pytest.fixture
async def bench(tmp_path):
    async with open_bench(tmp_path) as made:
        await made.keep("The pier is closed.", document_id="d")
        yield made


def admin(bench, screening):
    return LedgerAdmin(bench.ledger, arms=(), tokens=WordCounter(), now=bench.clock, screening=screening)


async def guard(bench, defense):
    await bench.ledger.update_bank(REF, name=None, config=replace(bench.bank.config, defense=defense), version=0)


async def triggered(bench):
    kinds = EventFilter((EventKind.MEMORY_DEFENSE_TRIGGERED,))
    found = (await bench.ledger.list_events(bench.bank.uid, kinds, PageRequest())).rows
    return [event.security.violation.message for event in found]


async def test_an_edit_is_redacted_and_its_tokens_are_counted_anew(bench):
    await guard(bench, DefenseTuning(personal_data=REDACT))
    [memory] = await bench.memories()
    edit = MemoryEdit(text=f"Ask {MAIL} soon.", tags=("a", MAIL), context=f"by {MAIL}")
    edited = await admin(bench, RuleScreening(lambda: "c")).edit_memory(REF, memory.id, edit)
    assert edited.text == "Ask [redacted: email] soon."
    assert (edited.tags, edited.context) == (("a", "[redacted: email]"), "by [redacted: email]")
    assert edited.tokens == WordCounter().count(edited.text)
    assert await triggered(bench) == ["email in content and context and tags, 3 times"]


async def test_a_refused_edit_changes_nothing_and_is_told(bench):
    await guard(bench, DefenseTuning(personal_data=BLOCK))
    [memory] = await bench.memories()
    with pytest.raises(DefenseBlocked, match="memory: email in content") as caught:
        await admin(bench, RuleScreening(lambda: "c")).edit_memory(REF, memory.id, MemoryEdit(text=f"Ask {MAIL}."))
    assert MAIL not in str(caught.value)
    assert await bench.memories() == [memory]
    assert await triggered(bench) == ["email in content"]


async def test_an_edit_of_which_nothing_is_found_stays_as_it_is(bench):
    await guard(bench, DefenseTuning(personal_data=BLOCK, secret=REDACT))
    [memory] = await bench.memories()
    screening = RuleScreening(lambda: "c")
    edited = await admin(bench, screening).edit_memory(REF, memory.id, MemoryEdit(tags=("a",)))
    assert (edited.text, edited.tags) == (memory.text, ("a",))
    assert await triggered(bench) == []


async def test_without_what_looks_for_it_nothing_is_edited(bench):
    [memory] = await bench.memories()
    await admin(bench, None).edit_memory(REF, memory.id, MemoryEdit(text="The pier is open."))
    await guard(bench, DefenseTuning(secret=REDACT))
    with pytest.raises(NotReady, match="keeps something out"):
        await admin(bench, None).edit_memory(REF, memory.id, MemoryEdit(text="It is closed."))
