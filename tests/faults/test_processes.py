# ruff: noqa: ASYNC110 - what is waited for is in another process
"""Processes of a mesh of nine die, hang and leave, and what was said to them is neither lost nor doubled."""

import asyncio
import signal
from uuid import uuid4

import pytest
import pytest_asyncio
from deployment import NOW, open_nine, until

from recallmesh.core.arm import ArmName
from recallmesh.core.deadline import within
from recallmesh.core.errors import MeshError, RecallUnavailable, StoreUnavailable
from recallmesh.core.recall import PartState
from recallmesh.core.retain import DeliveryState, RetainItem
from recallmesh.core.time import Window

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

AWAY = {PartState.UNAVAILABLE, PartState.TIMED_OUT}
DELIVERED_S = 90.0
"""The most that the outbox may take after a restart: its pauses double, and a restarted process loads its parts."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def nine(tmp_path_factory):
    async with open_nine(tmp_path_factory.mktemp("nine")) as mesh:
        yield mesh


@pytest_asyncio.fixture(loop_scope="session")
async def whole(nine):
    """The mesh, mended after the test, and whole again in the eyes of its callers."""
    yield nine
    for process in nine.processes.values():
        if process.running.poll() is None:
            process.signal(signal.SIGCONT)
        else:
            process.start()
    await asyncio.gather(*(process.ready() for process in nine.processes.values()))
    diary = await nine.diary()
    await diary.keep("The bell of Roskilde is called Krog.")

    async def mended():  # who was away is ready before everybody has a way to it again
        answer = await diary.ask("Which bell does Roskilde have?", window=Window(NOW, NOW))
        return bool(answer.memories) and answer.memories[0].ranks.keys() == set(ArmName)

    await until(mended, DELIVERED_S)


async def again(mesh, *names):
    for name in names:
        mesh.processes[name].start()
    await asyncio.gather(*(mesh.processes[name].ready() for name in names))


def states(answer):
    return {report.arm: report.state for report in answer.arms} | {one.part: one.state for one in answer.models}


async def delivered(mesh, diary):
    async def nothing_pending():
        return (await mesh.faces.admin.bank_stats(diary.ref)).pending == 0

    await until(nothing_pending, DELIVERED_S)
    await diary.served_by_all()


async def test_without_the_keyword_process_recall_answers_and_retain_delivers_later(whole):
    diary = await whole.diary()
    before, after = "The ferry Bastø carries salt.", "The ferry Horten carries quinoa."
    await diary.keep(before)
    whole.processes["keyword"].kill()
    answer = await diary.ask("What does the ferry carry?")
    assert states(answer)[ArmName.KEYWORD] in AWAY
    assert [one.memory.text for one in answer.memories] == [before]
    assert next(report.detail for report in answer.arms if report.arm is ArmName.KEYWORD)
    kept = await diary.retain(RetainItem((after,), time=NOW))
    deliveries = {one.arm: one for one in kept.deliveries}
    assert deliveries[ArmName.KEYWORD].state is DeliveryState.PENDING
    assert deliveries[ArmName.KEYWORD].detail
    assert {one.state for arm, one in deliveries.items() if arm is not ArmName.KEYWORD} == {DeliveryState.STORED}
    assert (await whole.faces.admin.bank_stats(diary.ref)).pending == 1
    assert after in await diary.texts("quinoa")
    await again(whole, "keyword")
    await delivered(whole, diary)
    assert await diary.words("quinoa") == [after]
    assert sorted(await diary.words("ferry carries")) == sorted([before, after])


@pytest.mark.parametrize(
    ("gone", "silent"),
    [
        ("graph", {ArmName.GRAPH}),
        ("temporal", {ArmName.TEMPORAL}),
        # The vectors that the temporal arm reads are with the semantic one; the graph has its names.
        ("semantic", {ArmName.SEMANTIC, ArmName.TEMPORAL}),
    ],
)
async def test_each_arm_that_is_gone_is_named_and_the_others_answer(whole, gone, silent):
    diary = await whole.diary()
    text = "Signe Holt restored the altarpiece of Valleby."
    await diary.keep(text, mode=None)
    whole.processes[gone].kill()
    answer = await diary.ask("What did Signe Holt restore?", window=Window(NOW, NOW))
    found = states(answer)
    assert {arm for arm in ArmName if found[arm] in AWAY} == silent
    assert {found[arm] for arm in set(ArmName) - silent} == {PartState.OK}
    assert all(report.detail for report in answer.arms if report.arm in silent)
    assert [one.memory.text for one in answer.memories] == [text]
    assert answer.memories[0].ranks.keys() == set(ArmName) - silent


async def test_a_process_that_hangs_costs_its_own_arm_alone(whole):
    diary = await whole.diary()
    await diary.keep("The organ of Roskilde has a stop called Trommet.")
    whole.processes["graph"].signal(signal.SIGSTOP)
    with within(12.0):
        answer = await diary.ask("Which stop does the organ of Roskilde have?")
    found = states(answer)
    assert found.pop(ArmName.GRAPH) in AWAY
    assert found.pop(ArmName.TEMPORAL) is PartState.SKIPPED
    assert set(found.values()) == {PartState.OK}
    assert len(answer.memories) == 1
    whole.processes["graph"].signal(signal.SIGCONT)

    async def back():
        return states(await diary.ask("organ of Roskilde"))[ArmName.GRAPH] is PartState.OK

    await until(back)


async def test_without_the_models_recall_still_answers_and_retain_keeps_nothing(whole):
    diary = await whole.diary()
    text = "Solveig Moe repaired the sluice of Haldwick."
    await diary.keep(text, mode=None)
    for name in ("embedder", "reranker"):
        whole.processes[name].kill()
    answer = await diary.ask("Who repaired the sluice of Haldwick?")
    found = states(answer)
    assert found["embedder"] in AWAY
    assert found["reranker"] in AWAY
    assert found[ArmName.SEMANTIC] in AWAY
    assert (found[ArmName.KEYWORD], found[ArmName.GRAPH]) == (PartState.OK, PartState.OK)
    assert [one.memory.text for one in answer.memories] == [text]
    assert answer.memories[0].scores.reranker_raw is None
    with pytest.raises(StoreUnavailable):
        await diary.keep("What cannot be embedded is not kept.")
    assert [memory.text for memory in await diary.memories()] == [text]
    await again(whole, "embedder", "reranker")

    async def back():
        found = states(await diary.ask("Who repaired the sluice?"))
        return {found["embedder"], found["reranker"], found[ArmName.SEMANTIC]} == {PartState.OK}

    await until(back)


async def test_when_every_arm_is_gone_recall_says_so_and_what_is_retained_comes_later(whole):
    diary = await whole.diary()
    whole_arms = ("semantic", "keyword", "graph", "temporal")
    for name in whole_arms:
        whole.processes[name].kill()
    with pytest.raises(RecallUnavailable):
        await diary.ask("anything")
    texts = [f"Barrel {number} holds {what}." for number, what in enumerate(("herring", "tar", "ale"))]
    answer = await diary.retain(*(RetainItem((text,), time=NOW) for text in texts))
    assert {one.state for one in answer.deliveries} == {DeliveryState.PENDING}
    await again(whole, *whole_arms)
    await delivered(whole, diary)
    for arm in (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH):
        assert sorted(await diary.texts("barrel holds herring tar ale", arm)) == sorted(texts)


async def test_a_retain_process_killed_at_work_keeps_each_request_once(whole):
    diary = await whole.diary()
    items = {uuid4().hex: f"Casket {number} bears the mark ZQ-{7000 + number}." for number in range(50)}
    done = []

    async def keep(request_id):
        await diary.retain(RetainItem((items[request_id],), time=NOW), request_id=request_id)
        done.append(request_id)

    keeping = [asyncio.create_task(keep(request_id)) for request_id in items]
    async with asyncio.timeout(60):
        while len(done) < 5:
            await asyncio.sleep(0.01)
    whole.processes["retain"].kill()
    ended = await asyncio.gather(*keeping, return_exceptions=True)
    failed = [error for error in ended if error is not None]
    assert failed
    assert all(isinstance(error, MeshError) for error in failed)
    await again(whole, "retain")
    for request_id, text in items.items():
        await diary.retain(RetainItem((text,), time=NOW), request_id=request_id)
    assert sorted(memory.text for memory in await diary.memories()) == sorted(items.values())
    await delivered(whole, diary)
    marks = [f"ZQ-{7000 + number}" for number in range(50)]
    found = {mark: (await diary.words(mark))[0] for mark in marks}
    assert all(mark in text for mark, text in found.items())
    for arm in (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.GRAPH):
        assert sorted(await diary.texts("casket bears the mark", arm)) == sorted(items.values()), arm


async def test_everything_killed_at_once_is_all_there_again(whole):
    diary = await whole.diary()
    text = "The bell Gloriosa was cast in Erfurt."
    await diary.keep(text)
    for process in whole.processes.values():
        process.kill()
    await again(whole, *whole.processes)

    async def answered():
        try:
            return {await diary.texts("Gloriosa", arm) == [text] for arm in ArmName if arm is not ArmName.TEMPORAL}
        except MeshError:
            return None

    assert await until(answered) == {True}


async def test_every_process_that_is_told_to_stop_leaves_with_zero(nine):
    for process in nine.processes.values():
        process.signal(signal.SIGTERM)
    codes = await asyncio.gather(*(process.left() for process in nine.processes.values()))
    assert dict(zip(nine.processes, codes, strict=True)) == dict.fromkeys(nine.processes, 0)
    traces = {name for name, told in nine.logs() if "Traceback" in told}
    assert traces == set()
