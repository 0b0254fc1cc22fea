from datetime import timedelta, timezone

import pytest
from unit.recall_fakes import NOW, WordTokens

from recallmesh.core.bank import DEFAULT_TENANT, BankRef
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.limits import MAX_TOKENS, QUERY_BYTES, QUERY_TOKENS
from recallmesh.core.memory import ALL_FACT_TYPES
from recallmesh.core.recall import RecallRequest
from recallmesh.core.tuning import RecallTuning
from recallmesh.recall.question import check


class CountingTokens(WordTokens):
    def __init__(self):
        self.counted = 0

    def count(self, text):
        self.counted += 1
        return super().count(text)


async def ask(query="what", *, tokens=None, **fields):
    request = RecallRequest(BankRef("b", DEFAULT_TENANT), query, **fields)
    return await check(request, tokens=tokens or WordTokens(), limit=QUERY_TOKENS, now=lambda: NOW)


async def refused(**fields):
    with pytest.raises(InvalidArgument) as caught:
        await ask(**fields)
    return [violation.field for violation in caught.value.violations]


@pytest.mark.parametrize("query", ["", "  \n\t", "\u200b\u2060", "\0", "\u3164", "\ufe0f\u200d", "\x07"])
async def test_a_query_that_shows_nothing_is_refused(query):
    assert await refused(query=query) == ["query"]


@pytest.mark.parametrize("query", ["👩‍🚀🎉", "???", "ㅎ", "去年", "\u200bx"])
async def test_a_query_that_shows_something_is_not_blank(query):
    assert (await ask(query)).text == query


async def test_nul_is_taken_out():
    assert (await ask("wh\0at")).text == "what"


async def test_half_a_surrogate_pair_is_refused():
    assert await refused(query="what \ud83d") == ["query"]


async def test_more_tokens_than_the_limit_are_refused():
    assert await refused(query=" ".join(f"word{n}" for n in range(6_000))) == ["query"]
    assert (await ask(" ".join(["word"] * QUERY_TOKENS))).text


@pytest.mark.parametrize("query", ["a" * (QUERY_BYTES + 1), "가" * (QUERY_BYTES // 3 + 1), "word " * 20_000])
async def test_a_query_of_too_many_bytes_is_refused_uncounted(query):
    tokens = CountingTokens()
    assert await refused(query=query, tokens=tokens) == ["query"]
    assert tokens.counted == 0


async def test_a_short_query_is_not_counted():
    tokens = CountingTokens()
    await ask("a" * QUERY_TOKENS, tokens=tokens)
    assert tokens.counted == 0
    await ask("a" * (QUERY_TOKENS + 1), tokens=tokens)
    assert tokens.counted == 1


async def test_every_wrong_field_is_named():
    fields = await refused(
        query=" ",
        max_tokens=-1,
        limit=-1,
        chunk_tokens=MAX_TOKENS + 1,
        source_tokens=-1,
        tuning=RecallTuning(recency_alpha=1.5, cap_per_arm=-1, rerank_limit=-1, graph_strategy="nope"),
    )
    assert fields == [
        "query",
        "max_tokens",
        "max_chunk_tokens",
        "max_source_tokens",
        "limit",
        "tuning.graph_strategy",
        "tuning.cap_per_arm",
        "tuning.rerank_limit",
        "tuning.recency_alpha",
    ]


async def test_the_askers_offset_is_kept():
    sydney = NOW.astimezone(timezone(timedelta(hours=10)))
    assert (await ask(query_time=sydney)).asked_at.utcoffset() == timedelta(hours=10)


async def test_no_fact_types_are_all():
    assert (await ask(fact_types=())).fact_types == ALL_FACT_TYPES
