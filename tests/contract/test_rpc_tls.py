# ruff: noqa: ARG002 - fakes keep their port's names
"""TLS over the wire: who is let in, what is said to who is not, and certificates that change under load."""

import asyncio
import socket
import ssl
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from certificates import Authority, put, sides
from cryptography import x509
from deployment import SERVING, health, until
from structlog.testing import capture_logs

from recallmesh.client import open_client
from recallmesh.core.arm import ArmName, ArmQuery, Hit
from recallmesh.core.errors import InvalidArgument, StoreUnavailable, Unimplemented
from recallmesh.core.tls import PUBLIC, Tls
from recallmesh.rpc.arm import RemoteArm, host_arms
from recallmesh.rpc.channel import open_channel
from recallmesh.rpc.server import open_server
from recallmesh.rpc.tls import LiveTls, client_context, open_tls

QUERY = ArmQuery("u1", "q")
FOUND = (Hit("m1", 1.0),)


class SlowArm:
    """Answers once it may, and counts what it was asked."""

    def __init__(self):
        self.asked = 0
        self.free = asyncio.Event()
        self.free.set()

    async def search(self, query):
        self.asked += 1
        await self.free.wait()
        return FOUND

    async def check(self):
        pass


@asynccontextmanager
async def served(tls, arm=None, **more):
    """Serve an arm with this side's certificate; gives its address."""
    async with (
        open_tls(tls) as live,
        open_server(
            "127.0.0.1:0",
            [host_arms({"keyword": arm or SlowArm()})],
            credentials=live.server_credentials(),
            drain_s=0,
            grace_s=5,
            **more,
        ) as running,
    ):
        yield f"127.0.0.1:{running.port}"


async def ask(address, tls):
    """Ask the arm once, as a client with these files."""
    async with open_tls(tls) as live, open_channel(address, tls=live) as channel:
        return await RemoteArm(ArmName.KEYWORD, channel).search(QUERY)


