"""Whatever characters a text or a query holds, it is data (cases 14 to 22 and 46)."""

import pytest
import pytest_asyncio
from deployment import NOW

from recallmesh.core.bank import BankConfig, RetainTuning
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.limits import CONTENT_BYTES, MESSAGE_BYTES
from recallmesh.core.retain import RetainItem
from recallmesh.tokens.bpe import BpeTokenCounter

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

CJK = {
    "しりとり": "今日は会議室でしりとりをした",
    "成语接龙": "今天玩成语接龙",
    "끝말잇기": "오늘 끝말잇기를 했다",
}
SYNTAX = ('"', "(", "a/b", "/b testing", "AND", "NOT", "tb-", "C++", "a:b", "\\", "*", "^2", "[x TO")
PLAIN = {
    "/b testing": "The b testing of the new pump went well.",
    "C++": "Aino rewrote the controller in C++ over the winter.",
    "tb-": "The tb series of valves is out of stock.",
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def texts(mesh):
    diary = await mesh.diary()
    await diary.keep(*CJK.values(), *PLAIN.values())
    await diary.keep("Parcel A-20391 waits.", "Parcel A-20392 waits.", "Parcel B-20391 waits.")
    await diary.keep("He said to be or not to be, and left.", "The night train leaves from platform nine.")
    return diary


@pytest.mark.parametrize("word", CJK)
async def test_words_without_spaces_are_found(texts, word):
    assert (await texts.words(word))[0] == CJK[word]


async def test_identifiers_match_whole_first_and_by_part_second(texts):
    assert (await texts.words("A-20391"))[0] == "Parcel A-20391 waits."
    by_part = await texts.words("20391")
    assert set(by_part[:2]) == {"Parcel A-20391 waits.", "Parcel B-20391 waits."}


@pytest.mark.parametrize("query", SYNTAX)
async def test_syntax_is_data(texts, query):
    found = await texts.words(query)
    assert len(found) <= 3  # a wildcard would bring them all
    if query in PLAIN:
        assert found[0] == PLAIN[query]
    # Among other words it is no more than the words it holds: it neither joins, leaves out nor demands any.
    plain, among = await texts.words("parcel waits"), await texts.words(f"parcel {query} waits")
    assert len(plain) == 3
    assert set(among) == {*plain, *found}
    assert set(plain) <= set(await texts.texts(f"parcel {query} waits"))


async def test_function_words_find_their_fact_and_never_everything(texts):
    assert (await texts.words("to be or not to be"))[0].startswith("He said to be")
    assert len(await texts.words("the")) < 9
    assert await texts.words("???") == []
    await texts.ask("???")


async def test_a_query_beyond_the_limit_is_refused_before_any_work(texts):
    words = " ".join(f"word{number}" for number in range(10_000))
    with pytest.raises(InvalidArgument, match="query"):
        await texts.ask(words)
    with pytest.raises(InvalidArgument, match="query"):
        await texts.ask("heron " * 501)
    await texts.ask("heron " * 200)


@pytest.mark.parametrize("blank", ["", "  \n\t", "\u200b\u2060"], ids=["empty", "spaces", "zero width"])
async def test_blank_is_refused_by_retain_and_recall(texts, blank):
    with pytest.raises(InvalidArgument, match="query"):
        await texts.ask(blank)
    with pytest.raises(InvalidArgument, match=r"items\[0\]\.content"):
        await texts.keep(blank)


async def test_an_empty_bank_answers_with_nothing(diary):
    answer = await diary.ask("anything at all")
    assert (answer.memories, answer.omitted, answer.tokens) == ((), 0, 0)


async def test_emoji_nul_and_special_tokens_are_text(diary):
    await diary.keep("👩‍🚀🎉")
    await diary.keep("The hatch\x00 was sealed with resin.")
    (marker,) = await diary.keep("<|endoftext|> marker of the tape")
    texts = {memory.text: memory for memory in await diary.memories()}
    assert "👩‍🚀🎉" in texts
    assert await diary.words("resin") == ["The hatch was sealed with resin."]
    assert await diary.words("marker") == ["<|endoftext|> marker of the tape"]
    kept = next(memory for memory in texts.values() if memory.id == marker)
    assert kept.tokens == BpeTokenCounter().count(kept.text) > 3


async def test_half_a_character_is_an_invalid_argument(diary):
    with pytest.raises(InvalidArgument):
        await diary.keep("half \ud83d a character")
    with pytest.raises(InvalidArgument):
        await diary.ask("half \ud83d a character")


async def test_a_giant_word_is_kept_and_found_by_its_other_words(diary):
    await diary.keep(f"The cipher {'x' * 40_000} belongs to Petronella.")
    for word in ("cipher", "Petronella"):
        (found,) = await diary.words(word, max_tokens=100_000)
        assert word in found


async def test_giant_tags_are_refused_by_name(diary):
    with pytest.raises(InvalidArgument, match=r"items\[0\]\.tags\[0\]"):
        await diary.keep("A tag too far.", tags=("t" * 40_000,))


async def test_a_text_beyond_the_limit_is_refused_with_the_limit(mesh, diary):
    large = "word " * 1_048_576
    assert len(large) == 5 * 1_048_576
    # Over the wire the message's limit comes first, in process the item's.
    limit = CONTENT_BYTES if mesh.in_process else MESSAGE_BYTES
    with pytest.raises(InvalidArgument, match=str(limit)):
        await diary.keep(large)
    with pytest.raises(InvalidArgument, match=str(CONTENT_BYTES)):
        await diary.keep("x" * (CONTENT_BYTES + 1))
    assert await diary.memories() == []


async def test_answers_stay_within_the_message_limit(mesh):
    # A chunk is longer than a model's window, so that so much text is embedded in a moment.
    diary = await mesh.diary(BankConfig(retain=RetainTuning(chunk_tokens=50_000)))
    page = "The ledger of the salt works lists every barrel. " * 2000
    await diary.retain(*(RetainItem((f"{number} {page}",), time=NOW, document_id=f"d{number}") for number in range(16)))
    # The texts come three times: as memories, as chunks, in the trace.
    answer = await diary.ask("salt works", reranking=False, max_tokens=1_000_000, chunk_tokens=1_000_000, trace=True)
    assert len(answer.memories) == 16
    assert (len(answer.trace.candidates) == 16) or not mesh.in_process
