# ruff: noqa: ASYNC110 - what is waited for is in another process
"""A process that leaves loses no call, and one that is killed loses nothing that was answered."""

import asyncio
import signal

import pytest
from deployment import (
    COMMAND,
    NOW,
    Process,
    clean_environment,
    free_ports,
    health,
    open_in_process,
    open_processes,
    open_served,
    until,
)

from recallmesh.client import open_client
from recallmesh.core.arm import ArmName
from recallmesh.core.recall import RecallRequest
from recallmesh.core.time import Window
from recallmesh.core.tuning import RecallTuning
from recallmesh.mesh import Part
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.recaller import RemoteRecaller

pytestmark = pytest.mark.timeout(600)

TEXTS = ["The vault of Saint Olaf holds a chalice.", "The chalice was given by Duke Halvard."]


async def answers_of(diary):
    """Return what each arm alone finds."""
    return {
        arm: await diary.texts(
            "chalice of Saint Olaf", arm, window=Window(NOW, NOW) if arm is ArmName.TEMPORAL else None
        )
        for arm in ArmName
    }


async def test_what_was_kept_in_process_is_there_after_a_restart(tmp_path):
    async with open_in_process(tmp_path) as mesh:
        diary = await mesh.diary()
        await diary.keep(*TEXTS, tags=("vault",))
        before = await answers_of(diary)
        stats = await mesh.faces.admin.bank_stats(diary.ref)
        memories = await diary.memories()
    assert all(sorted(texts) == sorted(TEXTS) for texts in before.values())
    async with open_in_process(tmp_path) as mesh:
        again = type(diary)(mesh.faces, diary.ref)
        assert await answers_of(again) == before
        assert await mesh.faces.admin.bank_stats(diary.ref) == stats
        assert await again.memories() == memories


async def test_what_a_killed_server_had_answered_is_there_after_a_restart(tmp_path):
    async with open_served(tmp_path) as mesh:
        diary = await mesh.diary()
        await diary.keep(*TEXTS)
        before = await answers_of(diary)
        process = mesh.processes["all"]
        process.kill()
        process.log.unlink()
        process.start()
        await process.ready()
        async with open_client(process.address) as faces:
            assert await answers_of(type(diary)(faces, diary.ref)) == before
    assert all(sorted(texts) == sorted(TEXTS) for texts in before.values())


async def test_no_call_fails_while_one_of_two_recall_processes_leaves(tmp_path):
    async with open_served(tmp_path) as mesh:
        diary = await mesh.diary()
        await diary.keep(*TEXTS)
        whole = mesh.processes["all"]
        elsewhere = {f"RECALLMESH_{part.upper()}__ADDRESS": whole.address for part in Part}
        second = Process(("recall",), whole.data, tmp_path / "recall.log", elsewhere)
        async with open_processes({"recall": second}):
            counts, errors = await _ask_while_it_leaves(diary, whole, second)
        assert errors == []
        assert min(counts) > 5


async def _ask_while_it_leaves(diary, first, second):
    counts, errors, stop = [0] * 4, [], asyncio.Event()
    request = RecallRequest(diary.ref, "chalice", tuning=RecallTuning(reranking=False))
    async with open_channel(f"ipv4:{first.address},{second.address}") as channel:
        recaller = RemoteRecaller(channel)

        async def ask(worker):
            while not stop.is_set():
                answer = await recaller.recall(request)
                if len(answer.memories) != len(TEXTS):
                    errors.append(answer)
                counts[worker] += 1

        asking = [asyncio.create_task(ask(worker)) for worker in range(len(counts))]
        await until(lambda: _all_asked(counts, 5))
        second.signal(signal.SIGTERM)
        assert await second.left() == 0
        before = min(counts)
        await until(lambda: _all_asked(counts, before + 3))
        stop.set()
        errors += [error for error in await asyncio.gather(*asking, return_exceptions=True) if error is not None]
    return counts, errors


async def _all_asked(counts, times):
    return min(counts) > times


async def test_a_process_that_waits_for_another_stops_when_it_is_told(tmp_path):
    (nowhere,) = free_ports(1)
    waiting = Process(
        ("graph",),
        tmp_path / "data",
        tmp_path / "graph.log",
        {
            "RECALLMESH_EMBEDDER__ADDRESS": f"127.0.0.1:{nowhere}",
            "RECALLMESH_SEMANTIC__ADDRESS": f"127.0.0.1:{nowhere}",
        },
    )
    waiting.start()
    try:
        async with asyncio.timeout(60):
            while f"the embedder at 127.0.0.1:{nowhere} does not answer" not in waiting.told():
                await asyncio.sleep(0.1)
        waiting.signal(signal.SIGTERM)
        assert await waiting.left() == 0
    finally:
        waiting.kill()
    assert "Traceback" not in waiting.told()


async def test_a_second_process_on_the_same_address_says_so(tmp_path):
    async with open_processes({"bank": (bank := Process(("bank",), tmp_path / "a", tmp_path / "a.log"))}):
        other = Process(("bank",), tmp_path / "b", tmp_path / "b.log", port=int(bank.address.rpartition(":")[2]))
        other.start()
        try:
            assert await other.left() == 2
        finally:
            other.kill()
        assert "cannot be listened on: another process listens there" in other.told()
        assert "Traceback" not in other.told()
        assert await health(bank.address) == 1


async def test_the_command_line_does_not_wait_for_an_embedder_that_is_away(tmp_path):
    (nowhere,) = free_ports(1)
    environment = clean_environment({"RECALLMESH_EMBEDDER__ADDRESS": f"127.0.0.1:{nowhere}"})
    running = await asyncio.create_subprocess_exec(
        COMMAND,
        *("recall", "anything", "--bank", "b", "--data", tmp_path / "data"),
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        printed, told = await running.communicate()
    assert running.returncode != 0
    assert printed == b""
    assert f"the embedder at 127.0.0.1:{nowhere} does not answer" in told.decode()
    assert "start it: recallmesh serve embedder" in told.decode()
    assert "Traceback" not in told.decode()
