"""A server that has its hands full answers whoever asks after its health, and keeps nothing of a call (case 48)."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import grpc.aio
import pytest
from deployment import NOW, SERVING, open_served
from grpc_health.v1 import health_pb2, health_pb2_grpc

from recallmesh.core.recall import PartState
from recallmesh.core.retain import RetainItem
from recallmesh.core.tuning import Budget, RecallTuning
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.recaller import RemoteRecaller

pytestmark = pytest.mark.timeout(600)

RECALLS, CANDIDATES = 32, 300
CHECKS = 300
"""So many are answered in turn before a half of the recalls is: on any machine, since both slow down alike.

A loop that computed would answer one between two pieces of work, and a recall has two: 64 in all.
"""
LONG_S = 240.0
PATIENT = {
    "RECALLMESH_RERANKER__QUEUE": str(RECALLS * CANDIDATES),
    "RECALLMESH_RERANKER__TIMEOUT_S": str(LONG_S),
    "RECALLMESH_RECALL__TIMEOUT_S": str(LONG_S),
}
"""With the usual ones a busy machine would refuse some of the recalls as more than it can read in time."""
WARMING, CALLS = 150, 450
LEAK = 24 * 1024
"""Bytes a call may leave, on average: less than an answer has, more than what an allocator has not given back yet."""
PLACES = ("yard", "barn", "mill", "chapel", "vicarage", "cellar", "attic", "stable", "orchard", "quay")


def texts() -> list[str]:
    return [f"Lantern number {number} hangs in the {PLACES[number % 10]}." for number in range(CANDIDATES + 20)]


async def keep_lanterns(mesh):
    diary = await mesh.diary()
    await diary.retain(*(RetainItem((text,), time=NOW) for text in texts()))
    return diary


async def test_health_is_answered_while_thirty_two_recalls_rerank_three_hundred_each(tmp_path):
    async with open_served(tmp_path, PATIENT) as mesh, open_channel(mesh.processes["all"].address) as door:
        diary = await keep_lanterns(mesh)
        diary = replace(diary, faces=replace(mesh.faces, recaller=RemoteRecaller(door, timeout_s=LONG_S)))
        tuning = RecallTuning(rerank_limit=CANDIDATES)
        asked = {"tuning": tuning, "budget": Budget.HIGH, "reranking": True}
        recalls = [
            asyncio.create_task(diary.ask(f"Which lantern hangs in the {PLACES[number % 10]}?", **asked))
            for number in range(RECALLS)
        ]
        address = mesh.processes["all"].address
        async with grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            for _ in range(CHECKS):
                answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=10)
                assert answer.status == SERVING
        in_hand = [recall for recall in recalls if not recall.done()]
        for answer in [recall.result() for recall in recalls if recall.done()]:
            assert [report.state for report in answer.models] == [PartState.OK, PartState.OK]
        assert len(in_hand) > RECALLS // 2
        for recall in in_hand:
            recall.cancel()
        await asyncio.gather(*in_hand, return_exceptions=True)


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def own_memory(pid: int) -> int:
    """Return the bytes of memory that are the process's own: not pages of files, which the kernel lends it."""
    (kib,) = re.findall(r"^RssAnon:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text("ascii"), re.MULTILINE)
    return int(kib) * 1024


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc to look at")
async def test_hundreds_of_recalls_leave_no_memory_and_no_file_open(tmp_path):
    async with open_served(tmp_path) as mesh:
        diary = await keep_lanterns(mesh)
        pid = mesh.processes["all"].running.pid

        async def ask(number: int):
            # No two alike, so that what is kept for equal queries is renewed as in use.
            return await diary.texts(f"Which lantern of {number} hangs in the {PLACES[number % 10]}?")

        for number in range(WARMING):
            assert await ask(number)
        files, memory = descriptors(pid), own_memory(pid)
        for number in range(CALLS):
            assert await ask(WARMING + number)
        assert descriptors(pid) <= files
        assert own_memory(pid) - memory < CALLS * LEAK
