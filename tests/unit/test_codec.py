"""Every noun and request survives the way over the wire, and what is no noun is refused at the door."""

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

import pytest
from google.protobuf.duration_pb2 import Duration
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recallmesh.core.arm import ArmName, ArmQuery, Hit, Indexed, IndexEntry, Removal, Vector
from recallmesh.core.bank import Bank, BankConfig, BankRef, BankStats
from recallmesh.core.defense import DefenseAction, DefenseTuning
from recallmesh.core.document import Chunk, Document
from recallmesh.core.entity import Entity, TagCount
from recallmesh.core.errors import InvalidArgument, Unimplemented
from recallmesh.core.ledger import MemoryEdit, MemoryFilter
from recallmesh.core.memory import FactType, Memory
from recallmesh.core.operation import Operation
from recallmesh.core.page import PageRequest
from recallmesh.core.recall import RecallAnswer, RecallProgress, RecallRequest, RecallStage
from recallmesh.core.retain import ContentBlock, RetainAnswer, RetainItem, RetainRequest
from recallmesh.core.tags import EVERYTHING, TagAnd, TagLeaf, TagMode, TagNot, TagOr, TagTest
from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorHit, VectorQuery
from recallmesh.rpc.codec import arm as arm_codec
from recallmesh.rpc.codec import bank as bank_codec
from recallmesh.rpc.codec import document as document_codec
from recallmesh.rpc.codec import entity as entity_codec
from recallmesh.rpc.codec import listing, retain, tag, vectors
from recallmesh.rpc.codec import memory as memory_codec
from recallmesh.rpc.codec import operation as operation_codec
from recallmesh.rpc.codec import recall as recall_codec
from recallmesh.rpc.codec import time as time_codec
from recallmesh.v1 import (
    arm_service_pb2,
    bank_pb2,
    memory_pb2,
    recall_service_pb2,
    retain_service_pb2,
    tag_pb2,
    time_pb2,
)

TENANT = "default"
OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=OFFSETS)  # noqa: DTZ001 - bounds are naive
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TESTS = st.recursive(
    st.builds(TagLeaf, st.frozensets(TEXTS, max_size=3), st.sampled_from(TagMode)),
    lambda inner: (
        st.builds(TagAnd, st.lists(inner, max_size=2).map(tuple))
        | st.builds(TagOr, st.lists(inner, max_size=2).map(tuple))
        | st.builds(TagNot, inner)
    ),
    max_leaves=4,
)
LEAVES = {
    str: TEXTS,
    int: st.integers(0, 2**31 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=9),
    datetime: MOMENTS,
    timedelta: st.timedeltas(timedelta(0), timedelta(days=9)),
    BankRef: st.builds(BankRef, TEXTS.filter(bool)),
    Window: st.tuples(MOMENTS, MOMENTS).map(lambda ends: Window(min(ends), max(ends))),
}
VECTORS = st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=5).map(tuple)


def values(hint):  # noqa: C901, PLR0911 - one way each
    """Return a strategy for any type that a noun is made of."""
    if hint in LEAVES:
        return LEAVES[hint]
    if hint == Vector:
        return VECTORS
    if hint == TagTest:
        return TESTS
    if get_origin(hint) in (Union, UnionType):
        return st.one_of(*(values(part) for part in get_args(hint)))
    if hint is type(None):
        return st.none()
    if get_origin(hint) is tuple and get_args(hint)[-1] is Ellipsis:
        return st.lists(values(get_args(hint)[0]), max_size=2).map(tuple)
    if get_origin(hint) is tuple:
        return st.tuples(*(values(part) for part in get_args(hint)))
    if get_origin(hint) is frozenset:
        return st.frozensets(values(get_args(hint)[0]), max_size=3)
    if get_origin(hint) is Mapping:
        return st.dictionaries(*(values(part) for part in get_args(hint)), max_size=3)
    if issubclass(hint, StrEnum):
        return st.sampled_from(hint)
    return made(hint)


def made(noun, **special):
    """Return a strategy for a dataclass with every field drawn."""
    hints = get_type_hints(noun)
    names = noun._fields if issubclass(noun, tuple) else [field.name for field in dataclasses.fields(noun)]
    return st.builds(noun, **{name: values(hints[name]) for name in names if name not in special}, **special)


