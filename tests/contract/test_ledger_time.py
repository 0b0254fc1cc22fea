"""The ledger's contract: a time is read back as it was told, in its UTC offset, and is ordered by its instant."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from contract.ledger_bed import NOW, Bed, backend, bed, chunk, entity, fact, uid
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recallmesh.core.memory import CausalLink, FactType, Memory, MemoryState
from recallmesh.core.page import PageRequest
from recallmesh.core.time import Occurrence, Precision, Window
from recallmesh.ledger.moment import from_us, offset_of, to_us

__all__ = ["backend", "bed"]

DAY_S = 24 * 60 * 60
OFFSETS = st.integers(1 - DAY_S, DAY_S - 1).map(lambda seconds: timezone(timedelta(seconds=seconds)))
MOMENTS = st.datetimes(timezones=st.just(UTC) | OFFSETS)
WINDOWS = st.tuples(MOMENTS, MOMENTS).map(lambda ends: Window(min(ends), max(ends)))
OCCURRENCES = st.builds(Occurrence, WINDOWS, st.sampled_from(Precision))


def told(memory: Memory) -> tuple[str | None, ...]:
    """A memory's times as they were told: datetimes of one instant are equal whatever their offset."""
    window = memory.occurred.window if memory.occurred else None
    moments = (window.start, window.end, memory.mentioned) if window else (memory.mentioned,)
    return tuple(moment.isoformat() if moment else None for moment in moments)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(occurred=st.none() | OCCURRENCES, mentioned=st.none() | MOMENTS, said=st.none() | MOMENTS)
async def test_times_are_read_back_as_they_were_told(bed: Bed, occurred, mentioned, said):
    one = chunk(uid(), fact("a", occurred=occurred, mentioned=mentioned))
    one = replace(one, chunk=replace(one.chunk, time=said))
    name = uid()
    [written] = (await bed.write(name, one)).added
    read = await bed.memory(written.id)
    assert read == written
    assert told(read) == told(written)
    [again] = (await bed.ledger.list_chunks(bed.uid, name, PageRequest())).rows
    assert again.time == said
    assert said is None or again.time.isoformat() == said.isoformat()


@given(MOMENTS, MOMENTS)
def test_moments_are_ordered_by_their_instant(one, other):
    assert (to_us(one) < to_us(other)) == (one < other)
    assert from_us(to_us(one), offset_of(one)).isoformat() == one.isoformat()


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (datetime(1, 1, 1, 8, tzinfo=timezone(timedelta(hours=14))), datetime.min.replace(tzinfo=UTC)),
        (datetime(9999, 12, 31, 20, tzinfo=timezone(timedelta(hours=-10))), datetime.max.replace(tzinfo=UTC)),
    ],
)
async def test_who_is_mentioned_where_utc_has_no_year_is_mentioned_at_its_edge(bed: Bed, told, shown):
    named = entity("Ida")
    await bed.write("d", chunk("c", fact("Ida keeps bees.", named, mentioned=told)), entities=(named,))
    [ida] = (await bed.ledger.list_entities(bed.uid, PageRequest())).rows
    assert ida.last_mentioned == shown
    assert await bed.ledger.get_entity(bed.uid, ida.id) == ida


def test_a_naive_moment_is_utc():
    naive = datetime(2026, 8, 19, 10)  # noqa: DTZ001 - the point of the test
    assert (to_us(naive), offset_of(naive)) == (to_us(naive.replace(tzinfo=UTC)), 0)


@pytest.mark.parametrize("precision", Precision)
async def test_every_field_of_a_memory_is_set_and_what_is_read_is_frozen(bed: Bed, precision):
    cause = fact("It rained")
    occurred = Occurrence(Window(NOW, NOW), precision)
    written = Memory(
        uid(), "b", FactType.OBSERVATION, NOW, occurred, NOW, "c", ("t",), {"k": "v"},
        causes=(CausalLink(cause.id, 0.5),), sources=("s",), attachments=("x",), proof_count=2, tokens=3,
        state=MemoryState.INVALIDATED, version=4,
    )  # fmt: skip
    commit = await bed.write("doc", chunk("a", cause, written))
    read = await bed.memory(written.id)
    assert read == commit.added[1]
    assert type(read) is Memory
    assert hash(replace(read, metadata=())) == hash(replace(commit.added[1], metadata=()))
    assert repr(read).count("=") >= len(fields(Memory))
    with pytest.raises(AttributeError):
        read.text = "other"
