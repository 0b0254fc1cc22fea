"""The embedding model is changed under a bank: it is said, recall goes on, and a repair makes the new vectors."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from deployment import NOW, Diary
from structlog.testing import capture_logs

from bench.hashed import HashedEmbedder
from recallmesh.client import Client
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.operation import OperationState
from recallmesh.core.retain import NamedEntity, RetainItem
from recallmesh.mesh import open_assembly
from recallmesh.settings import load_settings

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(600)]

REF = BankRef("diary")
SAID = "the embedding model was changed, and few memories have its vectors"
LINES = tuple(f"Ida spoke of the weather at the {place}." for place in ("harbour", "mill", "bakery", "quay"))


class SmallEmbedder(HashedEmbedder):
    """Another model, of a third of the dimensions."""

    async def info(self):
        return replace(await super().info(), name="small", fingerprint="small-1", dimensions=128)

    async def embed(self, texts, kind):
        return tuple(vector[:128] for vector in await super().embed(texts, kind))


@asynccontextmanager
async def opened(folder: Path, embedder: HashedEmbedder) -> AsyncIterator[tuple[Diary, list]]:
    settings = load_settings(data=folder, reranker={"backend": "none"}, retain={"outbox_poll_s": 0.05})
    with capture_logs() as logs:
        async with open_assembly(settings, frozenset(), embedder=embedder) as assembly:
            faces = Client(await assembly.recaller(), await assembly.retainer(), await assembly.admin())
            yield Diary(faces, REF), [line for line in logs if line["event"] == SAID]


async def missing(diary):
    found = await diary.faces.admin.verify_bank(REF)
    return {one.arm.value: one.missing for one in found if not one.is_equal}


async def repair(diary):
    begun = await diary.faces.admin.repair_bank(REF)
    *_, last = [seen async for seen in diary.faces.admin.watch_operation(REF, begun.id)]
    assert last.state is OperationState.SUCCEEDED


async def test_a_changed_model_is_said_recall_goes_on_and_a_repair_makes_its_vectors(tmp_path):
    item = RetainItem(LINES[:1], time=NOW, entities=(NamedEntity("Ida", "person"),))
    async with opened(tmp_path, HashedEmbedder()) as (diary, said):
        await diary.faces.admin.create_bank(REF)
        await diary.retain(*(replace(item, content=(line,)) for line in LINES))
        assert said == []

    async with opened(tmp_path, SmallEmbedder()) as (diary, [said]):
        assert (said["former_model"], said["former_vectors"], said["model"], said["vectors"]) == (
            *("hashed-1", 4),
            *("small-1", 0),
        )
        assert "recallmesh repair" in said["remedy"]
        assert await missing(diary) == {"semantic": 4}
        assert await diary.texts("harbour weather", ArmName.SEMANTIC) == []
        assert LINES[0] in await diary.texts("harbour weather", ArmName.KEYWORD)
        assert LINES[0] in await diary.texts("What did Ida say?", ArmName.GRAPH)
        new = "Ola asked about the lighthouse."
        await diary.keep(new)
        assert await diary.texts("lighthouse", ArmName.SEMANTIC) == [new]

    async with opened(tmp_path, SmallEmbedder()) as (diary, said):
        assert len(said) == 1  # one new memory does not make it whole
        await repair(diary)
        assert await missing(diary) == {}
        assert (await diary.texts("harbour weather", ArmName.SEMANTIC))[0] == LINES[0]

    async with opened(tmp_path, HashedEmbedder()) as (diary, said):
        # The way back: the former vectors were left as they were.
        assert said == []
        assert await missing(diary) == {"semantic": 1}
        assert (await diary.texts("harbour weather", ArmName.SEMANTIC))[0] == LINES[0]
