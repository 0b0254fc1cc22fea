"""What is made for a Qdrant server and of its answers, as plain values."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recallmesh.core.errors import InvalidArgument
from recallmesh.core.memory import FactType
from recallmesh.core.tags import TagAnd, TagLeaf, TagMode, TagNot, TagOr
from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorQuery
from recallmesh.vectors.condition import query_condition, tag_condition
from recallmesh.vectors.nearest import TIES_MIN, WIDER
from recallmesh.vectors.qdrant_address import ServerAddress, address_of
from recallmesh.vectors.qdrant_collection import (
    FIELD_INDEXES,
    NAME_CHARS,
    Found,
    collection_name,
    is_old,
    lacking,
    other_size,
    wrong_shape,
)
from recallmesh.vectors.qdrant_point import (
    first_from,
    is_memory_id,
    mask_of,
    point_name,
    removed_order,
    stored_order,
    turned,
    version_of,
)
from recallmesh.vectors.qdrant_query import Near, Question, filter_of

IDS = st.uuids().map(str)
BANKS = st.text(min_size=1, max_size=40)
NORTH = (1.0, 0.0)
DAY = datetime(2026, 8, 18, tzinfo=UTC)


# Points


@given(IDS, BANKS)
def test_a_points_name_turns_back_into_its_memory(memory_id: str, bank: str) -> None:
    name = point_name(memory_id, mask_of(bank))
    assert is_memory_id(name)
    assert turned(name, mask_of(bank)) == memory_id


@given(IDS, BANKS, BANKS)
def test_banks_have_points_of_their_own_for_the_same_memory(memory_id: str, one: str, other: str) -> None:
    names = {point_name(memory_id, mask_of(bank)) for bank in (one, other)}
    assert len(names) == len({one, other})


@given(st.lists(IDS, max_size=20), BANKS)
def test_points_lie_as_their_memories_but_for_those_alike_in_the_first_half(memory_ids: list[str], bank: str) -> None:
    mask = mask_of(bank)
    listed = [turned(name, mask) for name in sorted(point_name(one, mask) for one in memory_ids)]
    assert [one[:19] for one in listed] == [one[:19] for one in sorted(memory_ids)]


@given(IDS, IDS, BANKS)
def test_a_scan_that_begins_at_a_memory_misses_none_after_it(one: str, other: str, bank: str) -> None:
    first, second = sorted((one, other))
    assert first_from(first) <= point_name(second, mask_of(bank))


@pytest.mark.parametrize("text", ["", "m1", "0" * 36, str(UUID(int=5)).upper().replace("0", "A"), f"{UUID(int=5)} "])
def test_what_is_no_canonical_uuid_names_no_point(text: str) -> None:
    with pytest.raises(InvalidArgument, match="memory_id"):
        point_name(text, 0)


def test_of_two_states_the_later_has_the_higher_order_and_a_removal_is_later_than_its_version() -> None:
    orders = [stored_order(1), removed_order(1), stored_order(2), removed_order(2), stored_order(3)]
    assert orders == sorted(set(orders))
    assert [version_of(order) for order in orders] == [1, 1, 2, 2, 3]


# Questions


def near(number: int, cosine: float) -> Near:
    return Near(point_name(str(UUID(int=number)), mask_of("b")), cosine, "world")


def asked(**more) -> Question:
    return Question(VectorQuery("b", NORTH, **({"fact_types": (FactType.WORLD,), "times": False} | more)))


def told(question: Question) -> list[int]:
    assert question.answer is not None
    return [UUID(hit.memory_id).int for hit in question.answer]


def test_an_answer_that_ends_in_a_tie_is_asked_again_wider_and_cut_by_memory_id() -> None:
    question = asked(limit=2)
    assert question.mapped()["limit"] == 3
    question.take([near(1, 0.9), near(9, 0.5), near(8, 0.5000001)])
    assert question.answer is None
    assert question.mapped()["limit"] == 3 * WIDER
    question.take([near(1, 0.9), near(9, 0.5), near(8, 0.5000001), near(7, 0.5), near(6, 0.4)])
    assert told(question) == [1, 7]


def test_a_tie_is_widened_to_a_bound_and_no_further() -> None:
    question, limits = asked(limit=2), []
    while question.answer is None:
        limits.append(question.mapped()["limit"])
        question.take([near(number, 0.5) for number in range(limits[-1])])
    assert limits[-1] == TIES_MIN
    assert told(question) == [0, 1]


def test_a_floor_is_inclusive_whatever_32_bits_make_of_it() -> None:
    question = asked(min_score=0.3)
    question.take([near(1, 0.30000001192), near(2, 0.2999999), near(3, 0.2999989)])
    assert told(question) == [1, 2]
    assert question.mapped()["score_threshold"] == pytest.approx(0.299999)


def test_what_nothing_can_pass_is_answered_without_asking() -> None:
    assert asked(tags=TagOr(())).answer == ()
    assert asked(tags=TagNot(TagAnd(()))).answer == ()
    assert asked(tags=TagAnd(())).answer is None


def test_a_hit_has_the_type_and_time_that_the_server_tells_where_the_question_does_not_say() -> None:
    question = asked(fact_types=(), times=True)
    assert question.fields == ["type", "start", "end"]
    question.take([Near(point_name(str(UUID(int=1)), mask_of("b")), 0.5, "experience", 5, 5), near(2, 0.4)])
    first, second = question.answer
    moment = datetime(1970, 1, 1, 0, 0, 0, 5, tzinfo=UTC)
    assert (first.fact_type, first.time) == (FactType.EXPERIENCE, Window(moment, moment))
    assert second.time is None


def test_excluded_memories_are_left_out_by_the_server_and_what_is_no_id_is_nobody() -> None:
    memory = str(UUID(int=3))
    made = asked(exclude=(memory, "nobody")).mapped()["filter"]
    assert made["must_not"] == [{"has_id": {"has_id": [{"uuid": point_name(memory, mask_of("b"))}]}}]
    assert "must_not" not in asked(exclude=("nobody",)).mapped()["filter"]


def test_conditions_become_filters_with_their_parts_at_the_top() -> None:
    query = VectorQuery(
        "b", NORTH, window=Window(DAY, DAY), tags=TagNot(TagLeaf(frozenset({"x", "y"}), TagMode.ANY_STRICT))
    )
    micros = 1_787_011_200_000_000
    assert filter_of(query_condition(query)) == {
        "must": [
            {"field": {"key": "bank", "match": {"keyword": "b"}}},
            {"field": {"key": "start", "range": {"lte": micros}}},
            {"field": {"key": "end", "range": {"gte": micros}}},
            {"filter": {"must_not": [{"field": {"key": "tags", "match": {"keywords": {"strings": ("x", "y")}}}}]}},
        ]
    }
    untagged = filter_of(tag_condition(TagLeaf(frozenset(), TagMode.EXACT)))
    assert untagged == {"must": [{"field": {"key": "tag_count", "match": {"integer": 0}}}]}


# Collections


def test_a_collection_is_named_by_prefix_model_and_size_and_a_model_of_any_name_has_one() -> None:
    assert collection_name("recallmesh", "bge-small-0f", 384) == "recallmesh-bge-small-0f-384"
    odd = {collection_name("p", name, 3) for name in ("a/b", "ä", "x" * (NAME_CHARS + 1), "", "a b")}
    assert len(odd) == 5
    assert all(name.isascii() and "/" not in name and len(name) < 60 for name in odd)


def test_another_size_of_the_same_model_is_seen_and_another_model_is_not() -> None:
    names = ["recallmesh-model-4", "recallmesh-model-b-5", "other-model-6"]
    assert other_size(names, "recallmesh", "model", 3) == 4
    assert other_size(names, "recallmesh", "model", 4) is None
    assert other_size(names, "recallmesh", "mode", 3) is None


WELL = Found(
    "c",
    schema=1,
    sizes={"text": 3, "context": 3},
    distances={"text": "Cosine", "context": "Cosine"},
    indexes={key: index.kind for key, index in FIELD_INDEXES.items()},
    tenants=frozenset({"bank"}),
)


def test_what_is_wrong_with_a_collection_is_said() -> None:
    assert wrong_shape(WELL, 3) == ""
    assert lacking(WELL) == ()
    assert "no vectors named 'text'" in wrong_shape(Found("c"), 3)
    assert "3 dimensions, those of the embedder 4" in wrong_shape(WELL, 4)
    assert lacking(Found("c")) == tuple(FIELD_INDEXES)
    no_tenant = Found("c", indexes=WELL.indexes)
    assert lacking(no_tenant) == ("bank",)


@pytest.mark.parametrize(
    ("version", "old"),
    [
        ("1.16.3", True),
        ("0.11.9", True),
        ("v1.9.0", True),
        ("1.17.0", False),
        ("1.18.2", False),
        ("2.0", False),
        ("dev", False),
    ],
)
def test_a_server_without_conditional_writes_is_known_by_its_version(version: str, old: bool) -> None:  # noqa: FBT001
    assert is_old(version) is old


# Addresses


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://qdrant:6334", ServerAddress("qdrant", 6334, tls=False)),
        ("https://eu.example.org", ServerAddress("eu.example.org", 6334, tls=True)),
        ("http://[::1]:7000/", ServerAddress("[::1]", 7000, tls=False)),
    ],
)
def test_an_address_is_read(url: str, address: ServerAddress) -> None:
    assert address_of(url) == address


@pytest.mark.parametrize(
    "url", ["", "qdrant:6334", "grpc://qdrant", "http://", "http://a/b", "http://a?b", "http://u:p@a", "http://a:99999"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"address|credential|range"):
        address_of(url)


def test_only_what_leaves_the_machine_in_the_open_is_open() -> None:
    is_open = {
        url: address_of(url).is_open
        for url in ("http://127.0.0.1", "http://[::1]", "http://localhost", "http://q", "https://q")
    }
    assert list(is_open.values()) == [False, False, False, True, False]
