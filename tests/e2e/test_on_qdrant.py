"""A mesh whose vectors are on a Qdrant server: the same answers, and what it does without (local mode, real gRPC)."""

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from deployment import NOW, Diary, until
from golden_diary import MEMORIES, REF, answers, opened, repair, tell, wrong
from loopback import open_loopback, until_ready
from qdrant_server import LocalServer, open_local_server

from bench.hashed import HashedEmbedder
from recallmesh.core.arm import ArmName, ArmQuery
from recallmesh.core.encoder import EmbedKind
from recallmesh.core.errors import RecallUnavailable, StoreUnavailable
from recallmesh.core.recall import PartState
from recallmesh.core.retain import DeliveryState, RetainItem
from recallmesh.core.time import Window
from recallmesh.mesh import Part, open_assembly
from recallmesh.rpc.arm import RemoteArm, host_arms
from recallmesh.settings import Settings, load_settings
from recallmesh.vectors.qdrant import migrate_qdrant

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(600)]


class OtherEmbedder(HashedEmbedder):
    """Another model, of a third of the dimensions."""

    async def info(self):
        return replace(await super().info(), name="small", fingerprint="small-1", dimensions=128)

    async def embed(self, texts, kind):
        return tuple(vector[:128] for vector in await super().embed(texts, kind))


def settings_of(folder: Path, server: LocalServer | None = None, **more) -> Settings:
    semantic = {"qdrant_url": server.url} if server else {}
    return load_settings(
        data=folder,
        reranker={"backend": "none"},
        retain={"outbox_poll_s": 0.05},
        semantic=semantic | more.pop("semantic", {}),
        **more,
    )


async def migrate(server: LocalServer, embedder: HashedEmbedder | None = None) -> None:
    info = await (embedder or HashedEmbedder()).info()
    await migrate_qdrant(server.url, fingerprint=info.fingerprint, dimensions=info.dimensions)


async def test_a_mesh_that_moves_to_qdrant_is_filled_by_a_repair_and_answers_the_same(tmp_path) -> None:
    async with opened(settings_of(tmp_path / "one")) as diary:
        await tell(diary)
        before = await answers(diary)
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    async with open_local_server() as server:
        await migrate(server)
        async with opened(settings_of(tmp_path / "other", server)) as diary:
            assert await wrong(diary) == {"semantic": len(MEMORIES)}
            await repair(diary)
            assert await wrong(diary) == {}
            after = await answers(diary)
            for question, (memories, candidates) in before.items():
                # Two ways of adding up 384 products differ by what the last of six digits means.
                near = [(memory, ranks, pytest.approx(scores, abs=2e-6)) for memory, ranks, scores in candidates]
                assert after[question] == [memories, near], question
        assert {call.method for call in server.calls} >= {"QueryBatch", "UpdateBatch", "Scroll"}


async def test_what_is_retained_edited_and_deleted_is_so_on_the_server(tmp_path) -> None:
    async with open_local_server() as server:
        await migrate(server)
        async with opened(settings_of(tmp_path, server)) as diary:
            await tell(diary)
            assert await wrong(diary) == {}
            one, *_ = await diary.memories()
            await diary.faces.admin.delete_memory(REF, one.id)
            await until(lambda: not_listed(diary, one.id))
            assert await wrong(diary) == {}
            assert one.text not in await diary.texts(one.text, ArmName.SEMANTIC)
            await diary.faces.admin.delete_bank(REF)

            async def gone() -> bool:
                (name,) = server.kept.collections
                return (await server.kept.points.count(name)).count == 0

            await until(gone)


async def not_listed(diary: Diary, memory_id: str) -> bool:
    return memory_id not in {one.id for one in await diary.memories()}


