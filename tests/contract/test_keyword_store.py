"""What every keyword store promises, whatever it is made of."""

import asyncio
import itertools
import random
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from at_opensearch import forget_opensearch, open_at_opensearch, prefix_of
from tagged import name_of

from recallmesh.core.arm import Indexed, Removal
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.memory import FactType
from recallmesh.core.page import PageRequest
from recallmesh.core.tags import EVERYTHING, TagAnd, TagLeaf, TagMode, TagNot, TagOr, passes
from recallmesh.keyword.embedded import open_embedded_keyword_store
from recallmesh.keyword.store import KeywordDocument, KeywordHit, KeywordQuery, KeywordStore

Opener = Callable[[Path], AbstractAsyncContextManager[KeywordStore]]
OPENERS: dict[str, Opener] = {
    "embedded": lambda folder: open_embedded_keyword_store(folder / "keyword.db"),
    "opensearch": lambda folder: open_at_opensearch(prefix_of(folder)),
}

BANK = "bank-1"
WORLD, EXPERIENCE, OBSERVATION = FactType.WORLD, FactType.EXPERIENCE, FactType.OBSERVATION


@pytest.fixture(params=["embedded", pytest.param("opensearch", marks=pytest.mark.stores)])
async def opener(request, tmp_path) -> AsyncIterator[Opener]:
    yield OPENERS[request.param]
    if request.param == "opensearch":
        await forget_opensearch(prefix_of(tmp_path))


@pytest.fixture
async def store(opener, tmp_path) -> AsyncIterator[KeywordStore]:
    async with opener(tmp_path) as opened:
        yield opened


def document(memory_id: str, text: str, version: int = 1, fact_type: FactType = WORLD, **fields) -> KeywordDocument:
    return KeywordDocument(memory_id, version, fact_type, text, **fields)


async def put(store: KeywordStore, *texts: str, bank: str = BANK) -> None:
    """Store texts under the ids m00, m01, …, in one call."""
    await store.upsert(bank, tuple(document(f"m{number:02}", text) for number, text in enumerate(texts)))


async def search(store: KeywordStore, text: str, bank: str = BANK, **wanted) -> tuple[KeywordHit, ...]:
    return await store.search(KeywordQuery(bank, text, **wanted))


async def found(store: KeywordStore, text: str, bank: str = BANK, **wanted) -> list[str]:
    return [hit.memory_id for hit in await search(store, text, bank, **wanted)]


# Words


@pytest.mark.parametrize(
    ("query", "rank_1"),
    [("しりとり", "m00"), ("成语接龙", "m01"), ("끝말잇기", "m02"), ("끝말잇기를 했다", "m02"), ("会議室で", "m00")],
)
async def test_chinese_japanese_and_korean_are_found_without_spaces(store, query, rank_1):
    await put(
        store,
        "今日は会議室でしりとりをした",
        "今天玩成语接龙",
        "오늘 끝말잇기를 했다",
        "昨日は会社を休んだ",
        "오늘 일을 했다",
    )
    assert (await found(store, query))[0] == rank_1


async def test_one_han_character_is_a_word(store):
    await put(store, "我养了一只猫", "狗在院子里")
    assert await found(store, "猫") == ["m00"]


async def test_an_identifier_meets_whole_first_and_by_part_second(store):
    await put(store, "Ticket A-20391 is open", "Ticket A-20392 is open", "Ticket B-20391 is open", "no ticket at all")
    assert await found(store, "A-20391") == ["m00", "m02"]
    assert await found(store, "20391") == ["m00", "m02"]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("cve-2031-4411", "m00"),
        ("10.7/x.y", "m02"),
        ("C++", "m04"),
        ("ida@example.org", "m06"),
        ("https://example.org/a?b=c", "m08"),
        ("example.org", "m06"),
    ],
)
async def test_identifiers_of_many_kinds_are_found_whole(store, query, first):
    await put(
        store,
        "fixed CVE-2031-4411.",
        "fixed CVE-2031-4412, once 4411",
        "doi (10.7/x.y) cited",
        "doi 10.7/x.z and x y cited",
        "she writes C++, mostly",
        "she writes C mostly",
        "mail ida@example.org today",
        "mail ida at org, an example",
        "see https://example.org/a?b=c.",
    )
    assert (await found(store, query))[0] == first


