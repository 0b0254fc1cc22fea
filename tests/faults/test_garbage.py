"""Files of an index that are no index cost that arm alone; the rest answers, and the arm comes back with its files."""

import re
import shutil

import pytest
from deployment import NOW, Process, free_ports, health, open_in_process, open_served, until

from recallmesh.client import open_client
from recallmesh.core.arm import ArmName
from recallmesh.core.recall import PartState
from recallmesh.core.retain import DeliveryState, NamedEntity, RetainItem
from recallmesh.core.time import Window

pytestmark = pytest.mark.timeout(600)

TEXTS = ("The vault of Saint Olaf holds a chalice.", "The chalice was given by Duke Halvard.")
OLAF = NamedEntity("Saint Olaf")
GARBAGE = b"this is no database at all, and long enough to be taken for one" * 200
# Without the vectors the graph arm answers by the name in the question.
COSTS = {
    "graph.db": {ArmName.GRAPH},
    "keyword.db": {ArmName.KEYWORD},
    "catalog.sqlite": {ArmName.SEMANTIC, ArmName.TEMPORAL},
    "embedding.json": {ArmName.SEMANTIC, ArmName.TEMPORAL},
}
PRIVATE = re.compile(r"/\w+/|pytest|not a database|sqlite3|Errno|Traceback|0x[0-9a-f]{6}")


async def asked(diary, query="who gave the chalice of Saint Olaf"):
    answer = await diary.ask(query, reranking=False, window=Window(NOW, NOW))
    for report in answer.arms:
        # For callers: what is wrong and what to do, and nothing of where our files are or what a driver said of them.
        assert not PRIVATE.search(report.detail), report.detail
    return {report.arm: report.state for report in answer.arms}, sorted(one.memory.text for one in answer.memories)


def spoil(data, name):
    """Put garbage in the file's place; return what puts it back."""
    (path,) = data.rglob(name)
    kept = path.with_name(f"{name}.kept")
    shutil.copy(path, kept)
    for beside in path.parent.glob(f"{name}-*"):
        beside.unlink()
    path.write_bytes(GARBAGE)

    def restore():
        kept.replace(path)

    return restore


@pytest.mark.parametrize("name", COSTS)
async def test_in_process_garbage_costs_its_arm_until_the_files_are_back(tmp_path, name):
    async with open_in_process(tmp_path) as mesh:
        diary = await mesh.diary()
        await diary.keep(*TEXTS, entities=(OLAF,))
    restore = spoil(mesh.data, name)
    async with open_in_process(tmp_path) as mesh:
        diary = type(diary)(mesh.faces, diary.ref)
        states, texts = await asked(diary)
        assert texts == sorted(TEXTS)
        assert {arm for arm, state in states.items() if state is PartState.UNAVAILABLE} == COSTS[name]
        assert all(state is PartState.OK for arm, state in states.items() if arm not in COSTS[name])
        kept = await diary.retain(RetainItem(("A third chalice is in Bergen.",), time=NOW))
        pending = {one.arm for one in kept.deliveries if one.state is DeliveryState.PENDING}
        assert COSTS[name] - {ArmName.TEMPORAL} <= pending
        restore()

        async def whole():
            states, texts = await asked(diary)
            return len(texts) == 3 and all(state is PartState.OK for state in states.values())

        await until(whole, 60)


async def test_a_server_lives_answers_and_is_not_ready(tmp_path):
    async with open_served(tmp_path) as mesh:
        diary = await mesh.diary()
        await diary.keep(*TEXTS, entities=(OLAF,))
    restore = spoil(mesh.data, "graph.db")
    server = Process(("all",), mesh.data, tmp_path / "again.log", port=free_ports(1)[0])
    server.start()
    try:

        async def answers():
            async with open_client(server.address) as faces:
                return await asked(type(diary)(faces, diary.ref))

        async def lives():
            return await health(server.address, "recallmesh.v1.ArmService/keyword") == 1

        await until(lives, 120)
        states, texts = await answers()
        assert texts == sorted(TEXTS)
        assert [arm for arm, state in states.items() if state is not PartState.OK] == [ArmName.GRAPH]
        assert await health(server.address) != 1
        assert await health(server.address, "recallmesh.v1.ArmService/graph") != 1
        assert "an index cannot be opened" in server.told()
        assert "Traceback" not in server.told()
        restore()

        async def ready():
            return await health(server.address) == 1

        await until(ready, 60)
        states, _ = await answers()
        assert set(states.values()) == {PartState.OK}
    finally:
        server.kill()
