"""Two retain processes, each with a folder of its own, on one PostgreSQL ledger: they share the work, and its loss."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio
from databases import database
from deployment import NOW, Diary, Mesh, Process, free_ports, open_processes, until

from recallmesh.client import Client
from recallmesh.core.bank import ExtractionMode
from recallmesh.core.errors import MeshError
from recallmesh.core.operation import OperationState
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.mesh import Part
from recallmesh.rpc.admin import RemoteAdmin
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.recaller import RemoteRecaller
from recallmesh.rpc.retainer import RemoteRetainer

pytestmark = [pytest.mark.stores, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

RETAINERS = ("retain-1", "retain-2")
REST = tuple(part for part in Part if part is not Part.RETAIN)
LEASE_S = "3"
SETTLED_S = 120.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mesh(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    ports = free_ports(3)
    with database() as url:
        common = {
            "RECALLMESH_LEDGER__URL": url,
            "RECALLMESH_RERANKER__BACKEND": "none",
            "RECALLMESH_RETAIN__OUTBOX_LEASE_S": LEASE_S,
            "RECALLMESH_RETAIN__JOB_LEASE_S": LEASE_S,
            "RECALLMESH_RETAIN__OUTBOX_POLL_S": "0.2",
        }
        there = {f"RECALLMESH_{part.upper()}__ADDRESS": f"127.0.0.1:{ports[0]}" for part in REST}
        rest = tuple(part.value for part in REST)
        processes = {"rest": Process(rest, folder / "rest", folder / "rest.log", common, ports[0])}
        for name, port in zip(RETAINERS, ports[1:], strict=True):
            processes[name] = Process(("retain",), folder / name, folder / f"{name}.log", common | there, port)
        async with open_processes(processes), AsyncExitStack() as stack:
            channels = {
                name: await stack.enter_async_context(open_channel(one.address)) for name, one in processes.items()
            }
            admin, recaller = RemoteAdmin(channels["rest"]), RemoteRecaller(channels["rest"])
            faces = [Client(recaller, RemoteRetainer(channels[name]), admin) for name in RETAINERS]
            yield Mesh("two_retainers", faces[0], folder, processes), faces


async def diaries(mesh) -> list[Diary]:
    """One bank, by way of each of the two."""
    first = await mesh[0].diary()
    return [Diary(faces, first.ref) for faces in mesh[1]]


async def settled(diary: Diary) -> None:
    async def nothing_is_left() -> bool:
        states = (OperationState.PENDING, OperationState.RUNNING)
        left = (await diary.faces.admin.list_operations(diary.ref, PageRequest(), states)).rows
        return not left and (await diary.faces.admin.bank_stats(diary.ref)).pending == 0

    await until(nothing_is_left, SETTLED_S)


async def test_a_request_id_at_both_doors_at_once_is_one_memory(mesh):
    both = await diaries(mesh)
    item = RetainItem(("The mill of Vinje grinds barley.",), time=NOW)
    answers = await asyncio.gather(*(both[n % 2].retain(item, request_id="once") for n in range(8)))
    assert Counter(one.replayed for one in answers) == {False: 1, True: 7}
    assert len({one.items[0].memory_ids for one in answers}) == 1
    assert len(await both[0].memories()) == 1


async def test_what_is_told_to_both_of_the_same_people_makes_each_of_them_once(mesh):
    both = await diaries(mesh)
    told = [f"Signe Holt met Anders Moe at the harbour on day {n}." for n in range(8)]
    await asyncio.gather(*(both[n % 2].keep(text, mode=None) for n, text in enumerate(told)))
    found = (await both[0].faces.admin.list_entities(both[0].ref, PageRequest())).rows
    people = Counter(one.name for one in found if one.name in {"Signe Holt", "Anders Moe"})
    assert people == {"Signe Holt": 1, "Anders Moe": 1}
    assert {one.memory_count for one in found if one.name in people} == {8}


async def test_what_one_had_taken_on_when_it_died_the_other_carries_out_once(mesh):
    whole, both = mesh[0], await diaries(mesh)

    async def submit(number: int) -> str:
        items = tuple(RetainItem((f"Item {number}-{n} about the bakery.",), time=NOW) for n in range(3))
        request = RetainRequest(both[0].ref, items, f"r{number}", wait=False, mode=ExtractionMode.CHUNKS)
        for diary in (both[number % 2], both[1]):
            try:
                return (await diary.faces.retainer.retain(request)).operation_id
            except MeshError:
                continue
        raise AssertionError("neither took it")

    first = await asyncio.gather(*(submit(number) for number in range(12)))
    whole.processes["retain-1"].kill()
    rest = [await submit(number) for number in range(12, 18)]
    await settled(both[1])
    listed = (await both[1].faces.admin.list_operations(both[1].ref, PageRequest())).rows
    assert {one.id for one in listed} == {*first, *rest}
    assert {one.state for one in listed} == {OperationState.SUCCEEDED}
    texts = Counter(one.text for one in await both[1].memories())
    assert texts == {f"Item {number}-{n} about the bakery.": 1 for number in range(18) for n in range(3)}
    for one in await both[1].faces.admin.verify_bank(both[1].ref):
        assert (one.is_equal, one.shown) == (True, 54)
    whole.processes["retain-1"].start()
    await whole.processes["retain-1"].ready()