@pytest.mark.parametrize(
    "query",
    ['"budget', "(budget", "budget)", "budget AND", "NOT budget", "budg* budget", "budget^2", "[budget TO", "a:budget",
     "budget\\", "/budget testing", "budget~2", "-budget", "+budget", "{budget}", "budget OR NEAR(", "budget'; --"],
)  # fmt: skip
async def test_no_character_of_a_query_is_syntax(store, query):
    await put(store, "the budget was agreed", "nothing of the kind", "budgerigars sing")
    assert await found(store, query) == ["m00"]


@pytest.mark.parametrize("query", ["the", "???", "*", '"', "\\", "AND", "", "  \n\t", "\u200b\u2060", "(", "NOT", "^2"])
async def test_a_query_without_a_word_of_its_own_finds_nothing(store, query):
    await put(store, "the one", "the other and the third", "not the fourth")
    assert await search(store, query) == ()


async def test_a_query_of_function_words_finds_the_memory_that_has_them_all(store):
    await put(store, "To be, or not to be: he recited it", "the plan is not to be changed", "be it or not", "the play")
    assert await found(store, "to be or not to be") == ["m00"]


async def test_sharing_only_a_function_word_is_no_hit(store):
    await put(store, "where is the harbour", "the car is where the house is")
    assert await found(store, "where is the harbour") == ["m00"]


async def test_a_word_that_nobody_has_finds_nothing(store):
    await put(store, "the harbour was frozen")
    assert await search(store, "kvassberg") == ()
    assert await search(store, "where is the kvassberg") == ()


async def test_inflections_accents_case_and_width_meet(store):
    await put(store, "She was RUNNING along the quay", "Café Zoë in Łódź", "ＡＢＣ１２３ printed", "Größe der Straße")
    assert await found(store, "runs") == ["m00"]
    assert await found(store, "cafe ZOE lodz") == ["m01"]
    assert await found(store, "abc123") == ["m02"]
    assert await found(store, "STRASSE") == ["m03"]


async def test_other_scripts_are_found(store):
    await put(store, "Она читала книги", "हिन्दी में लिखा", "ฉันกินข้าว", "הכלב ישן", "👩\u200d🚀🎉")
    assert await found(store, "книга") == ["m00"]
    assert await found(store, "हिन्दी") == ["m01"]
    assert await found(store, "ข้าว") == ["m02"]
    assert await found(store, "כלב הכלב") == ["m03"]
    assert await found(store, "🎉") == ["m04"]


async def test_nul_lone_surrogates_and_markers_do_no_harm(store):
    await put(store, "before\x00after", "broken \ud83d surrogate", "<|endoftext|> marker")
    await store.upsert(BANK, (document("m03", "tagged", tags=("a\x00b", "\ud83d"), names=("\udc00",)),))
    assert await found(store, "after") == ["m00"]
    assert await found(store, "\ud83d surrogate") == ["m01"]
    assert await found(store, "<|endoftext|>") == ["m02"]
    assert await found(store, "tagged", tags=TagLeaf(frozenset({"a\x00b"}), TagMode.ALL_STRICT)) == ["m03"]


async def test_a_word_of_40000_characters_is_stored_and_found_by_its_neighbours(store):
    await put(store, f"harbour {'x' * 40_000} ferry", f"{'語' * 40_000} 港", "nothing")
    assert await found(store, "ferry") == ["m00"]
    assert await found(store, "港") == ["m01"]
    assert await found(store, "x" * 40_000) == ["m00"]


async def test_ten_thousand_distinct_words_are_answered(store):
    await put(store, "word7 is here", "nothing")
    assert await found(store, " ".join(f"word{number}" for number in range(10_000))) == ["m00"]


# Fields


async def test_names_aliases_labels_and_dates_are_searched(store):
    await store.upsert(
        BANK,
        (
            document("m0", "She moved house", names=("Caroline Berg", "Caro")),
            document("m1", "It rained", labels=("topic:weather",), tags=("topic:weather",)),
            document("m2", "They met", dates="8 May 2023, Monday"),
            document("m3", "Nothing of note"),
        ),
    )
    assert await found(store, "caro") == ["m0"]
    assert await found(store, "weather") == ["m1"]
    assert await found(store, "topic:weather") == ["m1"]
    assert await found(store, "what happened in May 2023") == ["m2"]


