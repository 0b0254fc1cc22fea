"""``recallmesh mcp`` as agents meet it: the real command, by the protocol's own client, on files and before a mesh."""

import asyncio
import json
import os
import re
import signal
import subprocess
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import httpx2
import pytest
import pytest_asyncio
from deployment import COMMAND, Process, clean_environment, open_processes, until
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from recallmesh.core.limits import CONTENT_BYTES

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

DOCS = Path(__file__).parents[2] / "docs" / "mcp.md"
URL = re.compile(r"on (http://\S+)")
START_S = 120
"""The most that a start may take on two busy cores."""
TALK = {
    "content": "Leo: I adopted a dog yesterday, a greyhound called Pixel.\nNadia: I am allergic to dogs.",
    "context": "Leo is speaking to Nadia",
    "time": "2026-03-21T10:00:00+01:00",
    "tags": ["pets"],
    "document_id": "talk",
}


def text(result):
    (only,) = result.content
    return only.text


@asynccontextmanager
async def spoken_to(*words, environment=None):
    """Start the command as an agent does, and speak with it."""
    given = StdioServerParameters(
        command=str(COMMAND), args=["mcp", *map(str, words)], env=clean_environment(environment)
    )
    async with Client(given, read_timeout_seconds=START_S) as client:
        yield client


async def started(*words, stdout=-1, environment=None):
    """Start the command with nobody who speaks with it, but its standard input open."""
    return await asyncio.create_subprocess_exec(
        COMMAND, "mcp", *map(str, words), stdin=-1, stdout=stdout, stderr=-1, env=clean_environment(environment)
    )


