from unit.recall_fakes import (
    LAST_WEEK,
    RRF_ORDER,
    FakeArm,
    FakeLedger,
    FakeReranker,
    K,
    memory,
    mesh,
    name,
    numbers,
)

from recallmesh.core.document import Chunk
from recallmesh.core.memory import FactType, MemoryState, Mention
from recallmesh.core.recall import Outcome
from recallmesh.core.tags import TagLeaf, TagMode
from recallmesh.core.tuning import Budget, MinScores, RecallTuning
from recallmesh.recall.plan import RecallDefaults


async def test_an_index_that_lags_shows_nothing_that_may_not_be_seen():
    ledger = FakeLedger(
        memory(1, state=MemoryState.INVALIDATED),
        memory(2, tags=("secret",)),
        memory(4, tags=("open",)),
        memory(5, tags=("open",), fact_type=FactType.EXPERIENCE),
        memory(6, tags=("open",), state=MemoryState.RETIRING),
    )
    here = mesh(ledger=ledger)
    answer = await here.recall(
        window=LAST_WEEK,
        tags=TagLeaf(frozenset({"open"}), TagMode.ANY_STRICT),
        fact_types=(FactType.WORLD,),
        trace=True,
    )
    assert sorted(numbers(answer)) == [4, 6]
    outcomes = {row.memory_id: row.outcome for row in answer.trace.candidates}
    assert outcomes == {
        name(1): Outcome.INVALIDATED,
        name(2): Outcome.TAG,
        name(3): Outcome.MISSING,
        name(4): Outcome.PACKED,
        name(5): Outcome.TAG,
        name(6): Outcome.PACKED,
    }
    hidden = [row for row in answer.trace.candidates if row.outcome is not Outcome.PACKED]
    assert all(not row.text and not row.because for row in hidden)


async def test_places_of_the_refused_are_filled_from_further_down():
    ledger = FakeLedger(*(memory(number) for number in range(10, 60)))
    defaults = RecallDefaults(budget_hits={Budget.LOW: 10, Budget.MID: 10, Budget.HIGH: 10})
    here = mesh(ledger=ledger, arms={K: FakeArm(*range(60))}, defaults=defaults)
    assert numbers(await here.recall(max_tokens=10_000)) == list(range(10, 30))


async def test_at_most_twice_the_budget_is_considered():
    ledger = FakeLedger(*(memory(number) for number in range(60)))
    defaults = RecallDefaults(budget_hits={Budget.LOW: 10, Budget.MID: 10, Budget.HIGH: 10})
    here = mesh(ledger=ledger, arms={K: FakeArm(*range(60))}, defaults=defaults, reranker=FakeReranker())
    answer = await here.recall(max_tokens=100, trace=True)
    assert numbers(answer) == list(range(49, 39, -1))
    assert answer.omitted == 10
    outcomes = [row.outcome for row in answer.trace.candidates]
    assert (outcomes.count(Outcome.CAP), outcomes.count(Outcome.BUDGET)) == (40, 10)


async def test_mentions_come_when_asked_for():
    ledger = FakeLedger(memory(2, mentions=(Mention("e1", "Ida"),)))
    here = mesh(ledger=ledger)
    assert (await here.recall()).memories[0].memory.mentions == ()
    assert (await here.recall(include_entities=True)).memories[0].memory.mentions == (Mention("e1", "Ida"),)


async def test_floors_are_inclusive():
    plain = RecallDefaults(fusion_weight=0.0, recency_alpha=0.0, keyword_weight=0.0)
    here = mesh(reranker=FakeReranker(lambda number: number / 10, logits=False), defaults=plain)
    answer = await here.recall(tuning=RecallTuning(min_scores=MinScores(reranker=0.3)))
    assert numbers(answer) == [5, 4, 3]
    answer = await here.recall(tuning=RecallTuning(min_scores=MinScores(final=answer.memories[1].scores.final)))
    assert numbers(answer) == [5, 4]


async def test_a_floor_of_the_reranker_keeps_out_what_it_did_not_see():
    here = mesh(reranker=FakeReranker(lambda number: number / 10, logits=False))
    tuning = RecallTuning(min_scores=MinScores(reranker=0.0), rerank_limit=2)
    assert sorted(numbers(await here.recall(tuning=tuning))) == [2, 3]


async def test_a_floor_of_the_reranker_does_not_hold_when_there_is_none():
    assert numbers(await mesh().recall(tuning=RecallTuning(min_scores=MinScores(reranker=0.9)))) == RRF_ORDER


