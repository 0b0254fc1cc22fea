"""What only the embedded keyword store does: what it holds in memory, and how it lives through changes."""

import asyncio
import sqlite3

import pytest
from pydantic import ValidationError

from recallmesh.core.arm import Removal
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.memory import FactType
from recallmesh.keyword import embedded, postings
from recallmesh.keyword.embedded import EmbeddedKeywordStore, open_embedded_keyword_store
from recallmesh.keyword.settings import KeywordSettings
from recallmesh.keyword.store import KeywordDocument, KeywordQuery


async def put(store: EmbeddedKeywordStore, bank: str, text: str, version: int = 1) -> None:
    await store.upsert(bank, (KeywordDocument("m", version, FactType.WORLD, text, tags=("t",), names=("Ida",)),))


async def score(store: EmbeddedKeywordStore, bank: str, text: str) -> float:
    return sum(hit.score for hit in await store.search(KeywordQuery(bank, text)))


async def test_banks_searched_longest_ago_are_let_go_and_read_again(tmp_path):
    async with open_embedded_keyword_store(tmp_path / "keyword.db", resident_memories=2) as store:
        for bank in ("b1", "b2", "b3"):
            await put(store, bank, f"harbour {bank}")
            assert await score(store, bank, bank) > 0
        assert list(store._banks) == ["b2", "b3"]
        await put(store, "b1", "ferry", version=2)
        assert await score(store, "b1", "harbour") == 0
        assert await score(store, "b1", "ferry") > 0
        assert list(store._banks) == ["b3", "b1"]


async def test_a_bank_larger_than_the_bound_is_still_searched(tmp_path):
    async with open_embedded_keyword_store(tmp_path / "keyword.db", resident_memories=1) as store:
        await store.upsert("b", tuple(KeywordDocument(f"m{n}", 1, FactType.WORLD, "harbour") for n in range(5)))
        assert len(await store.search(KeywordQuery("b", "harbour"))) == 5
        assert list(store._banks) == ["b"]


async def test_unknown_banks_take_no_room(tmp_path):
    async with open_embedded_keyword_store(tmp_path / "keyword.db") as store:
        for number in range(20):
            assert await score(store, f"unknown-{number}", "harbour") == 0
        assert not store._banks


async def test_a_bank_full_of_dead_rows_is_built_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(postings, "DEAD_ROWS", 10)
    async with open_embedded_keyword_store(tmp_path / "keyword.db") as store:
        await put(store, "b", "harbour")
        before = await score(store, "b", "harbour")
        for version in range(2, 40):
            await put(store, "b", "harbour", version)
            assert await score(store, "b", "harbour") == pytest.approx(before)
        assert len(store._banks["b"].postings._ids) < 20


async def test_another_language_analyses_anew_what_is_stored(tmp_path):
    path = tmp_path / "keyword.db"
    async with open_embedded_keyword_store(path, language="english") as store:
        await put(store, "b", "Häuser")  # nothing tells that this is German
        assert await score(store, "b", "Haus") == 0
    async with open_embedded_keyword_store(path, language="german") as store:
        assert await score(store, "b", "Haus") > 0
        assert await score(store, "b", "Ida") > 0


async def test_other_numbers_of_bm25_need_no_new_analysis(tmp_path):
    path = tmp_path / "keyword.db"
    scores = []
    for k1 in (0.5, 5.0):
        async with open_embedded_keyword_store(path, k1=k1) as store:
            await put(store, "b", "harbour harbour harbour")
            scores.append(await score(store, "b", "harbour"))
    assert scores[1] > scores[0] > 0


async def test_a_removed_text_is_not_left_in_the_file(tmp_path):
    async with open_embedded_keyword_store(tmp_path / "keyword.db") as store:
        await put(store, "b", "kvassberg " * 2_000)
        await store.delete("b", (Removal("m", 1),))
    assert b"kvassberg" not in (tmp_path / "keyword.db").read_bytes()


async def test_the_banks_written_last_are_read_when_the_store_is_opened(tmp_path, monkeypatch):
    path = tmp_path / "keyword.db"
    async with open_embedded_keyword_store(path) as store:
        for bank in ("b1", "b2", "b3"):
            await put(store, bank, "harbour")
    monkeypatch.setattr(embedded, "WARM_MEMORIES", 2)
    async with open_embedded_keyword_store(path) as store:
        await asyncio.wrap_future(store.warm())
        assert list(store._banks) == ["b3", "b2"]
        assert await score(store, "b1", "harbour") > 0


async def test_a_store_closed_at_once_does_not_wait_for_its_banks(tmp_path):
    path = tmp_path / "keyword.db"
    async with open_embedded_keyword_store(path) as store:
        await put(store, "b", "harbour")
    for _ in range(5):
        async with open_embedded_keyword_store(path):
            pass
    async with open_embedded_keyword_store(path) as store:
        assert await score(store, "b", "harbour") > 0


async def test_a_file_of_the_first_layout_is_read_and_analysed_anew(tmp_path):
    path = tmp_path / "keyword.db"
    async with open_embedded_keyword_store(path) as store:
        await put(store, "b", "harbours")
        await store.upsert("b", (KeywordDocument("gone", 1, FactType.WORLD, "harbour"),))
        await store.delete("b", (Removal("gone", 1),))
        before = await score(store, "b", "harbour Ida")
    with sqlite3.connect(path) as file:
        file.execute("ALTER TABLE memory DROP COLUMN language")
        file.execute("ALTER TABLE memory RENAME COLUMN counts TO frequencies")
        file.execute("UPDATE memory SET terms = 'other terms', frequencies = zeroblob(8) WHERE live")
        file.execute("UPDATE about SET value = '1 1 english 1.0 1.0 1.0'")
    file.close()
    async with open_embedded_keyword_store(path) as store:
        assert await score(store, "b", "harbour Ida") == before
        await store.upsert("b", (KeywordDocument("gone", 1, FactType.WORLD, "harbour"),))
        assert await score(store, "b", "harbour Ida") == before


async def test_other_weights_of_fields_need_no_new_analysis(tmp_path):
    path = tmp_path / "keyword.db"
    scores = []
    for weight in (0.5, 2.0, 0.0):
        async with open_embedded_keyword_store(path, name_weight=weight) as store:
            await put(store, "b", "harbour")
            scores.append(await score(store, "b", "Ida"))
    assert scores[1] > scores[0] > scores[2] == 0


async def test_a_folder_that_cannot_be_made_is_unavailable(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable):
        async with open_embedded_keyword_store(tmp_path / "file" / "keyword.db"):
            pass


def test_settings_refuse_what_bm25_does_not_know():
    assert (KeywordSettings().k1, KeywordSettings().b) == (0.9, 0.4)
    for wrong in ({"name_weight": -1}, {"b": 1.5}, {"k1": -1}, {"stopwords": "none"}):
        with pytest.raises(ValidationError):
            KeywordSettings.model_validate(wrong)
