"""The same question has the same answer, RRF's order is kept without a reranker, and a pack fits (cases 31 to 35)."""

import pytest
from deployment import NOW

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig, RetainTuning
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.memory import FactType
from recallmesh.core.recall import PartState
from recallmesh.core.tuning import MinScores, RecallTuning
from recallmesh.tokens.bpe import BpeTokenCounter

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

FACTS = [
    "The heron nests on the weir of the upper pond.",
    "A grey heron was ringed at the pond in spring.",
    "Otters use the weir as a slide in winter.",
    "The weir was built by Cistercian monks.",
    "Every spring the pond is drained and cleaned.",
    "Kingfishers breed in the bank below the old bridge.",
    "The bridge carries a plaque for engineer Aune.",
    "Trout from the pond are sold at the gate on Fridays.",
]


async def test_twenty_equal_calls_over_fifty_equal_memories_are_equal(diary):
    await diary.keep(*["The kettle whistles in the kitchen."] * 50)
    first = await diary.ask("kettle whistles", max_tokens=100_000)
    assert len({one.memory.id for one in first.memories}) == 50
    order = [(one.memory.id, one.scores) for one in first.memories]
    for _ in range(19):
        again = await diary.ask("kettle whistles", max_tokens=100_000)
        assert [(one.memory.id, one.scores) for one in again.memories] == order


async def test_without_a_reranker_the_order_is_that_of_rrf(diary):
    await diary.keep(*FACTS)
    answer = await diary.ask("heron at the weir of the pond", reranking=False)
    assert {model.part: model.state for model in answer.models}["reranker"] is PartState.DISABLED
    sums = [sum(1 / (60 + rank) for rank in one.ranks.values()) for one in answer.memories]
    assert [one.scores.rrf for one in answer.memories] == pytest.approx(sums)
    keys = [(-one.scores.rrf, min(one.ranks.values()), one.memory.id) for one in answer.memories]
    assert keys == sorted(keys)
    assert len(keys) == len(FACTS)
    assert answer.memories[0].scores.relevance == 1.0


PARTS = ("the brass frame and every one of the screws", "each of the many prisms and the whole outer ring")


async def test_a_pack_takes_what_fits_and_says_what_it_left(diary):
    tokens = BpeTokenCounter()
    long = "The lighthouse keeper Solveig writes about the fog bell. " + " ".join(["She counts the ships."] * 26)
    short = [f"The lighthouse keeper polishes {what} of the great lens, and it takes him all day." for what in PARTS]
    sizes = [tokens.count(text) for text in (long, *short)]
    assert sizes[0] > 100 >= sizes[1] + sizes[2] > 40
    await diary.keep(long, *short)

    async def ask(max_tokens, **request):
        return await diary.ask("Solveig, the lighthouse keeper, and the fog bell", max_tokens=max_tokens, **request)

    packed = await ask(100)
    assert sorted(one.memory.text for one in packed.memories) == sorted(short)
    assert (packed.tokens, packed.omitted) == (sizes[1] + sizes[2], 1)
    (best,) = (await ask(10)).memories
    assert (best.memory.text, best.oversized) == (long, True)
    nothing = await ask(0, chunk_tokens=2000)
    assert (nothing.memories, nothing.tokens) == ((), 0)
    assert nothing.chunks
    with pytest.raises(InvalidArgument, match="max_tokens"):
        await ask(-1)


async def test_the_answer_in_the_last_sentence_of_a_long_memory_counts(mesh):
    # Of its own length: the default bank would cut the text, and the answer would stand in a short last piece.
    diary = await mesh.diary(BankConfig(retain=RetainTuning(chunk_tokens=2000)))
    filler = "The committee discussed the paint of the boat house without any result. " * 115
    (memory,) = await diary.keep(filler + "The password of the boat house is gorse and thistle.")
    assert (await mesh.faces.admin.get_memory(diary.ref, memory)).tokens > 1500
    await diary.keep(*(f"The committee met in room {number} and spoke about the boat house." for number in range(12)))
    found = await diary.texts("What is the password of the boat house?", reranking=None)
    assert any("gorse and thistle" in text for text in found[:3])


async def test_a_rare_word_brings_its_memory_first(diary):
    await diary.keep(*(f"The market of town {number} sells bread and cheese." for number in range(44)))
    await diary.keep("The market sells kvassberg and cheese.")
    for reranking in (True, False):
        assert "kvassberg" in (await diary.texts("kvassberg", reranking=reranking))[0]


async def test_a_floor_drops_what_is_below_it_and_a_limit_what_is_beyond(diary):
    await diary.keep(*FACTS)
    tuning = RecallTuning(min_scores=MinScores(final=0.5))
    answer = await diary.ask("Who built the weir?", tuning=tuning)
    assert {one.memory.text for one in answer.memories} == {FACTS[3]}
    assert len((await diary.ask("weir", limit=2)).memories) == 2


async def test_only_the_asked_fact_types_come(diary):
    await diary.keep(*FACTS)
    assert (await diary.ask("weir", fact_types=(FactType.EXPERIENCE,))).memories == ()
    assert len((await diary.ask("weir", fact_types=(FactType.WORLD,))).memories) == len(FACTS)


async def test_the_agents_own_first_person_is_an_experience(diary):
    await diary.keep("Assistant: I booked the train to Vaasa for Monday.", mode=None, context="Assistant is speaking")
    await diary.keep("Hanna: I booked the hotel in Vaasa for Monday.", mode=None, context="Hanna is speaking")
    own = await diary.ask("What was booked in Vaasa?", fact_types=(FactType.EXPERIENCE,))
    assert ["train" in one.memory.text for one in own.memories] == [True]


async def test_a_switched_off_arm_is_not_asked(diary):
    await diary.keep(*FACTS, time=NOW)
    answer = await diary.ask("heron", ArmName.KEYWORD)
    states = {report.arm: report.state for report in answer.arms}
    assert states.pop(ArmName.KEYWORD) is PartState.OK
    assert set(states.values()) == {PartState.DISABLED}
    assert all(one.ranks.keys() == {ArmName.KEYWORD} for one in answer.memories)
