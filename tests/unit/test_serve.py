"""A process hosts what it is told to, listens where it may, and says what it hosts."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from deployment import SERVING, free_ports, health, until
from grpc_health.v1 import health_pb2

from recallmesh.cli.parser import PARTS, build_parser
from recallmesh.cli.serving import hosted_parts
from recallmesh.core.arm import ArmName, ArmQuery
from recallmesh.core.credential import bearing
from recallmesh.core.errors import InvalidArgument, StoreUnavailable, Unauthenticated
from recallmesh.identity.settings import AuthSettings
from recallmesh.mesh import ALL_PARTS, Part, open_assembly
from recallmesh.rpc.arm import RemoteArm
from recallmesh.rpc.channel import open_channel
from recallmesh.serve import check_listen, connection_age_s, host, host_of, open_serving
from recallmesh.settings import ServeSettings, Settings

NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVE = {"listen": "127.0.0.1:0", "drain_s": 0}


def at(serving):
    return f"127.0.0.1:{serving.server.port}"


@pytest.mark.parametrize(
    ("listen", "seconds"),
    [
        ("127.0.0.1:0", 3600.0),
        ("localhost:7070", 3600.0),
        ("[::1]:0", 3600.0),
        ("127.0.0.11:7070", 3.0),
        ("0.0.0.0:7070", 3.0),
        ("10.1.2.3:7070", 3.0),
    ],
)
def test_connections_are_short_where_a_process_may_join_behind_a_name(listen, seconds):
    assert connection_age_s(ServeSettings(listen=listen), encrypted=False) == seconds
    assert connection_age_s(ServeSettings(listen=listen), encrypted=True) == 3.0
    assert connection_age_s(ServeSettings(listen=listen, connection_age_s=7.0), encrypted=False) == 7.0


@pytest.mark.parametrize("listen", ["127.0.0.1:7070", "localhost:0", "[::1]:7070", "127.8.8.8:1"])
def test_loopback_may_be_listened_on(listen):
    check_listen(listen)


@pytest.mark.parametrize("listen", ["0.0.0.0:7070", "[::]:7070", "192.168.1.7:7070", "example.org:7070", "*:7070"])
def test_what_others_could_reach_is_refused_as_long_as_there_is_no_authentication(listen):
    with pytest.raises(InvalidArgument, match="no authentication"):
        check_listen(listen)


@pytest.mark.parametrize("listen", ["0.0.0.0:7070", "[::]:7070", "example.org:7070"])
def test_what_others_could_reach_may_be_listened_on_where_callers_are_asked(listen):
    check_listen(listen, exposed=True)


async def test_a_process_that_others_can_reach_asks_them_who_they_are(tmp_path):
    settings = Settings(
        data=tmp_path,
        serve={"listen": "0.0.0.0:0", "drain_s": 0},
        auth={"mode": "on", "mesh_key": "m" * 32},
    )
    with pytest.raises(InvalidArgument, match="no authentication"):
        async with open_serving(settings.model_copy(update={"auth": AuthSettings()}), frozenset({Part.KEYWORD})):
            pass
    async with open_serving(settings, frozenset({Part.KEYWORD})) as serving, open_channel(at(serving)) as channel:
        await serving.building
        arm = RemoteArm(ArmName.KEYWORD, channel)
        await arm.check()
        with pytest.raises(Unauthenticated):
            await arm.search(ArmQuery("u1", "q"))
        with bearing("m" * 32):
            assert await arm.search(ArmQuery("u1", "q")) == ()


async def test_a_certificate_of_callers_is_enough_for_what_is_the_meshs_own_and_not_for_what_is_public(tmp_path):
    absent = {"certificate": tmp_path / "c", "key": tmp_path / "k", "client_ca": tmp_path / "ca"}
    settings = Settings(data=tmp_path, serve={"listen": "0.0.0.0:0", "drain_s": 0}, tls=absent)
    for part, refused in ((Part.KEYWORD, "cannot be read|No such file"), (Part.BANK, "no authentication")):
        with pytest.raises(InvalidArgument, match=refused):
            async with open_serving(settings, frozenset({part})):
                pass


@pytest.mark.parametrize("listen", ["7070", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http", ":7070", ""])
def test_what_is_no_address_is_refused(listen):
    with pytest.raises(InvalidArgument, match="no host:port"):
        check_listen(listen)


def test_the_host_is_what_stands_before_the_last_colon():
    assert (host_of("127.0.0.1:7070"), host_of("[::1]:7070")) == ("127.0.0.1", "[::1]")


def placed(**addresses):
    return Settings(**{part: {"address": address} for part, address in addresses.items()})


def test_all_are_those_without_an_address_elsewhere():
    assert hosted_parts(["all"], placed()) == ALL_PARTS
    assert hosted_parts(["all"], placed(keyword="k:1", graph="g:1")) == ALL_PARTS - {Part.KEYWORD, Part.GRAPH}


def test_what_is_named_runs_here_whatever_its_address_says():
    assert hosted_parts(["keyword"], placed(keyword="k:1")) == {Part.KEYWORD}
    assert hosted_parts(["all", "keyword"], placed(keyword="k:1")) == ALL_PARTS
    assert hosted_parts(["recall", "bank"], placed()) == {Part.RECALL, Part.BANK}


def test_the_command_line_knows_every_part():
    assert set(PARTS) == {part.value for part in Part}
    words = build_parser().parse_args(["serve", *PARTS])
    assert hosted_parts(words.parts, placed()) == ALL_PARTS


async def test_a_process_offers_the_services_of_its_parts_and_no_others(tmp_path):
    async with open_assembly(Settings(data=tmp_path), frozenset({Part.KEYWORD, Part.BANK})) as assembly:
        hosted = await host(assembly, frozenset({Part.KEYWORD, Part.BANK}))
    services = {service.rpartition(".")[2] for one in hosted for service in one.services}
    assert services == {
        "ArmService",
        "BankService",
        "DocumentService",
        "MemoryService",
        "EntityService",
        "OperationService",
    }
    assert "recallmesh.v1.ArmService/keyword" in {name for one in hosted for name in one.checks}


async def test_a_reranker_that_is_switched_off_is_not_offered(tmp_path):
    settings = Settings(data=tmp_path, reranker={"backend": "none"})
    async with open_assembly(settings, frozenset({Part.RERANKER})) as assembly:
        assert await host(assembly, frozenset({Part.RERANKER})) == []


async def test_a_process_that_waits_for_another_lives_and_is_not_ready(tmp_path):
    settings = Settings(
        data=tmp_path,
        serve=SERVE,
        embedder={"address": "127.0.0.1:1"},
        semantic={"address": "127.0.0.1:1"},
    )
    async with open_serving(settings, frozenset({Part.GRAPH})) as serving, open_channel(at(serving)) as channel:
        with pytest.raises(StoreUnavailable, match=r"starting|does not answer"):
            await RemoteArm(ArmName.GRAPH, channel).search(ArmQuery("u1", "q"))
        with pytest.raises(StoreUnavailable, match="not hosted"):
            await RemoteArm(ArmName.GRAPH, channel).check()
        assert await health(at(serving)) == NOT_SERVING
        assert not serving.building.done()
    assert serving.building.cancelled()


async def test_a_store_that_another_process_has_makes_a_process_wait_and_live(tmp_path):
    settings = Settings(data=tmp_path, serve=SERVE)
    keyword = frozenset({Part.KEYWORD})
    async with open_serving(settings, keyword) as first:
        await first.building
        assert await health(at(first)) == SERVING
        async with open_serving(settings, keyword) as second, open_channel(at(second)) as channel:
            arm = RemoteArm(ArmName.KEYWORD, channel)

            async def refused():
                with pytest.raises(StoreUnavailable) as caught:
                    await arm.search(ArmQuery("u1", "q"))
                return "keyword store" in caught.value.message

            await until(refused)
            assert await health(at(second)) == NOT_SERVING
            assert not second.building.done()


async def test_a_process_that_waited_for_a_store_serves_once_it_has_it(tmp_path):
    settings = Settings(data=tmp_path, serve=SERVE)
    keyword = frozenset({Part.KEYWORD})
    async with AsyncExitStack() as stack:
        async with open_serving(settings, keyword) as first:
            await first.building
            second = await stack.enter_async_context(open_serving(settings, keyword))
        async with asyncio.timeout(20):
            await second.building
        assert await health(at(second)) == SERVING
        async with open_channel(at(second)) as channel:
            assert await RemoteArm(ArmName.KEYWORD, channel).search(ArmQuery("u1", "q")) == ()


@pytest.mark.parametrize("url", ["nonsense", "postgresql+pg8000://someone:secret@db/mesh", "oracle+x://"])
async def test_a_ledger_that_cannot_be_ends_the_process_by_its_fault(tmp_path, url):
    settings = Settings(data=tmp_path, serve=SERVE, ledger={"url": url})
    async with open_serving(settings, frozenset({Part.BANK})) as serving:
        with pytest.raises(InvalidArgument, match=r"ledger\.url") as caught:
            await serving.building
    assert "secret" not in caught.value.message


async def test_metrics_are_offered_on_a_port_of_their_own(tmp_path):
    (port,) = free_ports(1)
    settings = Settings(data=tmp_path, serve={"listen": "127.0.0.1:0", "metrics_port": port, "drain_s": 0})
    async with open_serving(settings, frozenset({Part.KEYWORD})):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
        told = await reader.read()
        writer.close()
        await writer.wait_closed()
    for line in (
        b"recallmesh_rpc_seconds",
        b'recallmesh_rpc_in_flight{kind="call"} 0.0',
        b'recallmesh_rpc_in_flight_limit{kind="call"} 64.0',
        b"recallmesh_unready_services",
        b"process_resident_memory_bytes",
    ):
        assert line in told
