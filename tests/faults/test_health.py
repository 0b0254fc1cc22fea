"""A process lives before it is ready, says which, and offers reflection only when asked to."""

import asyncio
import json
import sqlite3
from contextlib import closing

import grpc
import grpc.aio
import pytest
from deployment import SERVING, Process, free_ports, health, open_in_process, open_processes, until
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from recallmesh.core.arm import ArmName, ArmQuery
from recallmesh.core.errors import EmbeddingMismatch, MeshError, StoreUnavailable
from recallmesh.mesh import Part
from recallmesh.rpc.arm import RemoteArm
from recallmesh.rpc.channel import open_channel
from recallmesh.serve import open_serving
from recallmesh.settings import Settings

pytestmark = pytest.mark.timeout(600)

NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SEARCH = "recallmesh.v1.ArmService/keyword"


async def becomes(address, wanted, service=""):
    async def it_is():
        return await health(address, service) == wanted

    await until(it_is, 30)


async def reflected(address):
    async with grpc.aio.insecure_channel(address) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        (answer,) = [answer async for answer in stub.ServerReflectionInfo(iter([request]))]
        return {service.name for service in answer.list_services_response.service}


async def test_a_keyword_process_whose_store_another_has_lives_and_is_not_ready(tmp_path):
    data = tmp_path / "data"
    first = Process(("keyword",), data, tmp_path / "first.log")
    async with open_processes({"first": first}):
        assert await health(first.address, SEARCH) == SERVING
        second = Process(("keyword",), data, tmp_path / "second.log", port=free_ports(1)[0])
        second.start()
        try:
            await becomes(second.address, NOT_SERVING)
            async with open_channel(second.address) as channel:
                with pytest.raises(StoreUnavailable):
                    await RemoteArm(ArmName.KEYWORD, channel).search(ArmQuery("u1", "q"))
            assert second.running.poll() is None
            first.kill()
            await becomes(second.address, SERVING)
            assert await health(second.address, SEARCH) == SERVING
        finally:
            second.kill()


async def test_a_process_whose_ledger_has_another_schema_is_not_ready_until_it_fits(tmp_path):
    bank = Process(("bank",), tmp_path, tmp_path / "bank.log")
    async with open_processes({"bank": bank}), open_channel(bank.address):
        with closing(sqlite3.connect(tmp_path / "ledger.db")) as ledger:
            ((revision,),) = ledger.execute("SELECT version_num FROM alembic_version").fetchall()
            for wanted, version in ((NOT_SERVING, "another"), (SERVING, revision)):
                with ledger:
                    ledger.execute("UPDATE alembic_version SET version_num = ?", (version,))
                await becomes(bank.address, wanted)
                await becomes(bank.address, wanted, "recallmesh.v1.BankService")
        assert "part not ready" in bank.told()


async def test_vectors_of_another_size_make_a_process_not_ready_and_are_not_wiped(tmp_path):
    text = "The anchor of the barque weighs two tons."
    async with open_in_process(tmp_path) as mesh:
        diary = await mesh.diary()
        await diary.keep(text)
        data = mesh.data
    (note,) = [path for path in data.rglob("*.json") if "dimensions" in path.read_text("utf-8")]
    held = note.read_text("utf-8")
    note.write_text(json.dumps(json.loads(held) | {"dimensions": 7}), "utf-8")
    settings = Settings(data=data, serve={"listen": "127.0.0.1:0", "drain_s": 0})
    async with open_serving(settings, frozenset({Part.SEMANTIC, Part.EMBEDDER})) as serving:
        address = f"127.0.0.1:{serving.server.port}"
        async with open_channel(address) as channel:

            async def refused():
                with pytest.raises(MeshError) as caught:
                    await RemoteArm(ArmName.SEMANTIC, channel).search(ArmQuery("u1", "q"))
                return isinstance(caught.value, EmbeddingMismatch)

            await until(refused, 60)
        assert await health(address) == NOT_SERVING
        note.write_text(held, "utf-8")
        async with asyncio.timeout(60):
            await serving.building
        await becomes(address, SERVING)
    async with open_in_process(tmp_path) as mesh:
        assert await type(diary)(mesh.faces, diary.ref).texts("anchor", ArmName.SEMANTIC) == [text]


async def test_reflection_is_offered_by_flag_alone(tmp_path):
    shown = Process(("keyword",), tmp_path / "a", tmp_path / "a.log", {"RECALLMESH_SERVE__REFLECTION": "true"})
    hidden = Process(("keyword",), tmp_path / "b", tmp_path / "b.log")
    async with open_processes({"shown": shown, "hidden": hidden}):
        assert "recallmesh.v1.ArmService" in await reflected(shown.address)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await reflected(hidden.address)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