# Ranking


async def test_the_rare_word_wins(store):
    await put(store, *[f"the stall sells bread number {number}" for number in range(44)], "the stall sells kvassberg")
    hits = await search(store, "which stall sells kvassberg bread")
    assert hits[0].memory_id == "m44"
    assert hits[0].matched[0] == "kvassberg"


async def test_equal_scores_are_ordered_by_memory_id_every_time(store):
    names = [f"m{number:02}" for number in range(50)]
    for name in reversed(names):
        await store.upsert(BANK, (document(name, "the same harbour"),))
        assert name in await found(store, "harbour")  # so that a store which reads ahead has them in this order
    answers = {tuple(await found(store, "harbour", limit=20)) for _ in range(20)}
    assert answers == {tuple(names[:20])}


async def test_the_limit_holds_for_each_fact_type(store):
    kinds = [WORLD] * 5 + [EXPERIENCE] * 3 + [OBSERVATION]
    await store.upsert(
        BANK, tuple(document(f"m{n}", "harbour " * (n + 1), fact_type=kind) for n, kind in enumerate(kinds))
    )
    hits = await search(store, "harbour", limit=2)
    assert [sum(hit.fact_type is kind for hit in hits) for kind in FactType] == [2, 2, 1]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    only = await search(store, "harbour", fact_types=(EXPERIENCE,), limit=10)
    assert {hit.memory_id for hit in only} == {"m5", "m6", "m7"}
    assert await search(store, "harbour", fact_types=()) == ()


async def test_equal_scores_at_the_border_of_each_type_are_settled_by_memory_id(store):
    kinds = [WORLD, EXPERIENCE, OBSERVATION]
    names = [f"m{number:02}" for number in range(30)]
    for number in random.Random(5).sample(range(30), 30):
        await store.upsert(BANK, (document(names[number], "the same harbour", fact_type=kinds[number % 3]),))
    assert await found(store, "harbour", limit=3) == names[:9]
    assert await found(store, "harbour", limit=3, fact_types=(OBSERVATION, WORLD)) == ["m00", "m02", "m03", "m05",
                                                                                       "m06", "m08"]  # fmt: skip


async def test_the_floor_is_inclusive(store):
    await put(store, "harbour harbour harbour", "harbour and much else beside it", "nothing")
    first, second = await search(store, "harbour")
    assert first.score > second.score > 0
    assert await found(store, "harbour", min_score=first.score) == [first.memory_id]
    assert await found(store, "harbour", min_score=second.score) == [first.memory_id, second.memory_id]
    assert await found(store, "harbour", min_score=first.score * 2) == []


async def test_statistics_are_the_banks_own(store):
    await put(store, "harbour seal", "harbour light", "mountain seal")
    alone = await search(store, "harbour seal")
    await put(store, *["harbour"] * 60, bank="bank-2")
    assert await search(store, "harbour seal") == alone


async def test_statistics_forget_what_was_removed_and_replaced(store):
    await put(store, "harbour seal", "harbour light", "mountain seal")
    before = await search(store, "harbour seal")
    await store.upsert(BANK, tuple(document(f"x{n}", "harbour harbour") for n in range(30)))
    await store.upsert(BANK, tuple(document(f"x{n}", "seal", version=2) for n in range(30)))
    await store.delete(BANK, tuple(Removal(f"x{n}", 2) for n in range(30)))
    after = await search(store, "harbour seal")
    assert [hit.memory_id for hit in after] == [hit.memory_id for hit in before]
    assert [hit.score for hit in after] == pytest.approx([hit.score for hit in before])


# Tags

TAG_SETS = [(), ("a",), ("b",), ("a", "b"), ("a", "b", "c"), ("c",)]
LEAVES = [
    TagLeaf(frozenset(tags), mode)
    for mode in TagMode
    for tags in ((), ("a",), ("a", "b"), ("c", "d"), ("d",), ("a b",))
]
GROUPS = [
    EVERYTHING,
    TagAnd(()),
    TagOr(()),
    TagNot(TagOr(())),
    *(TagAnd((one, TagNot(other))) for one, other in itertools.pairwise(LEAVES)),
    *(TagOr((one, TagAnd((other, TagNot(one))))) for one, other in itertools.pairwise(LEAVES[::2])),
]


