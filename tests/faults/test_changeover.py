"""The embedding model is changed while others retain and recall: nothing is lost by meaning, at no moment.

The second model has vectors of the same size that mean something else: compared with the first one's they find nothing.
"""

import asyncio
import random
from argparse import Namespace
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest
from deployment import Diary, until
from qdrant_server import open_local_server

from bench.hashed import HashedEmbedder
from recallmesh import changeover
from recallmesh.cli.reembed import STEPS
from recallmesh.client import Client
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.encoder import EmbedKind
from recallmesh.core.errors import NotReady, StoreUnavailable
from recallmesh.core.recall import PartState
from recallmesh.mesh import Assembly, Part, open_assembly
from recallmesh.models import SEEN_S
from recallmesh.retain import repair
from recallmesh.rpc.server import open_server
from recallmesh.serve import host
from recallmesh.settings import Settings, load_settings
from recallmesh.vectors.qdrant import migrate_qdrant
from recallmesh.vectors.shelf import shelf_name

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(600)]

REF = BankRef("diary")
PLACES = ("harbour", "mill", "bakery", "quay", "library", "garden", "station", "market", "bridge", "tower")
THERE = frozenset({Part.SEMANTIC, Part.GRAPH, Part.TEMPORAL})


class Counting(HashedEmbedder):
    """A model that counts the questions it embeds, and may be away."""

    def __init__(self) -> None:
        super().__init__()
        self.questions = 0
        self.away = False

    async def embed(self, texts, kind):
        if self.away:
            raise StoreUnavailable("the embedder is away")
        self.questions += kind is EmbedKind.QUERY
        return await super().embed(texts, kind)


class Turned(Counting):
    """Another model: as long vectors, which begin where the first one's end."""

    async def info(self):
        return replace(await super().info(), name="turned", fingerprint="turned-1")

    async def embed(self, texts, kind):
        return tuple(vector[::-1] for vector in await super().embed(texts, kind))


@dataclass
class Models:
    first: Counting = field(default_factory=Counting)
    second: Turned = field(default_factory=Turned)


@dataclass
class Mesh:
    """A mesh as its users have it, and as its operator's commands do."""

    diary: Diary
    operator: Assembly
    models: Models

    async def step(self, name: str, **words) -> int:
        return await STEPS[name](self.operator, Namespace(**{"json": True, "at_most": 0.0, "back": False} | words))

    async def missing(self) -> dict[str, int]:
        """Return what the indexes in use lack, as their users' administration says it."""
        found = await self.diary.faces.admin.verify_bank(REF)
        return {one.arm.value: one.missing + one.extra + one.stale for one in found if not one.is_equal}


def settings_of(folder: Path, **more) -> Settings:
    return load_settings(data=folder, reranker={"backend": "none"}, retain={"outbox_poll_s": 0.05}, **more)


@asynccontextmanager
async def built(settings: Settings, models: Models, hosted: frozenset[Part] = frozenset()) -> AsyncIterator[Assembly]:
    async with open_assembly(settings, hosted, embedder=models.first, next_embedder=models.second) as assembly:
        yield assembly


async def faces_of(assembly: Assembly) -> Client:
    return Client(await assembly.recaller(), await assembly.retainer(), await assembly.admin())


@asynccontextmanager
async def in_one_process(folder: Path, models: Models) -> AsyncIterator[Mesh]:
    async with built(settings_of(folder), models) as assembly:
        yield Mesh(Diary(await faces_of(assembly), REF), assembly, models)