def serial_at(address, tls, version=ssl.TLSVersion.TLSv1_3):
    """Return the serial number of the certificate that is served there to a new connection."""
    context = ssl.create_default_context(cafile=str(tls.ca))
    if tls.certificate:
        context.load_cert_chain(tls.certificate, tls.key)
    context.maximum_version = version
    context.set_alpn_protocols(["h2"])
    host, port = address.split(":")
    with (
        socket.create_connection((host, int(port)), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as told,
    ):
        return x509.load_der_x509_certificate(told.getpeercert(binary_form=True)).serial_number


async def test_two_who_know_each_other_speak(tmp_path):
    made = sides(tmp_path)
    async with served(made.server) as address:
        assert await ask(address, made.client) == FOUND


async def test_one_who_needs_no_certificate_is_let_in_where_none_is_asked_for(tmp_path):
    made = sides(tmp_path, mutual=False)
    async with served(made.server) as address:
        assert await ask(address, made.client) == FOUND


@pytest.mark.parametrize("who", ["no certificate", "another authority's", "expired"])
async def test_who_has_no_good_certificate_is_refused(tmp_path, who):
    made = sides(tmp_path)
    if who == "no certificate":
        caller = Tls(made.client.ca)
    else:
        signing, days = (Authority("other"), 90) if who == "another authority's" else (made.authority, -1)
        caller = Tls(made.client.ca, *signing.sign("who", days).write(tmp_path, "who"))
    arm = SlowArm()
    async with served(made.server, arm) as address:
        with pytest.raises(StoreUnavailable, match="as one does that speaks TLS alone, or asks for a certificate"):
            await ask(address, caller)
    assert arm.asked == 0


async def test_a_server_that_is_not_believed_is_told_in_words(tmp_path):
    made = sides(tmp_path)
    other = Authority("other").write(tmp_path, "other")
    async with served(made.server) as address:
        with pytest.raises(StoreUnavailable, match="an authority that is not known here: is the CA the right one"):
            await ask(address, replace(made.client, ca=other))
        with pytest.raises(StoreUnavailable, match="not known here"):
            await ask(address, replace(made.client, ca=PUBLIC))
        with pytest.raises(StoreUnavailable, match="for another name than the one it is called by"):
            await ask(address, replace(made.client, server_name="mesh.example"))
        assert await ask(address, replace(made.client, server_name="localhost")) == FOUND
    over = made.authority.sign("server", days=-1).write(tmp_path, "over")
    async with served(Tls(made.server.ca, *over)) as address:
        with pytest.raises(StoreUnavailable, match="a certificate that has expired"):
            await ask(address, made.client)


async def test_where_one_side_speaks_no_tls_it_is_said(tmp_path):
    made = sides(tmp_path, mutual=False)
    async with served(made.server) as address, open_channel(address) as plain:
        with pytest.raises(StoreUnavailable, match="as one does that speaks TLS alone"):
            await RemoteArm(ArmName.KEYWORD, plain).search(QUERY)
    async with open_server("127.0.0.1:0", [host_arms({"keyword": SlowArm()})], drain_s=0) as running:
        with pytest.raises(StoreUnavailable, match="speaks no TLS"):
            await ask(f"127.0.0.1:{running.port}", made.client)


async def test_nothing_older_than_tls_1_2_is_spoken(tmp_path):
    made = sides(tmp_path, mutual=False)

    def old(address):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(str(made.client.ca))
        context.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1"):
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.warns(DeprecationWarning, match="TLSv1"):
            context.minimum_version = ssl.TLSVersion.TLSv1
        host, port = address.split(":")
        with socket.create_connection((host, int(port)), timeout=5) as plain, suppress(ConnectionError):
            context.wrap_socket(plain, server_hostname="localhost")

    async with served(made.server) as address:
        await asyncio.to_thread(serial_at, address, made.client, ssl.TLSVersion.TLSv1_2)
        with pytest.raises(ssl.SSLError):
            await asyncio.to_thread(old, address)


async def test_the_client_takes_the_files(tmp_path):
    made = sides(tmp_path)
    async with served(made.server) as address, open_client(address, tls=made.client) as mesh:
        with pytest.raises(Unimplemented, match="does not offer the call"):
            await mesh.bank("diary").recall("who?")
    with pytest.raises(InvalidArgument, match=r"tls\.ca: .*nowhere\.pem cannot be read: No such file"):
        async with open_client("127.0.0.1:1", tls=Tls(tmp_path / "nowhere.pem")):
            pass


async def test_certificates_that_change_under_load_cost_no_call_and_are_served_within_seconds(tmp_path):
    made = sides(tmp_path)
    arm, failed, answered, over = SlowArm(), [], 0, asyncio.Event()
    async with (
        served(made.server, arm, connection_age_s=0.3) as address,
        open_tls(made.client) as live,
        open_channel(address, tls=live) as channel,
    ):
        remote = RemoteArm(ArmName.KEYWORD, channel)

        async def load():
            nonlocal answered
            while not over.is_set():
                try:
                    assert await remote.search(QUERY) == FOUND
                    answered += 1
                except StoreUnavailable as error:
                    failed.append(error)
                await asyncio.sleep(0.002)

        async with asyncio.TaskGroup() as loading:
            for _ in range(4):
                loading.create_task(load())
            for _ in range(3):
                fresh = made.authority.sign("server")
                fresh.write(tmp_path, "server")
                made.authority.sign("client").write(tmp_path, "client")
                turn = live.turn

                async def served_and_taken(fresh=fresh, turn=turn):
                    seen = await asyncio.to_thread(serial_at, address, made.client)
                    return seen == fresh.serial and live.turn > turn

                await until(served_and_taken, seconds=5)
            over.set()
    assert failed == []
    assert answered > 100


async def test_a_call_in_hand_ends_where_it_began_while_others_go_by_the_new_certificate(tmp_path):
    made = sides(tmp_path)
    arm = SlowArm()
    arm.free.clear()
    async with (
        served(made.server, arm) as address,
        open_tls(made.client) as live,
        open_channel(address, tls=live) as channel,
    ):
        remote = RemoteArm(ArmName.KEYWORD, channel)
        held = asyncio.create_task(remote.search(QUERY))
        await until(lambda: asyncio.sleep(0, arm.asked == 1))
        before = channel.line
        made.authority.sign("client").write(tmp_path, "client")
        await until(lambda: asyncio.sleep(0, channel.line is not before), seconds=5)
        assert not held.done()
        arm.free.set()
        assert await remote.search(QUERY) == FOUND
        assert await held == FOUND
        # Nobody is on the old line any more: it is closed.
        await until(lambda: asyncio.sleep(0, not channel._draining), seconds=5)


async def test_an_authority_that_changes_lets_in_whose_certificate_is_of_it(tmp_path):
    made = sides(tmp_path)
    other = Authority("other")
    async with served(made.server) as address:
        with pytest.raises(StoreUnavailable):
            await ask(address, Tls(made.client.ca, *other.sign("who").write(tmp_path, "who")))
        both = made.authority.certificate + other.certificate
        put(Path(made.server.ca), both)

        async def let_in():
            try:
                return await ask(address, Tls(made.client.ca, tmp_path / "who.pem", tmp_path / "who-key.pem"))
            except StoreUnavailable:
                return ()

        assert await until(let_in, seconds=5) == FOUND


async def test_half_of_a_new_pair_leaves_the_old_one_in_force_until_the_other_half_comes(tmp_path):
    made = sides(tmp_path, mutual=False)
    old = await asyncio.to_thread(lambda: x509.load_pem_x509_certificate(made.server.certificate.read_bytes()))
    fresh = made.authority.sign("server")
    with capture_logs() as said:
        async with served(made.server) as address:
            put(made.server.certificate, fresh.certificate)
            await until(lambda: asyncio.sleep(0, [one for one in said if one["event"] == "certificate not taken"]))
            assert await asyncio.to_thread(serial_at, address, made.client) == old.serial_number
            put(made.server.key, fresh.key)

            async def taken():
                return await asyncio.to_thread(serial_at, address, made.client) == fresh.serial

            await until(taken, seconds=5)
    (warned,) = [one for one in said if one["event"] == "certificate not taken"]
    assert warned["log_level"] == "warning"
    assert "is not the key of the certificate in" in warned["why"]


async def test_health_alone_answers_without_tls_where_it_is_told_to(tmp_path):
    made = sides(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        probed = f"127.0.0.1:{free.getsockname()[1]}"
    async with served(made.server, health_listen=probed) as address:

        async def ready():
            return await health(probed) == SERVING

        await until(ready)
        assert await health(probed, "recallmesh.v1.ArmService/keyword") == SERVING
        assert await health(address) is None
        async with open_channel(probed) as channel:
            with pytest.raises(Unimplemented, match="does not offer the call"):
                await RemoteArm(ArmName.KEYWORD, channel).search(QUERY)


async def test_who_is_on_the_machine_itself_goes_past_tls_by_a_path_of_its_own(tmp_path):
    made = sides(tmp_path)
    async with served(made.server, beside=f"unix:{tmp_path}/own"), open_channel(f"unix:{tmp_path}/own") as channel:
        assert await RemoteArm(ArmName.KEYWORD, channel).search(QUERY) == FOUND


async def test_an_http_server_presents_and_asks_for_what_is_in_force_at_each_handshake(tmp_path):
    made = sides(tmp_path)
    live = LiveTls(made.server)

    async def answer(reader, writer):
        writer.write(await reader.read(1))
        writer.close()

    async def spoken(tls, name="localhost"):
        context = client_context(tls)
        context.check_hostname = bool(name)
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=context, server_hostname=name, ssl_handshake_timeout=5
        )
        try:
            writer.write(b"x")
            # TLS 1.3 tells a client that it is not let in with the first answer.
            if await reader.read(1) != b"x":
                raise ConnectionResetError("it hung up")
            found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
            return x509.load_der_x509_certificate(found).serial_number
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=live.http_context()) as server:
        port = server.sockets[0].getsockname()[1]
        before = await spoken(made.client)
        with pytest.raises(OSError, match=r"(?i)certificate|reset|hung up"):
            await spoken(Tls(made.client.ca))
        fresh, other = made.authority.sign("server"), Authority("other")
        fresh.write(tmp_path, "server")
        known = Tls(made.client.ca, *other.sign("known").write(tmp_path, "known"))
        with pytest.raises(OSError, match=r"(?i)unknown|reset|hung up"):
            await spoken(known)
        put(tmp_path / "others.pem", made.authority.certificate)
        put(made.server.ca, other.certificate)
        believing = replace(known, ca=tmp_path / "others.pem")
        assert await asyncio.to_thread(live.look)
        assert before != await spoken(believing) == fresh.serial
        # Also to who does not say which name is wanted.
        assert await spoken(believing, "") == fresh.serial
        with pytest.raises(OSError, match=r"(?i)unknown|reset|hung up"):
            await spoken(replace(made.client, ca=tmp_path / "others.pem"))
