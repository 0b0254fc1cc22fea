"""What each call of a client carries: its key, its tenant and a deadline; and what is refused before any call."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc
import grpc.aio
import pytest

from recallmesh.client import Timeouts, open_client, within
from recallmesh.core.credential import bearing
from recallmesh.core.errors import ArmTimeout, InvalidArgument, MeshError, StoreUnavailable, Unimplemented
from recallmesh.core.event import EventKind
from recallmesh.v1 import bank_service_pb2

KINDS = {"Recall": 30, "RecallStream": 30, "Retain": 120, "RetainBulk": 3600, "ImportBank": 3600, "WatchEvents": 3600}

NOBODYS = grpc.ssl_channel_credentials()
"""Speaks TLS, which the servers here do not."""


@dataclass
class Ear(grpc.GenericRpcHandler):
    """Hears what each call carries, and offers nothing but banks, each after some calls in vain."""

    vain: int = 0
    heard: dict[str, list] = field(default_factory=dict)

    def service(self, call):
        method = call.method.rpartition("/")[2]
        if "recallmesh" not in call.method:
            return None

        async def answer(_, context):
            told = dict(context.invocation_metadata())
            self.heard.setdefault(method, []).append(
                (told.get("authorization"), told.get("x-recallmesh-tenant"), context.time_remaining())
            )
            if method != "GetBank":
                await context.abort(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")
            if len(self.heard[method]) <= self.vain:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "not yet")
            return bank_service_pb2.GetBankResponse().SerializeToString()

        async def stream(requests, context):
            await answer(requests, context)
            yield b""

        return {
            "Retain": grpc.unary_unary_rpc_method_handler(answer),
            "RecallStream": grpc.unary_stream_rpc_method_handler(stream),
            "WatchEvents": grpc.unary_stream_rpc_method_handler(stream),
            "RetainBulk": grpc.stream_stream_rpc_method_handler(stream),
            "ImportBank": grpc.stream_unary_rpc_method_handler(answer),
        }.get(method, grpc.unary_unary_rpc_method_handler(answer))


@asynccontextmanager
async def open_ear(vain=0, credentials=None):
    server, ear = grpc.aio.server(), Ear(vain)
    server.add_generic_rpc_handlers((ear,))
    listen = "127.0.0.1:0"
    port = server.add_secure_port(listen, credentials) if credentials else server.add_insecure_port(listen)
    await server.start()
    yield ear, f"127.0.0.1:{port}"
    await server.stop(None)


async def pieces():
    yield b"x"


def works(mesh):
    bank = mesh.bank("b")
    return (
        bank.recall("q"),
        anext(bank.recall_stream("q")),
        bank.retain("x"),
        bank.load(["x"]),
        mesh.admin.import_bank(bank.ref, pieces()),
        anext(aiter(mesh.admin.watch_events(bank.ref, (EventKind.RETAIN_COMPLETED,)))),
    )


async def test_every_kind_of_call_brings_the_key_the_tenant_and_a_deadline():
    async with open_ear() as (ear, address), open_client(address, key="s3cret", tenant="acme") as mesh:
        for work in works(mesh):
            with pytest.raises(Unimplemented, match="does not offer"):
                await work
        assert {method: [told[:2] for told in calls] for method, calls in ear.heard.items()} == {
            method: [("Bearer s3cret", "acme")] for method in KINDS
        }
        # gRPC rounds long timeouts up a little.
        assert {m: pytest.approx(calls[0][2], rel=0.02) for m, calls in ear.heard.items()} == KINDS


async def test_timeouts_can_be_set_and_a_deadline_in_hand_shortens_them():
    timeouts = Timeouts(recall_s=7, retain_s=8, admin_s=9, stream_s=10)
    async with open_ear() as (ear, address), open_client(address, timeouts=timeouts) as mesh:
        await mesh.admin.get_bank(mesh.bank("b").ref)
        with within(5):
            await mesh.admin.get_bank(mesh.bank("b").ref)
            with pytest.raises(MeshError):
                await mesh.bank("b").load(["x"])
        assert 8 < ear.heard["GetBank"][0][2] <= 9
        assert 4 < ear.heard["GetBank"][1][2] <= 5
        assert 4 < ear.heard["RetainBulk"][0][2] <= 5
        with pytest.raises(ArmTimeout), within(0):
            await mesh.admin.get_bank(mesh.bank("b").ref)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e10])
def test_what_is_no_timeout_is_refused_by_its_name(seconds):
    with pytest.raises(InvalidArgument, match=r"timeouts\.retain_s: must be greater than 0"):
        Timeouts(retain_s=seconds)


@pytest.mark.parametrize("tenant", ["\ud800", "a\nb", "ü"])
async def test_a_tenant_that_cannot_be_sent_is_refused(tenant):
    with pytest.raises(InvalidArgument, match="tenant: must be printable ASCII"):
        async with open_client("127.0.0.1:1", tenant=tenant):
            pass


async def test_a_client_that_is_closed_says_so():
    async with open_client("127.0.0.1:1") as mesh:
        pass
    for work in (mesh.bank("b").recall("q"), mesh.bank("b").load(["x"]), anext(mesh.bank("b").recall_stream("q"))):
        with pytest.raises(RuntimeError, match="the client is closed"):
            await work


async def test_two_clients_have_each_their_own_key_and_one_in_hand_goes_before_it():
    async with open_ear() as (ear, address), open_client(address, key="one") as one, open_client(address) as none:
        await asyncio.gather(*(mesh.admin.get_bank(mesh.bank("b").ref) for mesh in (one, none)))
        with bearing("nearer"):
            await one.admin.get_bank(one.bank("b").ref)
        said = [told[0] for told in ear.heard["GetBank"]]
        assert sorted(said[:2], key=str) == ["Bearer one", None]
        assert said[2:] == ["Bearer nearer"]


async def test_a_call_that_may_be_repeated_is_made_again():
    async with open_ear(vain=2) as (ear, address), open_client(address) as mesh:
        await mesh.admin.get_bank(mesh.bank("b").ref)
        assert len(ear.heard["GetBank"]) == 3


async def test_a_channel_is_secured_by_the_credentials_that_are_given():
    # Of gRPC's kinds of credentials the one that needs no certificates.
    there, here = grpc.local_server_credentials(), grpc.local_channel_credentials()
    async with open_ear(credentials=there) as (ear, address), open_client(address, key="k", credentials=here) as mesh:
        await mesh.admin.get_bank(mesh.bank("b").ref)
        assert ear.heard["GetBank"][0][0] == "Bearer k"
    async with open_ear() as (ear, address), open_client(address, key="k", credentials=NOBODYS) as mesh:
        with pytest.raises(StoreUnavailable):
            await mesh.admin.get_bank(mesh.bank("b").ref)
        assert ear.heard == {}


async def test_a_mesh_that_is_not_there_is_said_to_be_away_at_once():
    async with asyncio.timeout(20), open_client("127.0.0.1:1") as mesh:
        with pytest.raises(StoreUnavailable, match="does not answer"):
            await mesh.bank("b").recall("q")


@pytest.mark.parametrize("address", ["", "localhost", "http://127.0.0.1:7070", "127.0.0.1:x", ":7070", "a:99999"])
async def test_an_address_that_names_no_port_is_refused_by_name(address):
    with pytest.raises(InvalidArgument, match=r"^address: .*no host:port"):
        async with open_client(address):
            pass


async def test_a_key_that_no_header_takes_is_refused_without_telling_it():
    with pytest.raises(InvalidArgument, match=r"^key: ") as caught:
        async with open_client("127.0.0.1:7070", key="a key"):
            pass
    assert "a key" not in str(caught.value)
