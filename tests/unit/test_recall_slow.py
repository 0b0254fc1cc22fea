"""A slow recall tells what it was about in numbers and ids, once, and not again and again."""

import json

import pytest
import structlog
from unit.recall_fakes import LAST_WEEK, REF, FakeArm, FakeReranker, FakeTimes, K, memory, mesh, name, reading

from recallmesh.core.errors import BankNotFound
from recallmesh.core.recall import RecallRequest, RecallStage
from recallmesh.core.tuning import RecallTuning
from recallmesh.recall.slow import CANDIDATES, PAUSE_S, SlowLog


class Clock:
    """Goes on by a second with every look."""

    def __init__(self, step=1.0):
        self.now, self.step = 100.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def slow(over_s=0.5, **more):
    return SlowLog(over_s, clock=Clock(), **more)


async def lines(here, *questions, **fields):
    with structlog.testing.capture_logs() as logs:
        for question in questions:
            await here.recall(question, **fields)
    return [line for line in logs if line["event"] == "slow recall"]


async def test_a_slow_recall_is_logged_with_its_trace_and_without_a_word_of_anybodys():
    here = mesh(reranker=FakeReranker(), times=FakeTimes(reading()), slow=slow())
    [line] = await lines(here, "what did Mira say last week")
    assert line["log_level"] == "warning"
    assert (line["over_s"], line["budget"], line["hits"]) == (0.5, "mid", 300)
    assert line["arms"]["keyword"]["state"] == "ok"
    assert {phase["name"] for phase in line["phases"]} >= {"bank", "arms", "fusion", "read", "rerank", "pack"}
    first = line["trace"]["candidates"][0]
    assert (first["fused_rank"], first["outcome"]) == (1, "packed")
    assert "rrf" in first["scores"]
    assert line["trace"]["window"]["rule"]
    written = json.dumps(line)
    assert "Mira" not in written
    assert "because" not in written
    assert all(one.text not in written for one in here.ledger.memories.values())


async def test_the_answer_of_a_slow_recall_has_no_trace_that_was_not_asked_for():
    here = mesh(reranker=FakeReranker(), slow=slow())
    assert (await here.recall()).trace is None
    assert (await here.recall(trace=True)).trace is not None


async def test_texts_are_logged_where_the_operator_says_so():
    here = mesh(reranker=FakeReranker(), slow=slow(texts=True))
    [line] = await lines(here, "what did Mira say")
    assert line["query"] == "what did Mira say"
    assert line["trace"]["candidates"][0]["text"]
    assert any(row["because"] for row in line["trace"]["candidates"])


async def test_a_recall_in_time_is_not_logged_and_not_counted():
    counted, phases = [], []
    here = mesh(
        reranker=FakeReranker(),
        slow=slow(1000.0, on_slow=lambda: counted.append(1), on_phases=phases.append),
    )
    assert await lines(here, "a", "b") == []
    assert counted == []
    assert len(phases) == 2


async def test_without_a_threshold_nothing_is_slow():
    assert await lines(mesh(slow=SlowLog(clock=Clock(1e6))), "a") == []


async def test_slow_recalls_one_after_another_are_counted_all_and_told_one_in_five_seconds():
    counted = []
    here = mesh(slow=slow(on_slow=lambda: counted.append(1)))
    clock = here.slow.clock
    told = await lines(here, "a")
    clock.step = 0.6
    told += await lines(here, "b", "c")
    clock.now += PAUSE_S
    told += await lines(here, "d")
    assert [line["more_since"] for line in told] == [0, 2]
    assert len(counted) == 4


async def test_a_recall_in_brief_is_logged_without_a_trace_that_it_never_had():
    here = mesh(slow=slow())
    [line] = await lines(here, "a", tuning=RecallTuning(reranking=False))
    assert "trace" not in line
    assert line["phases"]


async def test_a_slow_recall_that_fails_says_why():
    here = mesh(slow=slow())

    async def gone(_ref):
        raise BankNotFound("b1")

    here.ledger.get_bank = gone
    with structlog.testing.capture_logs() as logs, pytest.raises(BankNotFound):
        await here.recall("a")
    assert [line["reason"] for line in logs if line["event"] == "slow recall"] == ["BANK_NOT_FOUND"]


async def test_the_listener_of_a_stream_takes_no_time_of_the_recalls():
    here = mesh(reranker=FakeReranker(), slow=slow(50.0))
    clock = here.slow.clock
    with structlog.testing.capture_logs() as logs:
        async for progress in here.recaller().stream(RecallRequest(REF, "a", window=LAST_WEEK)):
            clock.now += 1000 if progress.stage is RecallStage.FINAL else 0
        assert not [line for line in logs if line["event"] == "slow recall"]
        clock.step = 60
        told = [progress async for progress in here.recaller().stream(RecallRequest(REF, "a"))]
    assert len(told) == 2
    assert len([line for line in logs if line["event"] == "slow recall"]) == 1


async def test_a_line_holds_so_many_candidates_and_says_how_many_more_there_were():
    numbers = range(1, CANDIDATES + 21)
    here = mesh(arms={K: FakeArm(*numbers)}, reranker=FakeReranker(), slow=slow())
    here.ledger.memories.update({name(number): memory(number) for number in numbers})
    [line] = await lines(here, "a")
    assert len(line["trace"]["candidates"]) == CANDIDATES
    assert line["trace"]["candidates_left_out"] == 20