async def test_the_readers_of_the_vectors_ask_the_server_themselves(tmp_path) -> None:
    async with open_local_server() as server:
        await migrate(server)
        async with opened(settings_of(tmp_path, server)) as diary:
            await tell(diary)
            uid = (await diary.faces.admin.get_bank(REF)).uid
        elsewhere = {"address": "127.0.0.1:1"}  # nothing is there: who asks it for vectors fails
        (vector,) = await HashedEmbedder().embed(("boat yard",), EmbedKind.QUERY)
        query = ArmQuery(uid, "boat yard", vector, Window(NOW - timedelta(days=3650), NOW))
        for part, name in ((Part.TEMPORAL, ArmName.TEMPORAL), (Part.GRAPH, ArmName.GRAPH)):
            server.calls.clear()
            settings = settings_of(tmp_path, server, semantic=elsewhere)
            async with open_assembly(settings, frozenset({part}), embedder=HashedEmbedder()) as assembly:
                arm = await assembly.arm(name)
                await arm.check()
                assert await arm.search(query)
            assert server.of("QueryBatch")


async def test_without_the_server_words_and_names_answer_and_after_it_is_back_everything_is_there(tmp_path) -> None:
    async with open_local_server() as first:
        await migrate(first)
        kept, port = first.kept, first.port
        async with opened(settings_of(tmp_path, first)) as diary:
            await tell(diary)
            await first.stop()
            answer = await diary.ask("Why did the Falk leak?", window=Window(NOW - timedelta(days=3650), NOW))
            states = {one.arm: one.state for one in answer.arms}
            assert states[ArmName.KEYWORD] is PartState.OK
            assert {states[ArmName.SEMANTIC], states[ArmName.TEMPORAL]} == {PartState.UNAVAILABLE}
            assert answer.memories
            new = RetainItem(("The Falk was tarred anew by Ola.",), time=NOW)
            told = {one.arm: one.state for one in (await diary.retain(new)).deliveries}
            assert told[ArmName.SEMANTIC] is DeliveryState.PENDING
            assert told[ArmName.KEYWORD] is DeliveryState.STORED
            async with open_local_server(kept, port):

                async def delivered() -> bool:
                    try:
                        found = await diary.texts("tarred anew", ArmName.SEMANTIC)
                    except RecallUnavailable:
                        return False  # the client looks for the server every two seconds
                    return found[:1] == [new.content[0]]

                await until(delivered)
                assert await wrong(diary) == {}
                answer = await diary.ask("Why did the Falk leak?")
                assert {one.state for one in answer.arms} <= {PartState.OK, PartState.SKIPPED}


async def test_a_server_that_was_never_migrated_costs_its_arms_until_it_is(tmp_path) -> None:
    async with open_local_server() as server:
        settings = settings_of(tmp_path, server)
        async with open_assembly(settings, frozenset({Part.SEMANTIC}), embedder=HashedEmbedder()) as assembly:
            hosted = host_arms({ArmName.SEMANTIC: await assembly.arm(ArmName.SEMANTIC)})
            async with open_loopback(hosted) as channel:
                remote = RemoteArm(ArmName.SEMANTIC, channel)
                with pytest.raises(StoreUnavailable):
                    await remote.check()
                await migrate(server)
                await until_ready(remote)


async def test_a_changed_model_has_a_collection_of_its_own_filled_by_a_repair(tmp_path) -> None:
    async with open_local_server() as server:
        await migrate(server)
        async with opened(settings_of(tmp_path, server)) as diary:
            await tell(diary)
            before = await diary.texts("boat yard", ArmName.SEMANTIC)
        await migrate(server, OtherEmbedder())
        async with opened(settings_of(tmp_path, server), OtherEmbedder()) as diary:
            assert await diary.texts("boat yard", ArmName.SEMANTIC) == []
            assert await diary.texts("boat yard", ArmName.KEYWORD)
            await repair(diary)
            assert await wrong(diary) == {}
            assert await diary.texts("boat yard", ArmName.SEMANTIC)
        # The way back is whole at once.
        async with opened(settings_of(tmp_path, server)) as diary:
            assert await wrong(diary) == {}
            assert await diary.texts("boat yard", ArmName.SEMANTIC) == before
        assert len(server.kept.collections) == 2