@asynccontextmanager
async def in_several(folder: Path, models: Models, **semantic) -> AsyncIterator[Mesh]:
    """Have the arms that use vectors elsewhere, and the operator in a third place."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        there = await enter(built(settings_of(folder, semantic=semantic), models, THERE))
        parts = await host(there, THERE)
        server = await enter(open_server("127.0.0.1:0", parts, drain_s=0.0, grace_s=0.5, check_interval_s=0.1))
        at = {"address": f"127.0.0.1:{server.port}"}
        settings = settings_of(folder, semantic=at | semantic, graph=at, temporal=at)
        await until(lambda: ready(there))
        here, operator = await enter(built(settings, models)), await enter(built(settings, models))
        yield Mesh(Diary(await faces_of(here), REF), operator, models)


async def ready(assembly: Assembly) -> bool:
    try:
        await (await assembly.arm(ArmName.SEMANTIC)).check()
    except (StoreUnavailable, NotReady):
        return False
    return True


@asynccontextmanager
async def on_qdrant(folder: Path, models: Models) -> AsyncIterator[Mesh]:
    async with open_local_server() as server:
        for model in (models.first, models.second):
            info = await model.info()
            await migrate_qdrant(server.url, fingerprint=info.fingerprint, dimensions=info.dimensions)
        async with in_several(folder, models, qdrant_url=server.url) as mesh:
            yield mesh


KINDS: dict[str, Callable] = {"one process": in_one_process, "several": in_several, "qdrant": on_qdrant}


@pytest.fixture(params=KINDS)
async def mesh(request, tmp_path) -> AsyncIterator[Mesh]:
    async with KINDS[request.param](tmp_path, Models()) as mesh:
        await mesh.diary.faces.admin.create_bank(REF)
        yield mesh


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Models may be dropped as soon as they were switched, and a backfill has many steps of few memories."""
    monkeypatch.setattr(changeover, "DROP_AFTER", timedelta(0))
    monkeypatch.setattr(repair, "_SPAN", 10)


@dataclass
class Load:
    """Somebody who retains, and somebody who asks for what was retained, by meaning alone."""

    diary: Diary
    kept: list[str] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def tell(self, count: int) -> None:
        for _ in range(count):
            number = len(self.kept)
            text = f"Person{number:04} waited beside the {PLACES[number % len(PLACES)]} until clock{number:04}."
            await self.diary.keep(text)
            self.kept.append(text)

    async def ask(self) -> None:
        """Ask for one that is known: it must be the first, by the semantic arm, which must have answered."""
        text = self.chance.choice(self.kept)
        answer = await self.diary.ask(text, ArmName.SEMANTIC, reranking=False, limit=3)
        state = {one.arm: one.state for one in answer.arms}[ArmName.SEMANTIC]
        found = [one.memory.text for one in answer.memories]
        self.asked[state.value] += 1
        if state is not PartState.OK or found[:1] != [text]:
            self.wrong.append(f"{state}: asked {text!r}, found {found[:2]}")

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        async def telling() -> None:
            while not self._stop.is_set():
                await self.tell(1)
                await asyncio.sleep(0.02)

        async def asking() -> None:
            while not self._stop.is_set():
                await self.ask()
                await asyncio.sleep(0.01)

        async with asyncio.TaskGroup() as group:
            group.create_task(telling())
            group.create_task(asking())
            try:
                yield
            finally:
                self._stop.set()


async def seen_by_all() -> None:
    await asyncio.sleep(SEEN_S + 0.2)


async def test_nothing_is_lost_by_meaning_while_the_model_is_changed_back_and_forth(mesh):
    load, models = Load(mesh.diary), mesh.models
    await load.tell(40)
    async with load.going_on():
        await mesh.step("start")
        assert await mesh.step("status") == 1  # the one beside has next to nothing
        filling = asyncio.create_task(mesh.step("fill", at_most=10))
        await asyncio.sleep(0.5)
        filling.cancel()  # killed in the middle
        await asyncio.gather(filling, return_exceptions=True)
        assert await mesh.step("status") == 1
        assert models.second.questions == 0
        assert await mesh.step("fill") == 0
        assert await mesh.step("switch") == 0
        await seen_by_all()
        models.first.questions = 0
        await asyncio.sleep(0.3)
        assert (models.first.questions, models.second.questions > 0) == (0, True)

        assert await mesh.step("switch", back=True) == 0
        await seen_by_all()
        models.second.questions = 0
        await asyncio.sleep(0.3)
        assert (models.second.questions, models.first.questions > 0) == (0, True)

        assert await mesh.step("switch") == 0
        assert await mesh.step("switch") == 0  # twice is as once
        await seen_by_all()
    assert load.wrong == []
    assert load.asked["ok"] > 20
    assert set(load.asked) == {"ok"}
    assert await mesh.missing() == {}
    assert await mesh.step("status") == 0
    for text in load.kept:
        assert await mesh.diary.texts(text, ArmName.SEMANTIC, limit=1) == [text]


