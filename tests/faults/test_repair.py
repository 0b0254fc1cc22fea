"""An index that is lost, cut short or changed behind the mesh's back: it is seen, and mended to what it was."""

import operator
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
import pytest_asyncio
from deployment import NOW, Diary, until

from bench.hashed import HashedEmbedder
from recallmesh.client import Client
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.operation import OperationState
from recallmesh.core.retain import NamedEntity, RetainItem
from recallmesh.core.tuning import Budget
from recallmesh.mesh import open_assembly
from recallmesh.settings import load_settings

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]

REF = BankRef("diary")
INDEXES = ("keyword.db", "graph.db", "vectors")
PEOPLE = ("Ida", "Ole", "Bea", "Knut")
PLACES = ("harbour", "mill", "bakery")


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Diary]:
    settings = load_settings(data=folder, reranker={"backend": "none"}, retain={"outbox_poll_s": 0.05})
    async with open_assembly(settings, frozenset(), embedder=HashedEmbedder()) as assembly:
        faces = Client(await assembly.recaller(), await assembly.retainer(), await assembly.admin())
        yield Diary(faces, REF)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kept(tmp_path_factory) -> Path:
    """Data of a bank whose memories share people, are alike, and follow each other."""
    folder = tmp_path_factory.mktemp("kept")
    async with opened(folder) as diary:
        await diary.faces.admin.create_bank(REF)
        for person in PEOPLE:
            items = (
                RetainItem(
                    (f"{person} was at the {place} on day {day} and spoke of the weather.",),
                    time=NOW,
                    document_id=person,
                    entities=(NamedEntity(person, "person"),),
                )
                for place in PLACES
                for day in range(2)
            )
            await diary.retain(*items)
    return folder


@pytest.fixture
def data(kept, tmp_path) -> Path:
    return Path(shutil.copytree(kept, tmp_path / "data"))


def lose(data: Path, *names: str) -> None:
    for name in names:
        for path in data.glob(f"{name}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


async def wrong(diary: Diary, **more) -> dict[str, int]:
    """Return what each index lacks or has too much or otherwise; those that are as they should be are left out."""
    found = await diary.faces.admin.verify_bank(REF, **more)
    return {one.arm.value: one.missing + one.extra + one.stale for one in found if not one.is_equal}


async def repaired(diary: Diary) -> OperationState:
    begun = await diary.faces.admin.repair_bank(REF)
    *_, last = [seen async for seen in diary.faces.admin.watch_operation(REF, begun.id)]
    return last.state


async def answers(diary: Diary) -> list:
    """Return what each arm finds, with its scores, for questions that reach memories in every way.

    All but the graph arm: its likenesses were named by each memory among those before it, and anew among all.
    """
    found = []
    for query in ("Ida at the harbour", "the weather on day 1", "What did Knut say at the mill?"):
        for arm in (ArmName.SEMANTIC, ArmName.KEYWORD, ArmName.TEMPORAL):
            answer = await diary.ask(query, arm, reranking=False, budget=Budget.LOW, trace=True)
            found.append((query, arm, [(one.memory.id, one.scores) for one in answer.memories]))
    return found


def links(data: Path) -> set[tuple]:
    """Return the graph by name: who is mentioned where, what caused what, and what follows what."""
    causal = (
        "SELECT s.id, t.id, ROUND(weight, 6) FROM link JOIN memory s ON s.row = source "
        "JOIN memory t ON t.row = target WHERE kind = 'causal'"
    )
    mentions = "SELECT e.name, m.id FROM mention JOIN entity e ON e.row = entity JOIN memory m ON m.row = memory"
    places = "SELECT document, position, id FROM memory WHERE live"
    with closing(sqlite3.connect(data / "graph.db")) as connection:
        return {row for statement in (causal, mentions, places) for row in connection.execute(statement)}


def likeness(data: Path) -> dict[str, list[float]]:
    """Return the weights of each memory's ten strongest semantic links: as many as a memory names itself."""
    query = "SELECT DISTINCT m.id, target, weight FROM link JOIN memory m ON m.row = source WHERE kind = 'semantic'"
    found: dict[str, list[float]] = defaultdict(list)
    with closing(sqlite3.connect(data / "graph.db")) as connection:
        for memory_id, _, weight in connection.execute(query):
            found[memory_id].append(round(weight, 6))
    return {memory_id: sorted(weights, reverse=True)[:10] for memory_id, weights in found.items()}


def as_good(weights: list[float], before: list[float]) -> bool:
    return len(weights) >= len(before) and all(map(operator.ge, weights, (one - 1e-5 for one in before)))


@pytest.mark.parametrize("lost", [*((name,) for name in INDEXES), INDEXES], ids="+".join)
async def test_a_lost_index_is_seen_and_made_anew_as_good_as_before(data, lost):
    async with opened(data) as diary:
        before = await answers(diary)
    linked, alike = links(data), likeness(data)
    lose(data, *lost)
    async with opened(data) as diary:
        arms = {"keyword.db": "keyword", "graph.db": "graph", "vectors": "semantic"}
        assert await wrong(diary) == await wrong(diary, glance=True) == {arms[name]: 24 for name in lost}
        assert await repaired(diary) is OperationState.SUCCEEDED
        assert await wrong(diary) == {}
        assert await answers(diary) == before
        assert len(await diary.texts("Ida at the harbour", ArmName.GRAPH)) == 24
    assert links(data) == linked
    now = likeness(data)
    assert now.keys() == alike.keys()
    weaker = {one: (weights, now[one]) for one, weights in alike.items() if not as_good(now[one], weights)}
    assert weaker == {}


async def test_a_shard_of_vectors_that_is_lost_alone_is_seen_and_made_anew(data):
    async with opened(data) as diary:
        before = await answers(diary)
    (note,) = data.glob("vectors/*/current")
    note.unlink()
    async with opened(data) as diary:
        assert await wrong(diary) == {"semantic": 24}
        assert await repaired(diary) is OperationState.SUCCEEDED
        assert await answers(diary) == before


@pytest.mark.parametrize("name", ["keyword.db", "graph.db"])
async def test_an_index_that_is_cut_short_is_told_and_mended_once_it_is_moved_away(data, name, capsys):
    path = data / name
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    async with opened(data) as diary:
        arm = name.removesuffix(".db")
        comparisons = await diary.faces.admin.verify_bank(REF)
        assert {one.arm.value for one in comparisons if one.error} == {arm}
    assert "recallmesh repair" in "".join(capsys.readouterr())
    lose(data, name)
    async with opened(data) as diary:
        assert await repaired(diary) is OperationState.SUCCEEDED
        assert await wrong(diary) == {}


async def test_rows_changed_behind_the_meshs_back_are_mended(data):
    with closing(sqlite3.connect(data / "keyword.db")) as connection, connection:
        connection.execute("DELETE FROM memory WHERE rowid % 3 = 0")
        connection.execute("UPDATE memory SET version = 7 WHERE rowid % 3 = 1")
    async with opened(data) as diary:
        assert await wrong(diary) == {"keyword": 24 * 2 // 3}
        assert await repaired(diary) is OperationState.SUCCEEDED

        async def equal():
            return not await wrong(diary)

        await until(equal)
        assert len(await diary.words("weather")) == 24
