"""Posts over HTTP: to public addresses alone, without redirects, within their time."""

import asyncio
import shutil
import ssl
import subprocess

import httpcore2
import pytest
from receiver import always, garbage, never, open_receiver
from unit.test_address import PRIVATE

from recallmesh.core.errors import StoreUnavailable
from recallmesh.retain.httpcore2 import PublicBackend, open_httpcore_poster, resolve


class Names:
    """DNS that gives one answer after another, the last for ever."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, _host, _port):
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def post(poster, url, *, timeout_s=5.0):
    return await poster.post(url, {"content-type": "application/json"}, b"{}", timeout_s=timeout_s)


async def test_a_post_arrives_whole_and_its_status_comes_back():
    async with open_receiver(always("202 Accepted")) as receiver, open_httpcore_poster(private=True) as poster:
        assert await post(poster, receiver.url(path="/a?b=c")) == 202
    assert [(one.target, one.body, one.headers["content-type"]) for one in receiver.posts] == [
        ("/a?b=c", b"{}", "application/json")
    ]
    assert receiver.posts[0].headers["host"] == f"127.0.0.1:{receiver.port}"


@pytest.mark.parametrize("kind", sorted(PRIVATE))
async def test_a_name_that_resolves_to_a_private_address_is_never_connected_to(kind):
    async with open_receiver() as receiver, open_httpcore_poster(private=False, resolve=Names(PRIVATE[kind])) as poster:
        with pytest.raises(StoreUnavailable, match="no public address"):
            await post(poster, receiver.url("hook.example"))
    assert receiver.posts == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f000001", "127.1", "[::1]", "0"])
async def test_no_way_to_write_loopback_leads_there(host):
    async with open_receiver() as receiver, open_httpcore_poster(private=False) as poster:
        with pytest.raises(StoreUnavailable, match=r"no public address|cannot be resolved"):
            await post(poster, receiver.url(host))
    assert receiver.posts == []


class Connecting:
    """Notes where a connection would be made."""

    def __init__(self):
        self.to = []

    async def connect_tcp(self, host, *_more):
        self.to.append(host)
        raise httpcore2.ConnectError


async def test_a_name_that_changes_its_answer_is_connected_to_where_it_was_looked_at():
    """DNS rebinding: public when it is looked at, loopback a moment later."""
    names, connecting = Names(["10.0.0.1", "8.8.8.8"], ["127.0.0.1"]), Connecting()
    backend = PublicBackend(names, private=False)
    backend._inner = connecting
    with pytest.raises(httpcore2.ConnectError):
        await backend.connect_tcp("hook.example", 443)
    with pytest.raises(StoreUnavailable, match="no public address"):
        await backend.connect_tcp("hook.example", 443)
    assert (names.asked, connecting.to) == (2, ["8.8.8.8"])


async def test_of_several_addresses_the_next_is_tried_when_one_does_not_answer():
    async with open_receiver() as receiver:
        names = Names(["127.0.0.9", "127.0.0.1"])
        async with open_httpcore_poster(private=True, resolve=names) as poster:
            assert await post(poster, receiver.url("hook.example")) == 204
    assert receiver.posts[0].headers["host"] == f"hook.example:{receiver.port}"


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
async def test_a_redirect_is_not_followed(status):
    async with open_receiver() as other:
        answer = always(status, f"location: {other.url()}")
        async with open_receiver(answer) as receiver, open_httpcore_poster(private=True) as poster:
            assert await post(poster, receiver.url()) == int(status.split()[0])
    assert other.posts == []


async def test_a_slow_answer_is_given_up_in_time():
    async with open_receiver(never) as receiver, open_httpcore_poster(private=True) as poster:
        async with asyncio.timeout(30):
            with pytest.raises(StoreUnavailable, match=r"did not answer within 0.2 s"):
                await post(poster, receiver.url(), timeout_s=0.2)


async def test_what_is_no_answer_is_told_without_our_insides():
    async with open_httpcore_poster(private=True) as poster:
        async with open_receiver(garbage) as receiver:
            with pytest.raises(StoreUnavailable, match=r"^did not answer as HTTP servers do$"):
                await post(poster, receiver.url())
        with pytest.raises(StoreUnavailable, match=r"^cannot be connected to$"):
            await post(poster, receiver.url())


async def test_a_name_that_is_none_cannot_be_resolved():
    for name in ("no-such-name.invalid", "a" * 70 + ".example"):
        with pytest.raises(StoreUnavailable, match="cannot be resolved"):
            await resolve(name, 443)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for hook.example, made by the openssl that comes with every Python image."""
    openssl = shutil.which("openssl")
    assert openssl, "openssl is needed to make a certificate"
    folder = tmp_path_factory.mktemp("tls")
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=hook.example", "-addext", "subjectAltName=DNS:hook.example"]
    words += ["-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    subprocess.run([openssl, *words], check=True, capture_output=True)
    return folder


async def test_tls_verifies_the_name_and_not_the_address_that_it_resolved_to(certificate):
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    trust = ssl.create_default_context(cafile=str(certificate / "cert.pem"))
    names = Names(["127.0.0.1"])
    async with open_receiver(tls=server) as receiver:
        async with open_httpcore_poster(private=True, resolve=names, trust=trust) as poster:
            assert await post(poster, receiver.url("hook.example", scheme="https")) == 204
            with pytest.raises(StoreUnavailable, match="certificate"):
                await post(poster, receiver.url("other.example", scheme="https"))
        async with open_httpcore_poster(private=True, resolve=names) as poster:
            with pytest.raises(StoreUnavailable, match="certificate"):
                await post(poster, receiver.url("hook.example", scheme="https"))
    assert len(receiver.posts) == 1