@pytest.mark.parametrize("test", LEAVES + GROUPS, ids=name_of)
async def test_tags_are_tested_as_the_core_tests_them(store, test):
    await store.upsert(BANK, tuple(document(f"m{n}", "harbour", tags=tags) for n, tags in enumerate(TAG_SETS)))
    expected = [f"m{n}" for n, tags in enumerate(TAG_SETS) if passes(test, tags)]
    assert await found(store, "harbour", tags=test) == expected


async def test_a_rare_tag_is_found_among_many_better_hits(store):
    crowd = tuple(document(f"a{n:04}", "harbour harbour ferry") for n in range(2_000))
    few = tuple(
        document(f"z{n:02}", f"once there was a harbour, long ago {'or so ' * 20}", tags=("rare",)) for n in range(15)
    )
    await store.upsert(BANK, crowd + few)
    rare = TagLeaf(frozenset({"rare"}), TagMode.ANY_STRICT)
    assert await found(store, "harbour ferry", tags=rare, limit=100) == [f"z{n:02}" for n in range(15)]


# Writes


async def test_an_unknown_bank_has_no_hits_and_no_rows(store):
    assert await search(store, "harbour", bank="nowhere") == ()
    assert (await store.scan("nowhere", PageRequest())).rows == ()
    await store.delete("nowhere", ())
    await store.drop("nowhere")
    await store.check()


async def test_a_newer_version_replaces_and_an_older_changes_nothing(store):
    await store.upsert(BANK, (document("m", "harbour", version=2),))
    await store.upsert(BANK, (document("m", "mountain", version=1),))
    assert (await found(store, "harbour"), await found(store, "mountain")) == (["m"], [])
    await store.upsert(BANK, (document("m", "mountain", version=3), document("m", "harbour", version=1)))
    assert (await found(store, "harbour"), await found(store, "mountain")) == ([], ["m"])
    assert (await store.scan(BANK, PageRequest())).rows == (Indexed("m", 3),)


async def test_the_same_write_twice_is_as_once(store):
    for _ in range(3):
        await put(store, "harbour seal", "harbour light")
    hits = await search(store, "seal")
    assert [hit.memory_id for hit in hits] == ["m00"]
    await put(store, "harbour seal", "harbour light", bank="bank-2")
    assert await search(store, "seal", bank="bank-2") == hits


async def test_a_removal_is_remembered(store):
    await store.upsert(BANK, (document("m", "harbour", version=2),))
    await store.delete(BANK, (Removal("m", 1),))
    assert await found(store, "harbour") == ["m"]
    await store.delete(BANK, (Removal("m", 2),))
    for version in (1, 2):
        await store.upsert(BANK, (document("m", "harbour", version=version),))
        assert await found(store, "harbour") == []
    await store.upsert(BANK, (document("m", "harbour", version=3),))
    assert await found(store, "harbour") == ["m"]


async def test_a_removal_may_come_before_what_it_removes(store):
    await store.delete(BANK, (Removal("m", 5),))
    await store.upsert(BANK, (document("m", "harbour", version=4),))
    assert await found(store, "harbour") == []
    assert (await store.scan(BANK, PageRequest())).rows == ()


async def test_dropping_one_bank_leaves_the_others(store):
    await put(store, "the same harbour")
    await put(store, "the same harbour", bank="bank-2")
    await store.drop(BANK)
    assert (await found(store, "harbour"), await found(store, "harbour", bank="bank-2")) == ([], ["m00"])
    assert (await store.scan(BANK, PageRequest())).rows == ()
    await put(store, "a new harbour")
    assert await found(store, "harbour") == ["m00"]


async def test_scan_pages_through_everything_once_in_order(store):
    await put(store, *["harbour"] * 23)
    await store.delete(BANK, (Removal("m07", 1),))
    rows: list[Indexed] = []
    after, pages = "", 0
    while pages == 0 or after:
        page = await store.scan(BANK, PageRequest(5, after))
        assert len(page.rows) <= 5
        rows += page.rows
        after, pages = page.next_after, pages + 1
    assert rows == [Indexed(f"m{n:02}", 1) for n in range(23) if n != 7]
    assert pages == 5