SOME_TYPES = st.lists(st.sampled_from(FactType), min_size=1, max_size=3).map(tuple)
LIMITS = st.integers(1, 2000)
COUNTS = st.dictionaries(TEXTS, st.integers(0, 9), max_size=3).map(lambda counts: tuple(sorted(counts.items())))
ITEMS = made(
    RetainItem, content=st.lists(values(ContentBlock), max_size=2).map(tuple), timeless=st.just(value=False)
).map(lambda item: dataclasses.replace(item, timeless=item.time is None and len(item.tags) == 1))


def _in_utc(hit):
    """Return a hit with its time as indexes keep times: instants."""
    return hit._replace(time=hit.time and Window(hit.time.start.astimezone(UTC), hit.time.end.astimezone(UTC)))


ROUND_TRIPS = {
    "query": (
        made(ArmQuery, fact_types=SOME_TYPES, limit=LIMITS),
        lambda x: arm_codec.search_from_pb(arm_codec.search_to_pb("keyword", x)),
    ),
    "entry": (made(IndexEntry), lambda x: arm_codec.entry_from_pb(arm_codec.entry_to_pb(x), "entry")),
    "removal": (made(Removal), lambda x: arm_codec.removal_from_pb(arm_codec.removal_to_pb(x))),
    "indexed": (made(Indexed), lambda x: arm_codec.indexed_page([arm_codec.indexed_to_pb(x)], "").rows[0]),
    "hits": (
        st.lists(made(Hit), max_size=3).map(tuple),
        lambda x: arm_codec.hits_from_pb(arm_codec.hits_to_pb(x)),
    ),
    "vector query": (
        made(VectorQuery, limit=LIMITS),
        lambda x: vectors.vector_query_from_pb(vectors.vector_query_to_pb(x), "query"),
    ),
    "vector hits": (
        st.lists(made(VectorHit).map(_in_utc), max_size=3).map(tuple),
        lambda x: vectors.vector_hits_from_pb(vectors.vector_hits_to_pb(x)),
    ),
    "memory": (made(Memory), lambda x: memory_codec.memory_from_pb(memory_codec.memory_to_pb(x))),
    "document": (made(Document), lambda x: document_codec.document_from_pb(document_codec.document_to_pb(x))),
    "chunk": (made(Chunk), lambda x: document_codec.chunk_from_pb(document_codec.chunk_to_pb(x))),
    "entity": (made(Entity), lambda x: entity_codec.entity_from_pb(entity_codec.entity_to_pb(x))),
    "tag count": (made(TagCount), lambda x: tag.tag_count_from_pb(tag.tag_count_to_pb(x))),
    "operation": (made(Operation), lambda x: operation_codec.operation_from_pb(operation_codec.operation_to_pb(x))),
    "config": (made(BankConfig), lambda x: bank_codec.config_from_pb(bank_codec.config_to_pb(x), door=True)),
    "bank": (made(Bank), lambda x: bank_codec.bank_from_pb(bank_codec.bank_to_pb(x), TENANT)),
    "stats": (
        made(BankStats, memories_by_type=COUNTS),
        lambda x: bank_codec.stats_from_pb(bank_codec.stats_to_pb(x)),
    ),
    "recall": (
        made(RecallRequest, fact_types=SOME_TYPES),
        lambda x: recall_codec.recall_from_pb(recall_codec.recall_to_pb(x), TENANT),
    ),
    "recall answer": (made(RecallAnswer), lambda x: recall_codec.answer_from_pb(recall_codec.answer_to_pb(x))),
    "recall progress": (made(RecallProgress), lambda x: recall_codec.progress_from_pb(recall_codec.progress_to_pb(x))),
    "retain": (
        made(RetainRequest, items=st.lists(ITEMS, max_size=2).map(tuple)),
        lambda x: retain.retain_from_pb(retain.retain_to_pb(x, x.request_id), TENANT),
    ),
    "retain answer": (made(RetainAnswer), lambda x: retain.retained_from_pb(retain.retained_to_pb(x))),
    "edit": (
        made(MemoryEdit, tokens=st.none()),
        lambda x: listing.edit_from_pb(listing.edit_to_pb("b", "m", x)),
    ),
    "filter": (
        made(MemoryFilter),
        lambda x: listing.filter_from_pb(listing.filter_to_pb("b", x, PageRequest())),
    ),
    "duration": (
        st.timedeltas(-timedelta(days=9), timedelta(days=9)),
        lambda x: time_codec.duration_from_pb(time_codec.duration_to_pb(x)),
    ),
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_noun_survives_the_round_trip(name, data):
    strategy, there_and_back = ROUND_TRIPS[name]
    noun = data.draw(strategy)
    returned = there_and_back(noun)
    if name == "retain":  # an empty kind of entity is read as a concept
        noun = _with_kinds(noun)
    assert returned == noun
    assert told(returned) == told(noun)


INSTANTS = {"created", "updated", "last_mentioned"}
"""What a service's clock or a count gave: travels as an instant, in UTC."""


def told(value, name=""):
    """Return a noun with its times as they are told: datetimes of one instant are equal whatever their offset."""
    if isinstance(value, datetime):
        return (value.astimezone(UTC) if name in INSTANTS else value).isoformat()
    if dataclasses.is_dataclass(value):
        return [told(getattr(value, field.name), field.name) for field in dataclasses.fields(value)]
    if isinstance(value, tuple):
        return [told(part) for part in value]
    return None


def _with_kinds(request):
    items = tuple(
        dataclasses.replace(
            item,
            entities=tuple(dataclasses.replace(entity, kind=entity.kind or "concept") for entity in item.entities),
        )
        for item in request.items
    )
    return dataclasses.replace(request, items=items)


def test_an_unset_field_is_absent_and_not_a_zero():
    query = arm_codec.search_from_pb(arm_service_pb2.SearchRequest(bank_uid="b"))
    assert query == ArmQuery("b", "")
    request = recall_codec.recall_from_pb(recall_service_pb2.RecallRequest(bank_id="b", query="q"), TENANT)
    assert request == RecallRequest(BankRef("b"), "q")
    zero = recall_codec.recall_from_pb(recall_service_pb2.RecallRequest(bank_id="b", max_tokens=0), TENANT)
    assert zero.max_tokens == 0
    config = bank_codec.config_from_pb(bank_pb2.BankConfig(), door=True)
    assert config == BankConfig()


def test_the_askers_offset_from_utc_travels():
    asked = datetime(2026, 8, 19, 0, 30, tzinfo=timezone(timedelta(hours=10)))
    sent = recall_codec.recall_to_pb(RecallRequest(BankRef("b"), "yesterday", query_time=asked))
    got = recall_codec.recall_from_pb(sent, TENANT).query_time
    assert got == asked
    assert got.utcoffset() == timedelta(hours=10)


def test_a_window_across_a_change_of_the_clocks_keeps_both_offsets():
    summer, winter = timezone(timedelta(hours=2)), timezone(timedelta(hours=1))
    october = Window(datetime(2026, 10, 1, tzinfo=summer), datetime(2026, 10, 31, 23, 59, tzinfo=winter))
    to_utc = Window(datetime(2026, 10, 1, tzinfo=summer), datetime(2026, 10, 31, 23, 59, tzinfo=UTC))
    for window in (october, to_utc):
        assert told(time_codec.window_from_pb(time_codec.window_to_pb(window))) == told(window)
    same = time_codec.window_to_pb(Window(october.start, october.start))
    assert not same.HasField("end_utc_offset")


def test_a_first_moment_of_the_calendar_travels():
    east = timezone(timedelta(hours=1))
    first = Window(datetime(1, 1, 1, tzinfo=east), datetime(9999, 12, 31, 23, 59, tzinfo=timezone(-timedelta(hours=1))))
    assert told(time_codec.window_from_pb(time_codec.window_to_pb(first))) == told(first)


def test_a_naive_moment_is_utc():
    naive = datetime(2026, 8, 19, 10)  # noqa: DTZ001 - the point of the test
    assert time_codec.moment_from_pb(time_codec.moment_to_pb(naive), "t") == naive.replace(tzinfo=UTC)


def refused(read, message):
    with pytest.raises(InvalidArgument) as caught:
        read(message)
    return [violation.field for violation in caught.value.violations]


def test_an_unknown_enum_value_is_refused_at_the_door_by_field():
    search = arm_service_pb2.SearchRequest(bank_uid="b", fact_types=[1, 99])
    assert refused(arm_codec.search_from_pb, search) == ["fact_types"]
    leaf = tag_pb2.TagTest(all_of=tag_pb2.TagGroup(parts=[tag_pb2.TagTest(leaf=tag_pb2.TagLeaf(mode=77))]))
    assert refused(tag.tag_test_from_pb, leaf) == ["tags.all_of.parts[0].leaf.mode"]
    entry = arm_service_pb2.IndexEntry(memory_id="m")
    assert refused(lambda message: arm_codec.entry_from_pb(message, "entries[2]"), entry) == ["entries[2].fact_type"]


def test_an_unknown_enum_value_of_a_newer_server_is_read_as_something():
    sent = memory_pb2.Memory(id="m", fact_type=99, state=99)
    sent.create_time.seconds = 1
    assert memory_codec.memory_from_pb(sent).fact_type is FactType.WORLD
    response = recall_service_pb2.RecallResponse()
    response.arms.add(arm="fifth", state=1)
    response.arms.add(arm="graph", state=99)
    assert [report.arm for report in recall_codec.answer_from_pb(response).arms] == [ArmName.GRAPH]


def test_a_window_needs_both_ends_in_order():
    read = time_codec.window_from_pb
    assert refused(read, time_pb2.Window()) == ["window.start"]
    backwards = time_pb2.Window()
    backwards.start.seconds = 2
    backwards.end.seconds = 1
    assert refused(read, backwards) == ["window.start"]


def test_a_moment_outside_the_calendar_is_refused():
    window = time_pb2.Window()
    window.start.seconds = 1
    window.end.seconds = 2**60
    assert refused(time_codec.window_from_pb, window) == ["window.end"]
    item = retain_service_pb2.RetainItem()
    item.time.seconds = 1
    item.utc_offset.seconds = 90_000
    assert refused(lambda message: retain.item_from_pb(message, "items[0]"), item) == ["items[0].time"]


def test_a_tag_test_is_bounded_in_depth_and_number():
    deep = EVERYTHING
    for _ in range(tag.DEPTH):
        deep = TagNot(deep)
    with pytest.raises(InvalidArgument):
        tag.tag_test_to_pb(deep)
    message = tag_pb2.TagTest(leaf=tag_pb2.TagLeaf(tags=["a"]))
    for _ in range(tag.DEPTH):
        message = tag_pb2.TagTest(none_of=message)
    assert refused(tag.tag_test_from_pb, message) == ["tags"]
    wide = tag_pb2.TagTest(any_of=tag_pb2.TagGroup(parts=[tag_pb2.TagTest()] * tag.TESTS))
    assert refused(tag.tag_test_from_pb, wide) == ["tags"]


def test_a_vector_with_a_number_that_is_not_finite_is_refused():
    search = arm_service_pb2.SearchRequest(bank_uid="b", vector=[0.5, float("nan")])
    assert refused(arm_codec.search_from_pb, search) == ["vector"]


@pytest.mark.parametrize("limit", [-1, 2001])
def test_a_limit_outside_its_range_is_refused(limit):
    search = arm_service_pb2.SearchRequest(bank_uid="b", limit=limit)
    assert refused(arm_codec.search_from_pb, search) == ["limit"]


def test_what_is_not_offered_yet_is_refused_and_not_ignored():
    config = bank_pb2.BankConfig(consolidation=bank_pb2.ConsolidationTuning(enabled=True))
    bank_codec.refuse_unoffered(config, "config", "labels")
    with pytest.raises(Unimplemented, match=r"config\.consolidation"):
        bank_codec.refuse_unoffered(config, "config", "consolidation")


def test_what_a_bank_keeps_out_comes_back_and_what_is_half_said_is_refused():
    for action in (None, *DefenseAction):
        config = BankConfig(defense=DefenseTuning(secret=action, prompt_injection=DefenseAction.BLOCK))
        assert bank_codec.config_from_pb(bank_codec.config_to_pb(config), door=True) == config
    rule = {"detector": bank_pb2.DEFENSE_DETECTOR_SECRET, "action": bank_pb2.DEFENSE_ACTION_BLOCK}

    def read(*rules):
        message = bank_pb2.BankConfig(defense=bank_pb2.DefenseTuning(rules=rules))
        return refused(lambda given: bank_codec.config_from_pb(given, door=True), message)

    assert read({**rule, "detector": 0}) == ["config.defense.rules[0].detector"]
    assert read({**rule, "action": 9}) == ["config.defense.rules[0].action"]
    assert read(rule, rule) == ["config.defense.rules[1].detector"]


def test_a_fusion_or_a_stage_that_is_not_known_is_refused_or_provisional():
    assert refused(
        lambda message: recall_codec.recall_from_pb(message, TENANT),
        recall_service_pb2.RecallRequest(bank_id="b", query="q", fusion=9),
    ) == ["fusion"]
    newer = recall_service_pb2.RecallStreamResponse(stage=9)
    assert recall_codec.progress_from_pb(newer).stage is RecallStage.FUSED


@pytest.mark.parametrize(("seconds", "read"), [(2**63 - 1, timedelta.max), (-(2**63), timedelta.min)])
def test_a_duration_longer_than_any_of_ours_is_the_longest(seconds, read):
    assert time_codec.duration_from_pb(Duration(seconds=seconds)) == read
