import pytest
from unit.retain_fakes import NOW, REF, open_bench

from recallmesh.core.bank import ExtractionMode
from recallmesh.core.retain import RetainItem, RetainRequest

ASKED = "Leo: What does a new one cost?"
ANSWER = "Nadia: About 310,000 kroner."
JOINED = f"{ASKED}\n{ANSWER}"


@pytest.fixture
async def bench(tmp_path):
    async with open_bench(tmp_path) as bench:
        yield bench


async def told(bench):
    return [memory.text for memory in await bench.memories()]


async def test_items_of_one_document_are_read_in_the_light_of_the_one_before(bench):
    await bench.keep(ASKED, ANSWER, mode=ExtractionMode.CONCISE, document_id="d", time=NOW)
    assert await told(bench) == [JOINED]


async def test_items_of_different_documents_are_not(bench):
    items = (RetainItem((ASKED,), document_id="a"), RetainItem((ANSWER,), document_id="b"))
    await bench.retainer.retain(RetainRequest(REF, items, mode=ExtractionMode.CONCISE))
    assert await told(bench) == [ANSWER]


@pytest.mark.parametrize("mode", [ExtractionMode.CHUNKS, ExtractionMode.VERBATIM])
async def test_the_modes_that_keep_the_text_keep_it_word_for_word(bench, mode):
    await bench.keep(ASKED, ANSWER, mode=mode, document_id="d", time=NOW)
    assert await told(bench) == [ASKED, ANSWER]


async def test_another_question_before_makes_another_fact_and_any_other_change_before_none(bench):
    await bench.keep(ASKED, ANSWER, mode=ExtractionMode.CONCISE, document_id="d", time=NOW)
    (first,) = await bench.memories()
    await bench.keep(f"Leo: Oh no. {ASKED[5:]}", ANSWER, mode=ExtractionMode.CONCISE, document_id="d", time=NOW)
    assert [memory.id for memory in await bench.memories()] == [first.id]
    other = "Leo: What did the old one cost?"
    await bench.keep(other, ANSWER, mode=ExtractionMode.CONCISE, document_id="d", time=NOW)
    assert await bench.texts() == [f"{other}\n{ANSWER}"]


async def test_an_answer_is_read_again_when_its_question_is_no_longer_all_that_is_said_before(bench):
    answer = "Nadia: The new oven costs about 310,000 kroner."
    await bench.keep(ASKED, answer, mode=ExtractionMode.CONCISE, document_id="d", time=NOW)
    assert await bench.texts() == [f"{ASKED}\n{answer}"]
    said = "Leo: Mine burnt down in the spring, with the whole shop."
    await bench.keep(f"{said} {ASKED[5:]}", answer, mode=ExtractionMode.CONCISE, document_id="d", time=NOW)
    assert await bench.texts() == [said, answer]


async def test_a_name_that_only_opens_a_sentence_is_found_when_the_bank_knows_it(bench):
    await bench.keep("Pixel is a greyhound.", mode=ExtractionMode.CONCISE, document_id="a")
    await bench.keep("We adopted Pixel.", mode=ExtractionMode.CONCISE, document_id="b")
    await bench.keep("Pixel hates the stairs.", mode=ExtractionMode.CONCISE, document_id="c")
    assert [[mention.name for mention in memory.mentions] for memory in await bench.memories()] == [
        [],
        ["Pixel"],
        ["Pixel"],
    ]
