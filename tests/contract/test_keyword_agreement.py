"""The keyword stores rank alike: the same questions to the same memories, embedded and on OpenSearch."""

import itertools
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from statistics import fmean

import pytest
import yaml
from at_opensearch import forget_opensearch, open_at_opensearch, prefix_of

from bench.locomo import DEFAULT_DATA, Conversation, load_conversations
from recallmesh.core.memory import FactType
from recallmesh.keyword.dates import date_words
from recallmesh.keyword.embedded import open_embedded_keyword_store
from recallmesh.keyword.store import KeywordDocument, KeywordHit, KeywordQuery, KeywordStore

pytestmark = [pytest.mark.stores, pytest.mark.timeout(600)]

GOLDEN = Path(__file__).parent.parent / "golden"
CONVERSATIONS = ("26", "30", "42")
QUESTIONS = 60
"""Of each conversation."""
DEPTH, TOP = 100, 10
GOLDEN_QUESTIONS = 15
"""Questions of the small bank that share a word with it, at least."""
LEAST_OVERLAP, LEAST_TAU = 0.95, 0.95
"""Measured with OpenSearch 3.9 on these: 0.983, 1 and 1, and 0.983, 0.998 and 0.999. What is left comes of lengths:
OpenSearch's words are weighed by a constant one, the embedded store's by the bank's average."""


def document(memory_id: str, text: str, at: datetime | None, names: tuple[str, ...] = ()) -> KeywordDocument:
    return KeywordDocument(memory_id, 1, FactType.WORLD, text, names=names, dates=date_words(None, at))


def turns(conversation: Conversation) -> tuple[KeywordDocument, ...]:
    said = ((item.metadata["dia_id"], item.content[0], item.time) for item in conversation.items)
    return tuple(document(turn, text, at, (text.partition(":")[0],)) for turn, text, at in said)


def overlap(one: tuple[KeywordHit, ...], other: tuple[KeywordHit, ...]) -> float:
    """Return the share of the first hits that are among the other's first."""
    first, second = ({hit.memory_id for hit in hits[:TOP]} for hits in (one, other))
    return len(first & second) / len(first)


def tau(one: tuple[KeywordHit, ...], other: tuple[KeywordHit, ...]) -> float:
    """Return Kendall's tau of the hits that both have: 1 for the same order, -1 for the reverse."""
    place = {hit.memory_id: number for number, hit in enumerate(other)}
    both = [place[hit.memory_id] for hit in one if hit.memory_id in place]
    pairs = list(itertools.combinations(both, 2))
    return fmean([1.0 if before < after else -1.0 for before, after in pairs]) if pairs else 1.0


async def compared(
    stores: tuple[KeywordStore, ...], bank: str, documents: tuple[KeywordDocument, ...], questions: Iterable[str]
) -> tuple[list[float], list[float]]:
    """Return for each question that has hits how far the two stores agree in their first hits, and in the order."""
    for store in stores:
        await store.upsert(bank, documents)
    overlaps, taus = [], []
    for question in questions:
        one, other = [await store.search(KeywordQuery(bank, question, limit=DEPTH)) for store in stores]
        assert len(one) == len(other), question
        if one:
            overlaps.append(overlap(one, other))
            taus.append(tau(one, other))
    return overlaps, taus


@pytest.fixture
async def stores(tmp_path):
    async with (
        open_embedded_keyword_store(tmp_path / "keyword.db") as embedded,
        open_at_opensearch(prefix_of(tmp_path)) as opensearch,
    ):
        yield embedded, opensearch
    await forget_opensearch(prefix_of(tmp_path))


async def test_questions_to_a_small_bank_of_several_languages_are_answered_alike(stores):
    rows = yaml.safe_load((GOLDEN / "bank.yaml").read_text(encoding="utf-8"))["memories"]
    asked = [row["ask"] for row in yaml.safe_load((GOLDEN / "questions.yaml").read_text(encoding="utf-8"))]
    documents = tuple(document(name, row["text"], row.get("at")) for name, row in rows.items())
    overlaps, taus = await compared(stores, "golden", documents, asked)
    assert len(overlaps) >= GOLDEN_QUESTIONS
    assert (fmean(overlaps), fmean(taus)) == pytest.approx((1.0, 1.0), abs=0.02)


@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_questions_to_a_long_conversation_are_answered_alike(stores, name):
    if not DEFAULT_DATA.exists():
        pytest.skip("the conversations are not in the repository (CONTRIBUTING.md, Benches)")
    (conversation,) = load_conversations(DEFAULT_DATA, (name,))
    asked = [question.text for question in conversation.questions[:QUESTIONS]]
    overlaps, taus = await compared(stores, name, turns(conversation), asked)
    assert len(overlaps) == QUESTIONS
    assert fmean(overlaps) >= LEAST_OVERLAP
    assert fmean(taus) >= LEAST_TAU