@pytest.mark.parametrize("mesh", ["several"], indirect=True)
async def test_a_model_beside_that_is_away_holds_up_nothing_and_is_filled_later(mesh):
    load, models = Load(mesh.diary), mesh.models
    await load.tell(3)
    await mesh.step("start")
    models.second.away = True
    await load.tell(3)
    assert await mesh.missing() == {}
    await load.ask()
    with pytest.raises(StoreUnavailable, match="away"):
        await mesh.step("switch")
    models.second.away = False
    assert await mesh.step("switch") == 0
    await seen_by_all()
    models.first.away = True  # what is beside now
    await load.tell(3)
    for _ in range(5):
        await load.ask()
    assert load.wrong == []
    assert await mesh.missing() == {}


@pytest.mark.parametrize("mesh", ["several"], indirect=True)
async def test_what_is_deleted_during_the_change_is_in_neither_model(mesh):
    load = Load(mesh.diary)
    await load.tell(4)
    await mesh.step("start")
    await mesh.step("fill")
    [first, *_] = await mesh.diary.memories()
    await mesh.diary.faces.admin.delete_memory(REF, first.id)

    async def delivered() -> bool:
        return not (await mesh.diary.faces.admin.bank_stats(REF)).pending

    await until(delivered)
    assert await mesh.step("status") == 0
    assert await mesh.missing() == {}


@pytest.mark.parametrize("mesh", ["one process"], indirect=True)
async def test_a_model_is_dropped_once_nobody_has_it_open(mesh, tmp_path):
    load, models = Load(mesh.diary), mesh.models
    await load.tell(3)
    await mesh.step("start")
    await mesh.step("switch")
    with pytest.raises(StoreUnavailable, match="another process has the vector index open"):
        await mesh.step("drop")
    use = await (await mesh.operator.ledger()).model_use()
    assert use is not None
    assert use.beside is not None  # the refusal changed nothing
    old = tmp_path / "vectors" / shelf_name((await models.first.info()).fingerprint)
    assert old.is_dir()


async def test_settings_moved_to_the_new_model_go_on_and_the_old_vectors_are_dropped(tmp_path):
    models = Models()
    async with in_one_process(tmp_path, models) as mesh:
        await mesh.diary.faces.admin.create_bank(REF)
        load = Load(mesh.diary)
        await load.tell(5)
        await mesh.step("start")
        await mesh.step("switch")
    async with open_assembly(settings_of(tmp_path), frozenset(), embedder=models.second) as assembly:
        moved = Mesh(Diary(await faces_of(assembly), REF), assembly, models)
        load.diary = moved.diary
        for _ in range(5):
            await load.ask()
        await load.tell(2)
        old = tmp_path / "vectors" / shelf_name((await models.first.info()).fingerprint)
        assert old.is_dir()
        assert await moved.step("drop") == 0
        assert not old.exists()
        await seen_by_all()
        await load.ask()
        assert load.wrong == []
        assert await moved.missing() == {}
        with pytest.raises(NotReady, match="no model is written beside"):
            await moved.step("drop")


async def test_a_process_whose_settings_were_changed_too_early_refuses_and_loses_nothing(tmp_path):
    models = Models()
    async with in_one_process(tmp_path, models) as mesh:
        await mesh.diary.faces.admin.create_bank(REF)
        load = Load(mesh.diary)
        await load.tell(3)
        await mesh.step("start")
    async with open_assembly(settings_of(tmp_path), frozenset(), embedder=models.second) as assembly:
        early = Diary(await faces_of(assembly), REF)
        with pytest.raises(NotReady, match="uses hashed-1, which this process has not"):
            await early.ask("Who waited?")
