"""``recallmesh health``: what a container's health check is told."""

import asyncio

import pytest
from deployment import free_ports
from door_bed import echo, open_bed

from recallmesh.cli import health
from recallmesh.cli.entry import main
from recallmesh.core.errors import InvalidArgument, StoreUnavailable
from recallmesh.rpc.server import open_server
from recallmesh.settings import ServeSettings

NEVER_READY = {"drain_s": 0.0, "grace_s": 0.5}
ANSWERS_S = 5.0


async def ready(address, *, live=False):
    """Ask until it is ready: a server says so a moment after it listens."""
    async with asyncio.timeout(ANSWERS_S):
        while True:
            try:
                return await health.ask_server(address, live=live, timeout_s=ANSWERS_S)
            except StoreUnavailable:
                await asyncio.sleep(0.02)


async def test_a_server_is_ready_when_all_that_it_hosts_is():
    async with open_server("127.0.0.1:0", (), **NEVER_READY) as running:
        await ready(f"127.0.0.1:{running.port}")


async def test_a_server_that_still_builds_lives_and_is_not_ready():
    async with open_server("127.0.0.1:0", None, **NEVER_READY) as running:
        address = f"127.0.0.1:{running.port}"
        await health.ask_server(address, live=True, timeout_s=ANSWERS_S)
        with pytest.raises(StoreUnavailable, match=f"{address}: the process is not ready"):
            await health.ask_server(address, live=False, timeout_s=ANSWERS_S)


async def test_a_door_is_asked_by_its_url():
    async with open_bed(echo) as bed:
        url = f"http://{bed.address}"
        await asyncio.to_thread(health.ask_door, url, live=False, timeout_s=ANSWERS_S)
        bed.gateway.ready = StoreUnavailable("the mesh is away")
        await asyncio.to_thread(health.ask_door, f"{url}/", live=True, timeout_s=ANSWERS_S)
        with pytest.raises(StoreUnavailable, match="not ready"):
            await asyncio.to_thread(health.ask_door, url, live=False, timeout_s=ANSWERS_S)


@pytest.mark.parametrize("scheme", ["", "http://"])
def test_where_nobody_answers_the_exit_code_is_1_and_it_is_said_who(scheme, capsys):
    address = f"{scheme}127.0.0.1:{free_ports(1)[0]}"
    assert main(["health", address]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"recallmesh: {address}: ")
    assert "recallmesh health --live" in told.err


@pytest.mark.parametrize(
    "address", ["kitchen", "127.0.0.1:", "ftp://127.0.0.1", "http://", "http://x:door", "http://x:1/y", "127.0.0.1:1/y"]
)
def test_what_is_no_address_is_refused(address, capsys):
    assert main(["health", address]) == 2
    assert f"recallmesh: ADDRESS: {address!r} is no " in capsys.readouterr().err


def test_no_time_to_wait_is_refused(capsys):
    assert main(["health", "127.0.0.1:7070", "--timeout", "0"]) == 2
    assert "--timeout" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("listen", "address"),
    [
        ("127.0.0.1:7070", "127.0.0.1:7070"),
        ("0.0.0.0:7070", "127.0.0.1:7070"),
        ("[::]:7071", "[::1]:7071"),
        ("localhost:7072", "localhost:7072"),
        ("10.1.2.3:7073", "10.1.2.3:7073"),
    ],
)
def test_a_server_of_these_settings_is_reached_on_this_machine(listen, address):
    assert health.own_address(ServeSettings(listen=listen)) == address


def test_a_server_whose_health_has_a_port_of_its_own_is_asked_there():
    assert health.own_address(ServeSettings(listen="0.0.0.0:7070", health_port=7072)) == "127.0.0.1:7072"


def test_a_server_on_any_free_port_has_to_be_named():
    with pytest.raises(InvalidArgument, match="port"):
        health.own_address(ServeSettings(listen="127.0.0.1:0"))
