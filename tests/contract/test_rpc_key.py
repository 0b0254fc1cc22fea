"""The key that a call bears goes along with every kind of call over the wire, and no other goes."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc
import grpc.aio
import pytest

from recallmesh.core.bank import BankRef
from recallmesh.core.credential import KEY_CHARS, bearing, current_key
from recallmesh.core.errors import InvalidArgument, MeshError
from recallmesh.core.recall import RecallRequest
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.rpc.admin import RemoteAdmin
from recallmesh.rpc.caller import peer_channel
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.embedder import RemoteEmbedder
from recallmesh.rpc.recaller import RemoteRecaller
from recallmesh.rpc.retainer import RemoteRetainer

REF = BankRef("b")
CALLED = ("RecallStream", "RetainBulk", "Recall", "GetBank")


@dataclass
class Ear(grpc.GenericRpcHandler):
    """Hears what each call of ours carries, and answers none."""

    heard: dict[str, list] = field(default_factory=dict)
    tenants: dict[str, list] = field(default_factory=dict)

    def service(self, call):
        service, _, method = call.method.rpartition("/")
        if "recallmesh" in service:
            self.heard[method] = [value for name, value in call.invocation_metadata if name == "authorization"]
            self.tenants[method] = [value for name, value in call.invocation_metadata if name == "x-recallmesh-tenant"]


@asynccontextmanager
async def open_ear():
    server, ear = grpc.aio.server(), Ear()
    server.add_generic_rpc_handlers((ear,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with open_channel(f"127.0.0.1:{port}") as channel:
        yield ear, channel
    await server.stop(None)


async def called(channel):
    async def one():
        yield RetainRequest(REF, (RetainItem(("x",)),), request_id="r")

    recaller, retainer = RemoteRecaller(channel), RemoteRetainer(channel)
    for rows in (recaller.stream(RecallRequest(REF, "q")), retainer.stream(one())):
        with pytest.raises(MeshError):
            await anext(rows)
    for answer in (recaller.recall(RecallRequest(REF, "q")), RemoteAdmin(channel).get_bank(REF)):
        with pytest.raises(MeshError):
            await answer


async def test_every_kind_of_call_bears_the_key():
    async with open_ear() as (ear, channel):
        with bearing("abc-123._~+/=="):
            await called(channel)
        assert ear.heard == {method: ["Bearer abc-123._~+/=="] for method in CALLED}
        await called(channel)
    assert set(map(tuple, ear.heard.values())) == {()}


async def test_a_process_of_the_mesh_proves_itself_and_passes_no_callers_key_to_what_is_the_meshs_own():
    keys = iter(("first", "second", "third", "fourth"))
    async with open_ear() as (ear, plain):
        channel = peer_channel(plain, lambda: next(keys))

        async def heard(method, call):
            with pytest.raises(MeshError):
                await call
            return ear.heard[method]

        info, bank = RemoteEmbedder(channel), RemoteAdmin(channel)
        assert await heard("GetEmbedderInfo", info.info()) == ["Bearer first"]
        assert await heard("GetBank", bank.get_bank(REF)) == ["Bearer second"]
        with bearing("theirs"):
            assert await heard("GetEmbedderInfo", info.info()) == ["Bearer third"]
            assert await heard("GetBank", bank.get_bank(REF)) == ["Bearer theirs"]
        with bearing(""):
            # Somebody who bears nothing is not the mesh.
            assert await heard("GetBank", bank.get_bank(REF)) == []
            assert await heard("GetEmbedderInfo", info.info()) == ["Bearer fourth"]


async def test_a_process_without_a_key_of_the_mesh_sends_none():
    async with open_ear() as (ear, plain):
        await called(peer_channel(plain, str))
    assert set(map(tuple, ear.heard.values())) == {()}


async def test_the_default_tenant_is_not_named_and_another_is():
    async with open_ear() as (ear, channel):
        for tenant, told in (("default", []), ("acme", ["acme"])):
            with pytest.raises(MeshError):
                await RemoteAdmin(channel).get_bank(BankRef("b", tenant))
            assert ear.tenants["GetBank"] == told


async def test_callers_at_once_bear_each_their_own_and_an_empty_key_is_none():
    async def hold(key):
        with bearing(key):
            await asyncio.sleep(0)
            with bearing(""):
                assert current_key() == ""
            await asyncio.sleep(0)
            return current_key()

    assert await asyncio.gather(*map(hold, ("one", "two", ""))) == ["one", "two", ""]
    assert current_key() == ""


@pytest.mark.parametrize(
    "key", ["a b", "a\r\nx-recallmesh-tenant: other", "schlüssel", "=", "a=b", "a" * (KEY_CHARS + 1)]
)
def test_what_cannot_be_a_key_is_refused_without_telling_it(key):
    with (
        pytest.raises(InvalidArgument, match=r"RECALLMESH_KEY: is no bearer key") as caught,
        bearing(key, "RECALLMESH_KEY"),
    ):
        pass
    assert key not in str(caught.value) or key == "="