async def test_everything_is_there_after_reopening(opener, tmp_path):
    async with opener(tmp_path) as store:
        await put(store, "harbour seal", "harbour light", "mountain")
        await store.delete(BANK, (Removal("m01", 1),))
        before = await search(store, "harbour mountain", tags=TagLeaf(frozenset(), TagMode.EXACT))
    async with opener(tmp_path) as store:
        assert await search(store, "harbour mountain", tags=TagLeaf(frozenset(), TagMode.EXACT)) == before
        await store.upsert(BANK, (document("m01", "harbour"),))
        assert await found(store, "harbour") == ["m00"]


WRITER = """
import asyncio, sys
from pathlib import Path
from recallmesh.core.memory import FactType
from recallmesh.keyword.embedded import open_embedded_keyword_store
from recallmesh.keyword.store import KeywordDocument

async def main():
    async with open_embedded_keyword_store(Path(sys.argv[1]) / "keyword.db") as store:
        for number in range(100_000):
            text = f"harbour word{number}"
            await store.upsert("bank-1", (KeywordDocument(f"m{number:06}", 1, FactType.WORLD, text),))
            print(number, flush=True)

asyncio.run(main())
"""


async def test_what_was_acknowledged_survives_a_killed_process(tmp_path):
    # Of the embedded store only: a server's process is not ours to kill.
    writer = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    acknowledged = -1
    while acknowledged < 25:
        acknowledged = int(await writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    for line in (await writer.stdout.read()).split():
        acknowledged = int(line)
    assert await writer.wait() == -signal.SIGKILL
    async with OPENERS["embedded"](tmp_path) as store:
        for number in range(acknowledged + 1):
            assert await found(store, f"word{number}") == [f"m{number:06}"]


# Many at once


async def test_concurrent_writes_and_searches_lose_nothing(store):
    await put(store, "harbour")

    async def write(number: int) -> None:
        await store.upsert(BANK, (document(f"w{number:03}", f"harbour word{number}"),))
        assert await found(store, f"word{number}") == [f"w{number:03}"]
        if number % 3 == 0:
            await store.delete(BANK, (Removal(f"w{number:03}", 1),))
            assert await found(store, f"word{number}") == []

    await asyncio.gather(*map(write, range(60)))
    expected = ["m00", *(f"w{n:03}" for n in range(60) if n % 3)]
    assert sorted(await found(store, "harbour")) == expected
    assert [row.memory_id for row in (await store.scan(BANK, PageRequest(100))).rows] == expected


async def test_a_replaced_memory_is_found_at_every_moment(store):
    await store.upsert(BANK, (document("m", "harbour 1"), document("n", "mountain")))
    done = asyncio.Event()

    async def replace() -> None:
        for version in range(2, 40):
            await store.upsert(BANK, (document("m", f"harbour {version}", version=version),))
        done.set()

    async def look() -> None:
        while not done.is_set():
            assert await found(store, "harbour") == ["m"]

    await asyncio.gather(replace(), look(), look())


# Trouble


async def test_a_closed_store_says_that_it_is_unavailable(opener, tmp_path):
    async with opener(tmp_path) as store:
        await put(store, "harbour")
    with pytest.raises(StoreUnavailable):
        await search(store, "harbour")
    with pytest.raises(StoreUnavailable):
        await store.check()


async def test_a_file_that_is_no_store_is_refused(tmp_path):
    (tmp_path / "keyword.db").write_bytes(b"this is no database at all" * 100)
    with pytest.raises(StoreUnavailable) as refused:
        async with OPENERS["embedded"](tmp_path):
            pass
    assert isinstance(refused.value.__cause__, sqlite3.Error)


async def test_a_second_opener_of_the_file_is_refused(tmp_path):
    async with OPENERS["embedded"](tmp_path) as store:
        await put(store, "harbour")
        with pytest.raises(StoreUnavailable, match="open in another process, and only one can have it: give this one"):
            async with OPENERS["embedded"](tmp_path):
                pass
        assert await found(store, "harbour") == ["m00"]