async def test_memories_that_do_not_fit_are_skipped_counted_or_flagged():
    ledger = FakeLedger(memory(1, tokens=150), memory(2, tokens=40), memory(3, tokens=40))
    here = mesh(ledger=ledger, arms={K: FakeArm(1, 2, 3)})
    answer = await here.recall(max_tokens=100)
    assert (numbers(answer), answer.omitted, answer.tokens) == ([2, 3], 1, 80)
    answer = await here.recall(max_tokens=10)
    assert (numbers(answer), answer.memories[0].oversized, answer.omitted) == ([1], True, 2)
    answer = await here.recall(max_tokens=0)
    assert (numbers(answer), answer.omitted) == ([], 3)


async def test_a_memory_without_a_stored_count_is_counted():
    ledger = FakeLedger(memory(1, "one two three", tokens=0), memory(2, tokens=1))
    answer = await mesh(ledger=ledger, arms={K: FakeArm(1, 2)}).recall()
    assert answer.tokens == 4


async def test_a_preferred_observation_replaces_its_sources():
    ledger = FakeLedger(
        memory(1), memory(2), memory(3, fact_type=FactType.OBSERVATION, sources=(name(1), name(2))), memory(4)
    )
    here = mesh(ledger=ledger, arms={K: FakeArm(1, 2, 3, 4)})
    answer = await here.recall(tuning=RecallTuning(prefer_observations=True), limit=2, trace=True, source_tokens=100)
    assert numbers(answer) == [3, 4]
    outcomes = [row.outcome for row in answer.trace.candidates]
    assert outcomes == [Outcome.SUPERSEDED, Outcome.SUPERSEDED, Outcome.PACKED, Outcome.PACKED]
    assert [each.id for each in answer.source_facts] == [name(1), name(2)]


async def test_source_facts_pass_the_tags_and_the_token_budget():
    ledger = FakeLedger(
        memory(1, tags=("a", "b")),
        memory(2, tags=("a",), tokens=90),
        memory(3, tags=("a",), tokens=20),
        memory(4, tags=("a",), state=MemoryState.INVALIDATED),
        memory(9, tags=("a",), fact_type=FactType.OBSERVATION, sources=tuple(name(n) for n in (1, 2, 3, 4, 5))),
    )
    here = mesh(ledger=ledger, arms={K: FakeArm(9)})
    test = TagLeaf(frozenset({"a"}), TagMode.ANY_STRICT)
    answer = await here.recall(tags=test, source_tokens=50, fact_types=(FactType.OBSERVATION,))
    assert [each.id for each in answer.source_facts] == [name(1), name(3)]
    assert (await here.recall(tags=test)).source_facts == ()


async def test_an_observation_is_kept_back_from_who_may_not_see_all_that_it_rests_on():
    ledger = FakeLedger(
        memory(1, tags=("a", "b")),
        memory(2, tags=("a",)),
        memory(9, tags=("a",), fact_type=FactType.OBSERVATION, sources=(name(1), name(2))),
    )
    here = mesh(ledger=ledger, arms={K: FakeArm(1, 2, 9)})
    a = frozenset({"a"})
    assert numbers(await here.recall(tags=TagLeaf(a, TagMode.ANY_STRICT))) == [1, 2, 9]
    answer = await here.recall(tags=TagLeaf(a, TagMode.EXACT), trace=True)
    assert numbers(answer) == [2]
    assert {row.memory_id: row.outcome for row in answer.trace.candidates}.get(name(9), Outcome.TAG) is Outcome.TAG


def chunked(*tokens):
    return [Chunk(f"c{n}", "d", n, " ".join(["word"] * size), size) for n, size in enumerate(tokens)]


async def test_chunks_of_the_best_memories_come_once_and_the_last_is_cut():
    ledger = FakeLedger(
        *(memory(n, chunk_id=chunk) for n, chunk in ((1, "c1"), (2, "c1"), (3, "c0"), (4, ""), (5, "c2"))),
        chunks=chunked(30, 50, 40),
    )
    here = mesh(ledger=ledger, arms={K: FakeArm(1, 2, 3, 4, 5)})
    answer = await here.recall(max_tokens=0, chunk_tokens=100)
    assert [(each.chunk.id, each.chunk.tokens, each.truncated) for each in answer.chunks] == [
        ("c1", 50, False),
        ("c0", 30, False),
        ("c2", 20, True),
    ]
    assert len(answer.chunks[-1].chunk.text.split()) == 20
    assert answer.memories == ()
    exact = await here.recall(chunk_tokens=80)
    assert [(each.chunk.id, each.truncated) for each in exact.chunks] == [("c1", False), ("c0", False)]
    assert (await here.recall()).chunks == (await here.recall(chunk_tokens=0)).chunks == ()
