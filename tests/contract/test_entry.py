# ruff: noqa: ARG002, N802, ASYNC110 - fakes keep their port's names; what is waited for is on the other side of a wire
"""Who calls is asked before anything else, at every method that the protos have, and each has its right."""

import asyncio

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from identity_bed import METHODS, SERVICES, Known, bearer, call, open_guarded, refusal

from recallmesh.core.errors import Forbidden, StoreUnavailable, Unauthenticated, Unimplemented
from recallmesh.core.principal import CALLERS_RIGHTS, Principal, Right, current_principal
from recallmesh.rpc.channel import PUBLIC
from recallmesh.rpc.entry import Entry
from recallmesh.rpc.hosted import Hosted
from recallmesh.rpc.request import tenant_of
from recallmesh.rpc.right import RIGHTS, TABLE
from recallmesh.v1 import bank_service_pb2 as pb
from recallmesh.v1 import bank_service_pb2_grpc

ASKED = "/recallmesh.v1.BankService/GetBank"
WATCH = "/recallmesh.v1.BankService/WatchEvents"
IMPORT = "/recallmesh.v1.BankService/ImportBank"


def test_every_method_of_the_protos_has_one_right_and_no_other_is_in_the_table():
    listed = [f"/recallmesh.v1.{name}/{one}" for name in TABLE for methods in TABLE[name].values() for one in methods]
    assert sorted(listed) == sorted(METHODS)
    assert set(RIGHTS) == set(METHODS)


def test_what_is_the_meshs_own_asks_for_its_right_and_what_is_public_for_a_callers():
    for path, right in RIGHTS.items():
        public = path.split("/")[1].rpartition(".")[2] in PUBLIC
        assert (right in CALLERS_RIGHTS) is public, path


async def test_no_method_is_reached_without_a_credential_or_with_a_wrong_one():
    bad = ([], [bearer("forged")], [("authorization", "Basic recall")], [bearer("recall"), bearer("recall")])
    async with open_guarded() as channel:
        for path in METHODS:
            for metadata in bad:
                assert isinstance(await refusal(channel, path, *metadata), Unauthenticated), (path, metadata)


async def test_each_method_is_reached_with_its_own_right_and_with_no_other():
    async with open_guarded() as channel:
        for path, wanted in RIGHTS.items():
            for right in Right:
                error = await refusal(channel, path, bearer(right.value))
                # Nothing is behind these methods: who is let in learns that.
                assert type(error) is (Unimplemented if right is wanted else Forbidden), (path, right)


async def test_what_is_refused_says_what_is_missing_and_nothing_of_the_credential():
    async with open_guarded() as channel:
        forbidden = await refusal(channel, ASKED, bearer("retain"))
        unknown = await refusal(channel, ASKED, bearer("s3cret-s3cret"))
    assert (forbidden.message, forbidden.metadata["right"]) == (
        "the credential does not have the right 'recall'",
        "recall",
    )
    assert "s3cret" not in repr((unknown.message, unknown.metadata))


async def test_a_probe_needs_no_credential_and_reflection_does():
    async with open_guarded(reflection=True) as channel:
        answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        assert answer.status
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        asked = reflection_pb2.ServerReflectionRequest(list_services="")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await anext(aiter(stub.ServerReflectionInfo(iter([asked]))))
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        told = await anext(aiter(stub.ServerReflectionInfo(iter([asked]), metadata=[bearer("recall")])))
        assert {f"recallmesh.v1.{name}" for name in SERVICES} <= {
            one.name for one in told.list_services_response.service
        }


async def test_what_is_not_there_is_told_to_those_who_are_known_alone():
    async with open_guarded() as channel:
        for path in ("/recallmesh.v1.BankService/Steal", "/other.Service/Do"):
            assert isinstance(await refusal(channel, path), Unauthenticated)
            assert isinstance(await refusal(channel, path, bearer("recall")), Unimplemented)


async def test_what_cannot_be_told_now_is_said_so_and_lets_nobody_in():
    known = Known({"recall": StoreUnavailable("the keys of the issuer cannot be had now")})
    async with open_guarded(known=known) as channel:
        assert isinstance(await refusal(channel, ASKED, bearer("recall")), StoreUnavailable)


async def test_a_caller_that_names_another_tenant_is_refused_at_every_public_method():
    async with open_guarded() as channel:
        for path, right in RIGHTS.items():
            error = await refusal(channel, path, bearer(right.value), ("x-recallmesh-tenant", "umbrella"))
            if right is not Right.MESH:
                assert type(error) is Forbidden, path
                assert "umbrella" not in error.message
                assert "acme" not in error.message