@dataclass
class Offer:
    """``recallmesh mcp --listen`` as a process of its own."""

    words: tuple[str, ...]
    environment: dict = field(default_factory=dict)
    running: subprocess.Popen | None = None
    url: str = ""

    async def __aenter__(self):
        words = [COMMAND, "mcp", "--listen", "127.0.0.1:0", *map(str, self.words)]
        self.running = await asyncio.to_thread(
            subprocess.Popen,
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_environment(self.environment),
        )
        line = await asyncio.to_thread(self.running.stdout.readline)
        self.url = URL.search(line.decode()).group(1)
        return self

    async def __aexit__(self, *_):
        if self.running.poll() is None:
            await self.stop()

    async def stop(self):
        self.running.send_signal(signal.SIGTERM)
        return await asyncio.to_thread(self.running.communicate, timeout=30)

    @asynccontextmanager
    async def spoken_to(self, *, mode="auto", headers=None):
        async with (
            create_mcp_http_client(headers=headers) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
        ):
            yield client


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def process(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mesh")
    one = Process(("all",), folder / "data", folder / "log")
    async with open_processes({"all": one}):
        yield one


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def offer(process):
    """Any bank of the mesh, over HTTP."""
    async with Offer(("--server", process.address, "--create-bank")) as one:
        yield one
        _, errors = await one.stop()
        # What was refused for its Host or Origin is in the log, and nothing else.
        assert [line for line in errors.splitlines() if not line.startswith(b"Invalid ")] == []
        assert one.running.returncode == 0


async def the_whole_round(client, **bank):
    """Everything that an agent does with a memory, in one go."""
    kept = await client.call_tool("retain", TALK | bank)
    assert not kept.is_error, text(kept)
    assert len(kept.structured_content["memory_ids"]) == 2
    heard = []

    async def hear(done, total, message):
        heard.append((done, total, message))

    found = await client.call_tool(
        "recall", {"query": "What did Leo adopt in March 2026?"} | bank, progress_callback=hear
    )
    assert heard[0] == (0.0, 2.0, "searching by meaning, words, names and time")
    assert heard[-1] == (2.0, 2.0, "2 memories chosen")
    best = found.structured_content["memories"][0]
    assert best["text"] == "Leo: I adopted a dog yesterday (20 March 2026), a greyhound called Pixel."
    assert (best["when"], best["tags"], best["document_id"]) == ("2026-03-20", ["pets"], "talk")
    assert f"1. {best['text']}" in text(found)
    listed = await client.call_tool("list", {"document_id": "talk"} | bank)
    assert {one["id"] for one in listed.structured_content["memories"]} == set(kept.structured_content["memory_ids"])
    gone = await client.call_tool("forget", {"memory_ids": [best["id"]]} | bank)
    assert gone.structured_content["forgotten"] == [{"id": best["id"], "text": best["text"]}]
    after = await client.call_tool("recall", {"query": "What did Leo adopt in March 2026?"} | bank)
    assert best["id"] not in {one["id"] for one in after.structured_content["memories"]}
    assert "Deleted document talk and its 1 memory." in text(
        await client.call_tool("forget", {"document_id": "talk"} | bank)
    )
    assert text(await client.call_tool("list", bank)) == "No memories."


def told():
    """Return what the page has agents be told: the JSON of its code blocks."""
    blocks = re.findall(r"```json\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    return [json.loads(block)["mcpServers"]["memory"] for block in blocks]


async def test_an_agent_remembers_on_files_and_the_next_one_finds_it(tmp_path):
    first, own = told()[0], {"XDG_DATA_HOME": str(tmp_path)}
    assert first["command"] == "recallmesh"
    words = first["args"][1:]
    async with spoken_to(*words, environment=own) as client:
        assert text(await client.call_tool("recall", {"query": "q"})) == "Nothing is remembered here yet."
        await the_whole_round(client)
        await client.call_tool(
            "retain", {"content": "Élodie: 私の猫は「ミケ」です。 🐈 Zoë naïve.", "document_id": "ユ/1"}
        )
    reading = Offer(("--bank", "diary", "--read-only"), own)
    async with reading, reading.spoken_to() as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["recall", "list"]
        found = await client.call_tool("recall", {"query": "ミケ"})
        assert "「ミケ」" in text(found)
        assert found.structured_content["memories"][0]["document_id"] == "ユ/1"
        assert (await client.call_tool("forget", {"document_id": "ユ/1"})).is_error


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_agents_over_http_share_a_mesh(offer, mode):
    bank = {"bank": f"http-{mode}"}
    async with offer.spoken_to(mode=mode) as client:
        await the_whole_round(client, **bank)

    async def remember(number):
        async with offer.spoken_to(mode=mode) as client:
            kept = await client.call_tool("retain", {"content": f"Box {number} holds {number * 7} screws."} | bank)
            assert not kept.is_error, text(kept)
            found = await client.call_tool("recall", {"query": f"How many screws are in box {number}?"} | bank)
            return found.structured_content["memories"][0]["text"]

    told = await asyncio.gather(*map(remember, range(4)))
    assert told == [f"Box {number} holds {number * 7} screws." for number in range(4)]


async def test_two_agents_on_standard_input_share_a_mesh_at_once(process):
    words = ("--server", process.address, "--bank", "both", "--create-bank")
    async with spoken_to(*words) as one, spoken_to(*words) as other:
        await asyncio.gather(
            *(one.call_tool("retain", {"content": f"Shelf {n} is red."}) for n in range(3)),
            *(other.call_tool("retain", {"content": f"Shelf {n} is blue."}) for n in range(3)),
        )
        listed = [(await client.call_tool("list")).structured_content["memories"] for client in (one, other)]
    assert listed[0] == listed[1]
    assert {memory["text"] for memory in listed[0]} == {f"Shelf {n} is {c}." for n in range(3) for c in ("red", "blue")}


async def test_an_agent_hears_from_its_calls_that_the_folder_is_open_elsewhere(process):
    async with spoken_to("--data", process.data, "--bank", "diary") as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"recall", "retain", "list", "forget"}
        for _ in range(2):
            refused = await client.call_tool("recall", {"query": "Who is Pixel?"})
            assert refused.is_error
            assert "nother process" in text(refused)
            assert "--server" in text(refused)
            assert "Tell your user" in text(refused)


async def test_what_is_big_is_bounded_and_what_is_too_big_is_refused(process):
    async with spoken_to("--server", process.address, "--bank", "big", "--create-bank") as client:
        log = "\n".join(f"Mira: Crate {n} weighs {n} kilograms and stands in hall {n % 7}." for n in range(120))
        kept = await client.call_tool("retain", {"content": log, "document_id": "log"})
        assert len(kept.structured_content["memory_ids"]) >= 120
        query = {"query": "How much does crate 77 weigh?"}
        small = await client.call_tool("recall", {**query, "max_tokens": 100, "limit": 100})
        whole = await client.call_tool("recall", {**query, "max_tokens": 32_768, "limit": 100})
        assert len(small.structured_content["memories"]) < 12
        assert len(whole.structured_content["memories"]) == 100
        assert small.structured_content["omitted"] > 0
        seen, after = [], ""
        while True:
            page = (await client.call_tool("list", {"after": after, "max_tokens": 500})).structured_content
            seen += [memory["id"] for memory in page["memories"]]
            if not (after := page.get("next")):
                break
        assert sorted(seen) == sorted(kept.structured_content["memory_ids"])
        refused = await client.call_tool("retain", {"content": "a b " * (CONTENT_BYTES // 4) + "more"})
        assert refused.is_error
        assert text(refused).startswith("content: ")
        assert str(CONTENT_BYTES) in text(refused)
        assert not (await client.call_tool("recall", query)).is_error


async def test_a_mesh_that_is_killed_is_told_and_found_again(process):
    process.port = int(process.address.rpartition(":")[2])
    async with spoken_to("--server", process.address, "--bank", "killed", "--create-bank") as client:
        await client.call_tool("retain", {"content": "The spare key hangs in the shed."})
        process.kill()
        lost = await client.call_tool("recall", {"query": "Where is the spare key?"})
        assert lost.is_error
        assert text(lost).startswith("The memory cannot be reached now.\nGo on without it")
        unsure = await client.call_tool("retain", {"content": "The ladder stands in the barn."})
        assert unsure.is_error
        said = re.search(r"time (?P<time>.*) and request_id (?P<request_id>\w+)", text(unsure)).groupdict()
        assert "127.0.0.1" not in text(lost) + text(unsure)
        process.start()
        await process.ready()
        given = {"content": "The ladder stands in the barn.", **said}

        async def kept():
            result = await client.call_tool("retain", given)
            return None if result.is_error else result.structured_content["memory_ids"]

        ids = await until(kept)
        again = await client.call_tool("retain", given)
        assert again.structured_content["memory_ids"] == ids
        assert "nothing was kept twice" in text(again)
        assert len((await client.call_tool("list")).structured_content["memories"]) == 2


@dataclass
class Ear(grpc.GenericRpcHandler):
    """A server of other things that hears which key each call bears."""

    heard: list = field(default_factory=list)

    def service(self, call):
        if call.method.startswith("/recallmesh."):
            self.heard += [value for name, value in call.invocation_metadata if name == "authorization"] or [""]


async def test_the_key_of_each_agent_goes_on_to_the_mesh_and_no_other_does():
    server, ear = grpc.aio.server(), Ear()
    server.add_generic_rpc_handlers((ear,))
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    ask = ("recall", {"query": "q"})
    async with Offer(("--server", address, "--bank", "b"), {"RECALLMESH_KEY": "the-processs-own"}) as offer:
        for header, heard in (("Bearer one", ["Bearer one"]), ("bearer two", ["Bearer two"]), ("", [""])):
            async with offer.spoken_to(headers={"authorization": header} if header else None) as client:
                answer = await client.call_tool(*ask)
            assert (text(answer), ear.heard) == ("This memory does not offer that.\nDo without it.", heard)
            ear.heard.clear()
        for header in ("Basic dXNlcjpwYXNz", "Bearer a b"):
            async with offer.spoken_to(headers={"authorization": header}) as client:
                refused = await client.call_tool(*ask)
            assert refused.is_error
            assert text(refused).startswith("authorization: ")
            assert header.partition(" ")[2] not in text(refused)
        assert ear.heard == []
    async with spoken_to("--server", address, "--bank", "b", environment={"RECALLMESH_KEY": "mine"}) as client:
        await client.call_tool(*ask)
    assert ear.heard == ["Bearer mine"]
    await server.stop(None)


async def test_a_page_of_another_site_is_refused(offer):
    async with httpx2.AsyncClient() as http:
        port = int(offer.url.rpartition(":")[2].partition("/")[0])
        ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        accept = {"accept": "application/json, text/event-stream"}

        async def status(**headers):
            return (await http.post(offer.url, json=ask, headers=accept | headers)).status_code

        assert await status(host=f"evil.example:{port}") == 421
        assert await status(host=f"127.0.0.1:{port + 1}") == 421
        assert await status(origin="http://evil.example") == 403
        assert await status(origin=f"http://127.0.0.1:{port + 1}") == 403
        assert await status(**{"content-type": "text/plain"}) == 400
        assert (
            await http.post(offer.url, content=b"x" * (5 << 20), headers={"content-type": "application/json"})
        ).status_code == 413
        assert (await http.get(offer.url.removesuffix("/mcp"))).status_code == 404


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


def called(number, arguments):
    params = b'{"name": "recall", "arguments": ' + arguments + b"}"
    return b'{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": %s}' % (number, params)


async def test_nothing_but_the_protocol_is_on_standard_output_whatever_comes_in():
    lines = [
        b"hello",
        b"{",
        json.dumps(INITIALIZE).encode(),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        b"\xff\xfe not UTF-8",
        called(2, rb'{"query": "\ud800"}'),
        called(3, rb'{"quer\u0000y": 1}'),
        b'{"jsonrpc": "2.0", "id": 4, "method": "no/such"}',
        b'{"jsonrpc": "2.0", "id": 5, "method": "tools/list"}',
    ]
    # Nothing listens there: what is asked for is told to be out of reach, the protocol goes on.
    running = await started("--server", "127.0.0.1:1", "--bank", "b")
    running.stdin.write(b"\n".join(lines) + b"\n")
    answers = {}
    async with asyncio.timeout(START_S):
        while not {2, 3, 4, 5} <= answers.keys():
            one = json.loads(await running.stdout.readline())
            assert one["jsonrpc"] == "2.0"
            answers[one.get("id")] = one
        running.stdin.close()
        assert await running.stdout.read() == b""
        assert await running.wait() == 0
    assert len(answers[5]["result"]["tools"]) == 4
    assert [answers[number]["result"]["isError"] for number in (2, 3)] == [True, True]
    assert "error" in answers[4]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_process_that_is_told_to_end_does_so_although_its_agent_says_nothing(number):
    running = await started("--server", "127.0.0.1:1")
    running.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    async with asyncio.timeout(START_S):
        assert json.loads(await running.stdout.readline())["id"] == 1
        running.send_signal(number)
        assert await running.wait() == 0
    assert await running.stderr.read() == b""


async def test_an_agent_that_goes_away_without_a_word_ends_the_process():
    read, write = os.pipe()
    running = await started("--server", "127.0.0.1:1", stdout=write)
    os.close(write)
    os.close(read)
    running.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    async with asyncio.timeout(START_S):
        assert await running.wait() == 0
    assert b"Traceback" not in await running.stderr.read()


async def test_the_configurations_of_the_page_work(process, offer):
    _, shared, reached, reading = told()
    for one, tools in ((shared, ["recall", "retain", "list", "forget"]), (reading, ["recall", "list"])):
        words = [process.address if word == "127.0.0.1:7070" else word for word in one["args"]]
        assert words != one["args"]
        async with spoken_to(*words[1:], environment=one.get("env")) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == tools
            if "retain" in tools:
                assert not (await client.call_tool("retain", {"content": "Pixel is a greyhound."})).is_error
            assert "Pixel" in text(await client.call_tool("recall", {"query": "What is Pixel?"}))
    assert reached["url"] == "http://127.0.0.1:7081/mcp"
    async with offer.spoken_to(headers=reached["headers"]) as client:
        assert "Pixel" in text(await client.call_tool("recall", {"query": "What is Pixel?", "bank": "diary"}))
