"""Times in questions, over the whole mesh: what is read, what is not, and what comes of it (cases 1 to 13)."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
import pytest_asyncio
from deployment import NOW

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import ExtractionMode
from recallmesh.core.errors import InvalidArgument
from recallmesh.core.recall import PartState
from recallmesh.core.time import Precision, Window

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

AHEAD = timezone(timedelta(hours=10))
TICK = timedelta(microseconds=1)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def any_bank(mesh):
    """A bank with one fact, for what is asked about times alone."""
    diary = await mesh.diary()
    await diary.keep("The budget of the reading room was approved.")
    return diary


def states(answer):
    return {report.arm: report.state for report in answer.arms}


async def period(diary, query, now=NOW):
    """Return the period in force, as its two days; nothing when there is none, and then no arm was asked for it."""
    answer = await diary.ask(query, ArmName.KEYWORD, ArmName.TEMPORAL, query_time=now)
    assert states(answer)[ArmName.KEYWORD] is PartState.OK
    assert (states(answer)[ArmName.TEMPORAL] is PartState.SKIPPED) is (answer.window is None)
    if answer.window is None:
        return None
    assert answer.window.rule
    assert answer.window.phrase in query
    window = answer.window.window
    assert window.end + TICK == (window.end + TICK).replace(hour=0, minute=0, second=0, microsecond=0)
    return f"{window.start:%Y-%m-%d}", f"{window.end:%Y-%m-%d}"


@pytest.mark.parametrize(
    "query",
    [
        "what did we discuss about the budget",
        "does she do it on the way to us",
        "may Ida take the second train",
        "I march every day",
        "Will, Mark and April met",
        "which service listens on port 9077",
        "ticket 20391",
        "room 2041",
        "100000 years ago",
        "year 0000",
        "30 February 2026",
    ],
)
async def test_what_is_no_time_is_answered_without_a_period(any_bank, query):
    assert await period(any_bank, query) is None


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("what happened in May", "2026-05-01", "2026-05-31"),
        ("in 2024", "2024-01-01", "2024-12-31"),
        ("meeting on 13 July 2024", "2024-07-13", "2024-07-13"),
        ("in July 2024", "2024-07-01", "2024-07-31"),
        ("between March 3 and March 9", "2026-03-03", "2026-03-09"),
        ("the day before yesterday", "2026-08-17", "2026-08-17"),
        ("last week", "2026-08-10", "2026-08-16"),
        ("Q2 2025", "2025-04-01", "2025-06-30"),
        ("was geschah am letzten Freitag", "2026-08-14", "2026-08-14"),
        ("la semana pasada", "2026-08-10", "2026-08-16"),
        ("지난주", "2026-08-10", "2026-08-16"),
        ("去年", "2025-01-01", "2025-12-31"),
    ],
)
async def test_a_time_is_read_as_exactly_as_it_is_said(any_bank, query, first, last):
    assert await period(any_bank, query) == (first, last)


async def test_an_open_time_has_the_bound_that_was_said(any_bank):
    after = (await any_bank.ask("what changed after 2023")).window.window
    before = (await any_bank.ask("what changed before 2023")).window.window
    assert after.start == datetime(2024, 1, 1, tzinfo=UTC)
    assert after.end >= NOW
    assert before.end == datetime(2023, 1, 1, tzinfo=UTC) - TICK
    assert before.start.year <= 1900


async def test_yesterday_is_the_askers_whatever_the_servers_zone(any_bank):
    now = datetime(2026, 8, 19, 0, 30, tzinfo=AHEAD)
    answer = await any_bank.ask("yesterday", query_time=now)
    window = answer.window.window
    assert window == Window(datetime(2026, 8, 18, tzinfo=AHEAD), datetime(2026, 8, 19, tzinfo=AHEAD) - TICK)
    assert {window.start.utcoffset(), window.end.utcoffset()} == {timedelta(hours=10)}
    assert await period(any_bank, "yesterday", now.astimezone(UTC)) == ("2026-08-17", "2026-08-17")
    assert await period(any_bank, "yesterday", datetime(2026, 8, 19, 0, 30)) == ("2026-08-18",) * 2  # noqa: DTZ001


EDGES = {
    "Note one of the harbour log.": datetime(2026, 8, 17, 23, 59, 59, 999_000, tzinfo=UTC),
    "Note two of the harbour log.": datetime(2026, 8, 18, tzinfo=UTC),
    "Note three of the harbour log.": datetime(2026, 8, 18, 23, 59, 59, 999_000, tzinfo=UTC),
    "Note four of the harbour log.": datetime(2026, 8, 19, tzinfo=UTC),
}


async def test_yesterday_holds_both_its_ends_and_nothing_beyond(diary):
    for text, moment in EDGES.items():
        await diary.keep(text, time=moment)
    answer = await diary.ask("harbour log yesterday", ArmName.TEMPORAL, reranking=False, trace=True)
    inside = [one for one in answer.memories if one.memory.time.overlaps(answer.window.window)]
    assert sorted(one.memory.text for one in inside) == sorted(list(EDGES)[1:3])
    # The other two are the neighbours of what lies inside: they come after it.
    assert [one.memory.text in list(EDGES)[1:3] for one in answer.memories] == [True, True, False, False]
    own = await diary.texts("harbour log", ArmName.TEMPORAL, window=Window(EDGES["Note four of the harbour log."], NOW))
    assert own[0] == "Note four of the harbour log."


async def test_a_period_of_the_caller_is_taken_as_it_is(diary):
    moment = EDGES["Note two of the harbour log."]
    for text, when in EDGES.items():
        await diary.keep(text, time=when)
    answer = await diary.ask("last week", window=Window(moment, moment))
    assert (answer.window.window, answer.window.rule, answer.window.phrase) == (Window(moment, moment), "caller", "")
    found = await diary.texts("harbour log", ArmName.TEMPORAL, window=Window(moment, moment))
    assert found[0] == "Note two of the harbour log."
    with pytest.raises(InvalidArgument, match=r"window\.start"):
        await diary.ask("harbour log", window=Window(NOW, NOW - TICK))


async def test_a_fact_of_a_year_is_that_year_and_not_outranked_for_its_own_question(diary):
    said = datetime(2026, 2, 3, 9, tzinfo=UTC)
    await diary.keep("Noor: I gave a talk about sluices in 2025.", mode=ExtractionMode.CONCISE, time=said)
    await diary.keep(*(f"Noor: I cleaned window {number} of the office." for number in range(8)), time=NOW)
    memories = await diary.memories()
    (talk,) = [memory for memory in memories if "sluices" in memory.text]
    assert talk.occurred.precision is Precision.YEAR
    assert (talk.occurred.window.start.year, talk.occurred.window.end.month) == (2025, 12)
    for query in ("What did Noor give a talk about in 2025?", "Which talk did Noor give?"):
        assert (await diary.texts(query, reranking=None))[0] == talk.text
    answer = await diary.ask("What did Noor do in October 2025?", ArmName.TEMPORAL)
    assert answer.memories[0].memory.id == talk.id


async def test_the_same_query_time_minutes_apart_gives_the_same_answer(diary):
    await diary.keep(*EDGES, time=NOW - timedelta(days=40))
    await diary.keep("The harbour was dredged.", time=NOW - timedelta(days=300))
    asked = {"query_time": NOW - timedelta(days=3), "reranking": None}
    first, again = [await diary.ask("harbour log last month", **asked) for _ in range(2)]
    assert first.window == again.window
    assert [(one.memory.id, one.scores) for one in first.memories] == [
        (one.memory.id, one.scores) for one in again.memories
    ]
    # It is that moment which counts, not the clock: from there the same memories are nearer.
    later = await diary.ask("harbour log last month", query_time=NOW + timedelta(days=30), reranking=None)
    recency = {one.memory.id: one.scores.recency_boost for one in first.memories}
    assert all(one.scores.recency_boost < recency[one.memory.id] for one in later.memories)


MOMENTS = {
    "naive": datetime(2026, 8, 18, 4, 30),  # noqa: DTZ001 - what a naive time means is the question
    "in UTC": datetime(2026, 8, 18, 4, 30, tzinfo=UTC),
    "ahead": datetime(2026, 8, 18, 10, 0, tzinfo=timezone(timedelta(hours=5, minutes=30))),
}


async def test_times_of_every_kind_are_kept_and_found_and_naive_means_utc(diary):
    for name, moment in MOMENTS.items():
        await diary.keep(f"The tide gauge was read by clock {name}.", time=moment)
    memories = await diary.memories()
    assert {memory.mentioned for memory in memories} == {MOMENTS["in UTC"]}
    assert sorted(memory.mentioned.utcoffset() for memory in memories) == [timedelta(0)] * 2 + [timedelta(hours=5.5)]
    instant = Window(MOMENTS["in UTC"], MOMENTS["in UTC"])
    assert len(await diary.texts("tide gauge", ArmName.TEMPORAL, window=instant)) == len(MOMENTS)
    assert len(await diary.texts("tide gauge yesterday", ArmName.TEMPORAL)) == len(MOMENTS)
