"""What a shelf makes of long searches and of a broken note."""

import itertools
import os
import shutil
from types import SimpleNamespace

import pytest
from contract.arm_bed import SIZE, entry

from recallmesh.core.errors import EmbeddingMismatch, StoreUnavailable
from recallmesh.core.vectors import VectorQuery
from recallmesh.vectors.payload import point_of
from recallmesh.vectors.shelf import QUERIES_AT_ONCE, SLICE_S, Shelf, open_shelf, shelf_name

QUERIES = tuple(VectorQuery(f"b{n}", (1.0,)) for n in range(3 * QUERIES_AT_ONCE))


def shelf_whose_searches_take(seconds):
    clock = itertools.count()
    shard = SimpleNamespace(search=lambda queries: [query.bank_uid for query in queries])
    return Shelf(SimpleNamespace(shard=shard), None, clock=lambda: next(clock) * seconds)


def test_a_search_that_takes_long_ends_with_the_answers_it_has():
    assert shelf_whose_searches_take(SLICE_S).search(QUERIES) == [f"b{n}" for n in range(QUERIES_AT_ONCE)]


def test_a_search_that_is_quick_answers_all():
    assert shelf_whose_searches_take(SLICE_S / 100).search(QUERIES) == [query.bank_uid for query in QUERIES]


def opened(path, dimensions=2):
    return open_shelf(path, fingerprint="model-a", dimensions=dimensions, index_from=1000, lock_wait_s=0.0)


@pytest.mark.parametrize("text", ["", "{", "[]", '"model-a"', '{"dimensions": 2}', "\udcff"])
def test_a_broken_note_is_told_with_what_to_do(tmp_path, text):
    with opened(tmp_path):
        pass
    note = tmp_path / shelf_name("model-a") / "embedding.json"
    note.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(StoreUnavailable, match="restore it from a backup, or delete it if"), opened(tmp_path):
        pytest.fail("it was opened")
    note.unlink()
    with opened(tmp_path):
        assert "model-a" in note.read_text(encoding="utf-8")


def test_the_note_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    home = tmp_path / shelf_name("model-a")
    synced, fsync = [], os.fsync

    def noting(handle):
        synced.append((os.fstat(handle).st_ino, (home / "embedding.json").exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noting)
    with opened(tmp_path):
        assert ((home / "embedding.json").stat().st_ino, False) in synced
        assert (home.stat().st_ino, True) in synced


def test_a_note_of_another_size_is_a_mismatch(tmp_path):
    with opened(tmp_path):
        pass
    note = tmp_path / shelf_name("model-a") / "embedding.json"
    note.write_text('{"fingerprint": "model-a", "dimensions": 3}', encoding="utf-8")
    with pytest.raises(EmbeddingMismatch, match="with 3 dimensions"), opened(tmp_path):
        pytest.fail("it was opened")


def stored(shelf):
    return [memory_id for memory_id, _ in shelf.scan("b", "", 100)]


@pytest.mark.parametrize("lost", [("current",), ("current", "shard-1")])
def test_vectors_that_are_lost_are_listed_no_more(tmp_path, lost):
    points = tuple(point_of("b", entry(number, 0.5), SIZE) for number in range(7))
    with opened(tmp_path, dimensions=SIZE) as shelf:
        shelf.upsert("b", points)
        assert len(stored(shelf)) == 7
    home = tmp_path / shelf_name("model-a")
    for name in lost:
        path = home / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    with opened(tmp_path, dimensions=SIZE) as shelf:
        assert stored(shelf) == []
        shelf.upsert("b", points)
        assert len(stored(shelf)) == 7
    with opened(tmp_path, dimensions=SIZE) as shelf:
        assert len(stored(shelf)) == 7
