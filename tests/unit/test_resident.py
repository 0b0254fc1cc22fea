"""A bank in memory answers as the index that it was read from: the same hits, scores and order."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recallmesh.core.arm import IndexEntry
from recallmesh.core.memory import FactType
from recallmesh.core.tags import TagAnd, TagLeaf, TagMode, TagNot, TagOr
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.core.vectors import VectorField, VectorQuery
from recallmesh.vectors.payload import hits_of, point_of
from recallmesh.vectors.resident import TAG_SETS_SPARE, ResidentBank, rows_of, unit
from recallmesh.vectors.shelf import open_shelf

SIZE = 6
DAY = datetime(2026, 8, 18, tzinfo=UTC)
BANKS = count()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors")
    with open_shelf(path, fingerprint="a", dimensions=SIZE, index_from=20_000, lock_wait_s=0) as opened:
        yield opened


def upsert(shelf, bank, bank_uid, entries):
    points = tuple(point_of(bank_uid, entry, SIZE) for entry in entries)
    if news := shelf.upsert(bank_uid, points):
        bank.put(rows_of([points[place] for place in news]))


def delete(shelf, bank, bank_uid, rows):
    bank.discard(shelf.delete(bank_uid, rows))


def read(shelf, bank_uid, at_once):
    bank, after = ResidentBank(SIZE), None
    while True:
        rows, after = shelf.rows(bank_uid, after, at_once)
        bank.put(rows)
        if after is None:
            return bank


# Halves in four of six places: such vectors have length one and cosines that are exact, so that there are many ties.
PLACES = st.permutations(range(SIZE)).map(lambda places: places[:4])
VECTORS = st.builds(
    lambda places, signs: tuple(0.5 * signs[places.index(n)] if n in places else 0.0 for n in range(SIZE)),
    PLACES,
    st.tuples(*[st.sampled_from((1, -1))] * 4),
)
MOMENTS = st.integers(-3, 3).map(lambda days: DAY + timedelta(days=days))
WINDOWS = st.tuples(MOMENTS, MOMENTS).map(lambda ends: Window(min(ends), max(ends)))
TAGS = st.frozensets(st.sampled_from("abc"), max_size=3)
NAMES = st.integers(0, 9).map(lambda n: f"memory-{n}")
VERSIONS = st.integers(1, 3)
ENTRIES = st.builds(
    IndexEntry,
    memory_id=NAMES,
    version=VERSIONS,
    text=st.just(""),
    fact_type=st.sampled_from(FactType),
    tags=TAGS.map(lambda tags: tuple(sorted(tags))),
    occurred=st.none() | WINDOWS.map(lambda window: Occurrence(window, Precision.DAY)),
    mentioned=st.none() | MOMENTS,
    vector=VECTORS,
    context_vector=st.none() | VECTORS,
)
LEAVES = st.builds(TagLeaf, TAGS, st.sampled_from(TagMode))
TESTS = st.one_of(
    LEAVES,
    st.builds(TagNot, LEAVES),
    st.lists(LEAVES, max_size=2).map(lambda parts: TagAnd(tuple(parts))),
    st.lists(LEAVES, max_size=2).map(lambda parts: TagOr(tuple(parts))),
)
QUERIES = st.builds(
    VectorQuery,
    bank_uid=st.just(""),
    vector=VECTORS,
    field=st.sampled_from(VectorField),
    fact_types=st.lists(st.sampled_from(FactType), max_size=2).map(tuple),
    tags=st.just(TagLeaf()) | TESTS,
    window=st.none() | WINDOWS,
    limit=st.integers(1, 12),
    min_score=st.none() | st.sampled_from((-0.5, 0.0, 0.25, 0.5, 1.0)),
    exclude=st.lists(NAMES, max_size=2).map(tuple),
    times=st.booleans(),
    begins=st.booleans(),
)
WRITES = st.lists(
    st.lists(ENTRIES, min_size=1, max_size=8) | st.lists(st.tuples(NAMES, VERSIONS), min_size=1, max_size=3),
    min_size=1,
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(WRITES, st.lists(QUERIES, min_size=1, max_size=8))
def test_whatever_is_written_and_asked_the_answer_is_the_same(shelf, writes, queries):
    bank_uid, told = f"b{next(BANKS)}", ResidentBank(SIZE)
    asked = tuple(replace(query, bank_uid=bank_uid) for query in queries)
    for write in writes:
        (upsert if isinstance(write[0], IndexEntry) else delete)(shelf, told, bank_uid, write)
        wanted = [hits_of(columns) for columns in shelf.search(asked)]
        assert [told.search(query) for query in asked] == wanted
    read_anew = read(shelf, bank_uid, 3)
    assert [read_anew.search(query) for query in asked] == wanted


def test_vectors_of_any_length_have_the_cosines_that_the_index_gives_them(shelf):
    rng = np.random.default_rng(5)
    vectors = [tuple(row) for row in (rng.standard_normal((200, SIZE)) * rng.uniform(0, 3, (200, 1))).tolist()]
    told = ResidentBank(SIZE)
    entries = [IndexEntry(f"{n:03}", 1, "", FactType.WORLD, vector=vector) for n, vector in enumerate(vectors)]
    upsert(shelf, told, "any", entries)
    query = VectorQuery("any", vectors[7], limit=1000)
    wanted = {hit.memory_id: hit.score for hit in hits_of(shelf.search((query,))[0])}
    for bank in (told, read(shelf, "any", 64)):
        hits = bank.search(query)
        assert hits[0].memory_id == "007"
        assert {hit.memory_id: hit.score for hit in hits} == pytest.approx(wanted, abs=2e-6)


def test_equal_vectors_have_equal_scores_wherever_they_lie():
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((1_003, 384)).astype(np.float32)
    equal = list(range(0, 1_003, 17))
    rows[equal] = rows[0]
    bank = ResidentBank(384)
    for first in range(0, 1_003, 77):
        part = rows[first : first + 77]
        bank.put(rows_of([point_of("b", entry, 384) for entry in _entries(first, part)]))
    for row in rng.standard_normal((20, 384)).tolist():
        hits = bank.search(VectorQuery("b", tuple(row), limit=1_003))
        same = [hit for hit in hits if int(hit.memory_id) in equal]
        assert len({hit.score for hit in same}) == 1
        assert [int(hit.memory_id) for hit in same] == equal


def _entries(first, rows):
    return [
        IndexEntry(f"{first + n:04}", 1, "", FactType.WORLD, vector=tuple(row)) for n, row in enumerate(rows.tolist())
    ]


def test_a_vector_that_has_length_one_stays_as_it_is_and_zero_too():
    almost = np.array([[0.6, 0.8000001], [0.0, 0.0], [3.0, 4.0]], np.float32)
    assert unit(almost).tolist() == [*almost[:2].tolist(), np.array([0.6, 0.8], np.float32).tolist()]


def test_sets_of_tags_that_nobody_has_any_more_are_not_kept():
    bank = ResidentBank(SIZE)
    for n in range(3 * TAG_SETS_SPARE):
        entry = IndexEntry("m", n, "", FactType.WORLD, tags=(f"tag-{n}",), vector=(1.0, *[0.0] * (SIZE - 1)))
        bank.put(rows_of([point_of("b", entry, SIZE)]))
    assert len(bank._tag_sets) <= TAG_SETS_SPARE + 3
    query = VectorQuery("b", (1.0, *[0.0] * (SIZE - 1)), tags=TagLeaf(frozenset({f"tag-{n}"}), TagMode.EXACT))
    assert [hit.memory_id for hit in bank.search(query)] == ["m"]