class Told(bank_service_pb2_grpc.BankServiceServicer):
    """Keeps whom each call was for, and streams until it is ended."""

    def __init__(self):
        self.tenants = []
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def GetBank(self, request, context):
        self.tenants.append(tenant_of(context))
        return pb.GetBankResponse()

    async def WatchEvents(self, request, context):
        self.begun.set()
        try:
            yield pb.WatchEventsResponse()
            await asyncio.Event().wait()
        finally:
            self.ended.set()

    async def ImportBank(self, requests, context):
        self.begun.set()
        try:
            async for _ in requests:
                pass
        finally:
            self.ended.set()
        return pb.ImportBankResponse()

    @property
    def hosted(self):
        return Hosted(
            ("recallmesh.v1.BankService",),
            lambda server: bank_service_pb2_grpc.add_BankServiceServicer_to_server(self, server),
        )


async def test_the_tenant_is_the_credentials_and_a_process_of_the_mesh_names_whom_it_works_for():
    told, every = Told(), frozenset(Right)
    known = Known({"a": Principal("a", "acme", every), "mesh": Principal("mesh", None, every)})
    async with open_guarded(told.hosted, known=known) as channel:
        for metadata in (
            [bearer("a")],
            [bearer("a"), ("x-recallmesh-tenant", "acme")],
            [bearer("mesh")],
            [bearer("mesh"), ("x-recallmesh-tenant", "umbrella")],
        ):
            assert await call(channel, ASKED, *metadata) == [b""]
        error = await refusal(channel, ASKED, bearer("mesh"), ("x-recallmesh-tenant", "a b"))
    assert told.tenants == ["acme", "acme", "default", "umbrella"]
    assert isinstance(error, Forbidden)


@pytest.mark.parametrize(
    ("path", "becomes", "error"),
    [
        (WATCH, None, Unauthenticated),
        (IMPORT, None, Unauthenticated),
        (WATCH, Principal("w", "acme", frozenset({Right.RETAIN})), Forbidden),
        (WATCH, Principal("w", "umbrella", frozenset(Right)), Forbidden),
        (IMPORT, Principal("w", "acme", frozenset(Right), ("other",)), Forbidden),
    ],
)
async def test_a_stream_ends_when_its_credential_is_good_for_it_no_more(path, becomes, error):
    told, known = Told(), Known({"w": Principal("w", "acme", frozenset(Right))})
    silent = asyncio.Event()

    async def requests():
        yield b""
        await silent.wait()

    async with open_guarded(told.hosted, known=known, asked_every_s=0.05) as channel:
        stream = channel.stream_stream(path)(requests(), metadata=[bearer("w")])
        reading = asyncio.create_task(_all(stream))
        await told.begun.wait()
        # What changes nothing that the stream is about does not end it.
        known.callers["w"] = Principal("renamed", "acme", frozenset(Right))
        before = known.asked
        async with asyncio.timeout(30):
            while known.asked < before + 3:
                await asyncio.sleep(0.02)
        assert not reading.done()
        if becomes is None:
            del known.callers["w"]
        else:
            known.callers["w"] = becomes
        async with asyncio.timeout(30):
            failed = await reading
            await told.ended.wait()
    assert failed.code().name == error.code


async def _all(stream):
    try:
        async for _ in stream:
            pass
    except grpc.aio.AioRpcError as error:
        return error
    return None


async def test_a_stream_goes_on_while_it_cannot_be_told_whose_credential_it_is():
    told, known = Told(), Known({"w": Principal("w", "acme", frozenset(Right))})
    async with open_guarded(told.hosted, known=known, asked_every_s=0.02) as channel:
        stream = channel.unary_stream(WATCH)(b"", metadata=[bearer("w")])
        assert await stream.read() == b""
        known.callers["w"] = StoreUnavailable("away")
        before = known.asked
        async with asyncio.timeout(30):
            while known.asked < before + 3:
                await asyncio.sleep(0.02)
        assert not stream.done()
        stream.cancel()


async def test_a_flood_of_callers_that_are_refused_is_none_of_log_lines(capsys):
    now = [0.0]
    entry = Entry(Known(), now=lambda: now[0])
    for _ in range(1000):
        with pytest.raises(Unauthenticated):
            await entry.admitted(ASKED, Right.RECALL, [bearer("forged-forged")])
    now[0] = 6.0
    with pytest.raises(Forbidden):
        await entry.admitted(ASKED, Right.RECALL, [bearer("retain")])
    said = capsys.readouterr().out
    assert said.count("caller refused") == 2
    assert "refused=1000" in said
    assert "caller=retain" in said
    assert "forged" not in said


async def test_without_authentication_nobody_is_asked():
    assert (await Entry().admitted(ASKED, Right.ADMIN, [bearer("anything")])).tenant == "default"
    assert current_principal().rights == frozenset(Right)


async def test_a_call_that_administers_is_told_to_the_log_with_its_caller(capsys):
    async with open_guarded() as channel:
        await call(channel, "/recallmesh.v1.BankService/DeleteBank", bearer("admin"))
        await call(channel, ASKED, bearer("recall"))
    lines = [line for line in capsys.readouterr().out.splitlines() if "call ended" in line]
    assert len(lines) == 2
    assert ["[info" in line for line in lines] == [True, False]
    assert "caller=admin" in lines[0]
