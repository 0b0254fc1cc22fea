from dataclasses import replace
from datetime import timedelta

import pytest
from unit.recall_fakes import (
    LAST_WEEK,
    REF,
    RRF_ORDER,
    FakeArm,
    FakeLedger,
    K,
    days_ago,
    memory,
    mesh,
    name,
    numbers,
)

from recallmesh.core.memory import FactType, MemoryState, Mention
from recallmesh.core.recall import RecallRequest
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.core.tuning import BoostLevel, MinScores, RecallTuning


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"limit": 2},
        {"max_tokens": 25},
        {"max_tokens": 5},
        {"max_tokens": 0},
        {"include_entities": True},
        {"source_tokens": 100, "tuning": RecallTuning(prefer_observations=True)},
        {"tuning": RecallTuning(min_scores=MinScores(final=0.5))},
        {"tuning": RecallTuning(min_scores=MinScores(final=1.0, reranker=0.9))},
        {"tuning": RecallTuning(boosts={K: BoostLevel.HIGH})},
        {"tags": TagLeaf(frozenset({"a"}), TagMode.ANY)},
        {"fact_types": (FactType.OBSERVATION,)},
    ],
)
async def test_what_is_read_in_brief_is_what_reading_all_would_answer(fields):
    mentions = (Mention("e1", "Ida"),)
    ledger = FakeLedger(
        memory(1, mentions=mentions, tokens=20),
        memory(2, state=MemoryState.INVALIDATED),
        memory(3, tags=("b",)),
        memory(4, tags=("a",), mentions=mentions),
        memory(5, fact_type=FactType.OBSERVATION, sources=(name(1), name(4))),
    )
    recaller = mesh(ledger=ledger).recaller()
    asked = RecallRequest(REF, "what happened", window=LAST_WEEK, **fields)
    await recaller.recall(asked)  # from now on it is no news that the sixth is missing
    ledger.outlined.clear()
    brief = await recaller.recall(asked)
    whole = await recaller.recall(replace(asked, trace=True))
    # Under a test of tags once more: whether an observation may be shown, what it rests on says.
    assert len(ledger.outlined) == (2 if "tags" in fields else 1)
    assert [replace(each, latency=timedelta()) for each in brief.models] == [
        replace(each, latency=timedelta()) for each in whole.models
    ]
    assert (brief.memories, brief.omitted, brief.tokens) == (whole.memories, whole.omitted, whole.tokens)
    assert (brief.window, brief.source_facts) == (whole.window, whole.source_facts)


async def test_what_may_fill_the_pack_is_read_whole_and_else_only_what_is_packed():
    ledger = FakeLedger(*(memory(number) for number in range(60)))
    here = mesh(ledger=ledger, arms={K: FakeArm(*range(60))})
    await here.recall(max_tokens=40)
    assert ledger.outlined == [tuple(name(number) for number in range(2, 60))]
    assert ledger.read_whole == [(name(0), name(1)), (name(2), name(3))]


@pytest.mark.parametrize(
    "asked",
    [
        {"trace": True},
        {"chunk_tokens": 10},
        {"tuning": RecallTuning(recency_alpha=0.1)},
    ],
)
async def test_who_asks_for_more_than_fused_order_has_all_read_whole(asked):
    ledger = FakeLedger(*(memory(number, mentioned=days_ago(number)) for number in range(60)))
    here = mesh(ledger=ledger, arms={K: FakeArm(*range(60))})
    await here.recall(max_tokens=40, **asked)
    assert (ledger.outlined, [len(ids) for ids in ledger.read_whole]) == ([], [60])


@pytest.mark.parametrize(
    "change", [None, {"state": MemoryState.INVALIDATED}, {"tags": ("secret",)}, {"text": "longer", "tokens": 11}]
)
async def test_what_changes_between_outline_and_reading_is_not_shown(change):
    class Changing(FakeLedger):
        async def read(self, bank_uid, memory_ids, *, mentions=True):
            if self.outlined and change is None:
                del self.memories[name(5)]
            elif self.outlined:
                self.memories[name(5)] = replace(self.memories[name(5)], **change)
            return await super().read(bank_uid, memory_ids, mentions=mentions)

    here = mesh(ledger=Changing(*(memory(number) for number in range(1, 7))))
    answer = await here.recall(max_tokens=60, tags=TagLeaf(frozenset({"open"}), TagMode.ANY))
    assert numbers(answer) == [number for number in RRF_ORDER if number != 5]
    assert (answer.omitted, answer.tokens) == (1, 40)
