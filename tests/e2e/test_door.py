"""The JSON door of a live mesh: calls, streams, errors, what leaves and what breaks, and the page about it."""

import asyncio
import json
import re
import signal
from importlib.resources import files
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio
from deployment import Process, free_ports, open_processes, until
from door_bed import events, open_client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

PAGE = Path(__file__).parents[2] / "docs/http.md"
DOCUMENT = json.loads(files("recallmesh.v1").joinpath("openapi.json").read_text("utf-8"))
OPENS = re.compile(r"recallmesh opens its door on http://(\S+:\d+)$", re.MULTILINE)
ANY_PORT = {"RECALLMESH_DOOR__LISTEN": "127.0.0.1:0"}
LINES = {"content-type": "application/x-ndjson"}


def door_of(process):
    return OPENS.findall(process.told())[-1]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def served(tmp_path_factory):
    """The mesh and its door, in one process."""
    folder = tmp_path_factory.mktemp("door")
    (port,) = free_ports(1)
    environment = ANY_PORT | {"RECALLMESH_SERVE__METRICS_PORT": str(port)}
    process = Process(("all", "door"), folder / "data", folder / "door.log", environment)
    async with open_processes({"door": process}):
        yield process


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def door(served):
    async with open_client(door_of(served)) as client:
        yield client


pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]


async def ask(door, call, said, **headers):
    return await door.post(f"/recallmesh.v1.{call}", json=said, headers=headers)


async def diary(door):
    name = f"door-{uuid4().hex[:8]}"
    assert (await ask(door, "BankService/CreateBank", {"bankId": name})).status_code == 200
    return name


def item(text, **more):
    return {"content": [{"text": text}], "time": "2026-08-19T10:00:00Z"} | more


async def keep(door, bank, *texts, **more):
    return await ask(door, "RetainService/Retain", {"bankId": bank, "items": [item(text) for text in texts]} | more)


def problem(answer, status, reason):
    body = answer.json()
    assert (answer.status_code, body.get("reason"), body["status"]) == (status, reason, status), body
    assert answer.headers["content-type"] == "application/problem+json"
    assert body["requestId"] == answer.headers["x-request-id"]
    valid("Problem", body)
    return body


def valid(kind, value):
    """Hold an answer against what the OpenAPI document says of it."""
    schema = {"$ref": f"#/components/schemas/{kind}", "components": DOCUMENT["components"]}
    assert list(Draft202012Validator(schema).iter_errors(value)) == []


async def test_what_is_told_is_recalled_and_answers_are_as_described(door):
    bank = await diary(door)
    told = await keep(door, bank, "Ida keeps her bees on the roof.", "Bo repairs clocks.")
    valid("RetainResponse", told.json())
    found = await ask(
        door,
        "RecallService/Recall",
        {"bankId": bank, "query": "bees", "trace": True, "includeEntities": True, "maxChunkTokens": 100},
    )
    valid("RecallResponse", found.json())
    assert found.json()["memories"][0]["memory"]["text"] == "Ida keeps her bees on the roof."
    assert found.json()["trace"]["candidates"]
    for call, kind in (
        (f"BankService/GetBank?bankId={bank}", "GetBankResponse"),
        (f"BankService/GetBankStats?bankId={bank}", "GetBankStatsResponse"),
        (f"BankService/ListEvents?bankId={bank}", "ListEventsResponse"),
        (f"MemoryService/ListMemories?bankId={bank}&pageSize=1", "ListMemoriesResponse"),
        (f"EntityService/ListEntities?bankId={bank}", "ListEntitiesResponse"),
        (f"DocumentService/ListDocuments?bankId={bank}", "ListDocumentsResponse"),
        (f"RecallService/ResolveTuning?bankId={bank}", "ResolveTuningResponse"),
    ):
        answer = await door.get(f"/recallmesh.v1.{call}")
        assert answer.status_code == 200, answer.text
        valid(kind, answer.json())


async def test_both_spellings_give_the_same(door):
    bank = await diary(door)
    await keep(door, bank, "Ida keeps bees.")
    camel = await ask(door, "MemoryService/ListMemories", {"bankId": bank, "pageSize": 5})
    snake = await ask(door, "MemoryService/ListMemories", {"bank_id": bank, "page_size": 5})
    assert camel.json() == snake.json()


async def test_a_request_id_of_the_message_counts_once_and_that_of_the_header_comes_back(door):
    bank = await diary(door)
    first = await keep(door, bank, "Ida keeps bees.", requestId="r-1")
    again = await ask(
        door,
        "RetainService/Retain",
        {"bankId": bank, "items": [item("Ida keeps bees.")], "requestId": "r-1"},
        **{"x-request-id": "trace-1"},
    )
    assert (again.json()["replayed"], again.headers["x-request-id"]) == (True, "trace-1")
    assert again.json()["items"] == first.json()["items"]
    problem(await keep(door, bank, "Other words.", requestId="r-1"), 409, "REQUEST_ID_REUSED")


async def test_the_logs_know_a_call_by_its_request_id(door, served):
    bank, name = await diary(door), f"seen-{uuid4().hex}"
    await ask(door, "RetainService/Retain", {"bankId": bank, "items": [item("Ida.")]}, **{"x-request-id": name})
    assert name in served.told()


async def test_errors_of_the_mesh_are_problems(door):
    bank = await diary(door)
    lost = problem(await ask(door, "RecallService/Recall", {"bankId": "nobody", "query": "q"}), 404, "BANK_NOT_FOUND")
    assert lost["metadata"] == {"bank": "nobody"}
    problem(await ask(door, "BankService/CreateBank", {"bankId": bank}), 409, "BANK_EXISTS")
    problem(await ask(door, "BankService/GetEffectiveConfig", {"bankId": bank}), 501, "UNIMPLEMENTED")
    refused = await ask(
        door, "RetainService/Retain", {"bankId": bank, "items": [item("a", documentId="x" * 600), item(" ")]}
    )
    violations = {one["field"] for one in problem(refused, 400, "INVALID_ARGUMENT")["violations"]}
    assert violations == {"items[0].documentId", "items[1].content"}
    token = await ask(door, "MemoryService/ListMemories", {"bankId": bank, "pageToken": "nonsense"})
    assert problem(token, 400, token.json()["reason"])["violations"][0]["field"] == "pageToken"
    assert "pageToken: " in token.json()["detail"]


async def test_a_deadline_that_has_no_chance_is_told(door):
    bank = await diary(door)
    late = await ask(door, "RecallService/Recall", {"bankId": bank, "query": "q"}, **{"x-request-timeout-ms": "1"})
    problem(late, 504, "DEADLINE_EXCEEDED")
    for wrong in ("0", "-1", "1.5", "soon", "9999999999"):
        answer = await ask(door, "BankService/ListBanks", {}, **{"x-request-timeout-ms": wrong})
        assert problem(answer, 400, "INVALID_ARGUMENT")["violations"][0]["field"] == "x-request-timeout-ms"


async def test_a_tenant_that_is_not_the_credentials_is_refused_and_headers_are_checked(door):
    mine = await ask(door, "BankService/ListBanks", {}, **{"x-recallmesh-tenant": "default"})
    assert mine.status_code == 200
    problem(await ask(door, "BankService/ListBanks", {}, **{"x-recallmesh-tenant": "acme"}), 403, "FORBIDDEN")
    for wrong in ("x" * 5000, "grüße".encode("latin-1")):
        answer = await door.post("/recallmesh.v1.BankService/ListBanks", json={}, headers={"authorization": wrong})
        assert problem(answer, 400, "INVALID_ARGUMENT")["violations"][0]["field"] == "authorization"
    unusual = await ask(door, "BankService/ListBanks", {}, **{"x-request-id": "white space"})
    assert re.fullmatch("[0-9a-f]{32}", unusual.headers["x-request-id"])


async def test_banks_are_seen_through_the_door_as_by_grpc_and_no_other(door):
    mine, other = await diary(door), await diary(door)
    await keep(door, mine, "Ida keeps bees.")
    (memory,) = (await ask(door, "MemoryService/ListMemories", {"bankId": mine})).json()["memories"]
    assert (await ask(door, "MemoryService/ListMemories", {"bankId": other})).json()["memories"] == []
    foreign = await door.get(f"/recallmesh.v1.MemoryService/GetMemory?bankId={other}&memoryId={memory['id']}")
    problem(foreign, 404, "MEMORY_NOT_FOUND")


async def test_a_recall_is_streamed_as_events(door):
    bank = await diary(door)
    await keep(door, bank, "Ida keeps her bees on the roof.")
    said = json.dumps({"bankId": bank, "query": "bees"})
    for answer in (
        await door.get("/recallmesh.v1.RecallService/RecallStream", params={"recall": said}),
        await ask(door, "RecallService/RecallStream", {"recall": json.loads(said)}),
    ):
        told = events(answer.text)
        assert [kind for kind, _ in told] == ["message", "message", "end"]
        assert [one["stage"] for _, one in told[:2]] == ["RECALL_STAGE_FUSED", "RECALL_STAGE_FINAL"]
        for _, one in told[:2]:
            valid("RecallStreamResponse", one)
    problem(
        await ask(door, "RecallService/RecallStream", {"recall": {"bankId": "nobody", "query": "q"}}),
        404,
        "BANK_NOT_FOUND",
    )


async def test_events_of_a_bank_come_as_they_happen(door):
    bank = await diary(door)
    async with door.stream("GET", f"/recallmesh.v1.BankService/WatchEvents?bankId={bank}") as listening:
        assert listening.headers["content-type"] == "text/event-stream"
        telling = asyncio.create_task(keep(door, bank, "Ida keeps bees."))
        heard = ""
        async for part in listening.aiter_text():
            heard += part
            if events(heard) and heard.endswith("\n\n"):
                break
        await telling
    assert events(heard)[0][1]["event"]["bankId"] == bank, heard


def line(bank, number, text="Ida keeps bees"):
    retain = {"bankId": bank, "requestId": f"line-{number}", "items": [item(f"{text} {number}.")]}
    return json.dumps({"retain": retain}).encode() + b"\n"


async def test_lines_are_kept_and_answered_one_by_one(door):
    bank = await diary(door)

    async def lines():
        for number in range(20):
            yield line(bank, number)

    answer = await door.post("/recallmesh.v1.RetainService/RetainBulk", content=lines(), headers=LINES)
    *kept, last = events(answer.text)
    assert [one["requestId"] for _, one in kept] == [f"line-{number}" for number in range(20)]
    assert all(one["retained"]["items"] for _, one in kept)
    assert last == ("end", {})
    for _, one in kept:
        valid("RetainBulkResponse", one)


async def test_a_batch_that_is_refused_is_answered_in_its_place_and_the_rest_is_kept(door):
    bank = await diary(door)
    blank = json.dumps({"retain": {"bankId": bank, "requestId": "blank", "items": [item(" ")]}}).encode() + b"\n"
    body = line(bank, 1) + blank + line(bank, 2)
    answer = await door.post("/recallmesh.v1.RetainService/RetainBulk", content=body, headers=LINES)
    told = [one for kind, one in events(answer.text) if kind == "message"]
    assert [one.get("failure", {}).get("reason") for one in told] == [None, "ERROR_REASON_INVALID_ARGUMENT", None]


async def test_a_stream_of_requests_with_one_answer(door):
    bank = await diary(door)
    body = line(bank, 1) + b"\n" + line(bank, 2)
    answer = await door.post("/recallmesh.v1.RetainService/RetainStream", content=body, headers=LINES)
    assert (answer.status_code, answer.json()["batchCount"], answer.json()["lastRequestId"]) == (200, "2", "line-2")
    valid("RetainStreamResponse", answer.json())


@pytest.mark.parametrize("call", ["RetainStream", "RetainBulk"])
async def test_a_line_that_cannot_be_read_is_told_by_its_number(door, call):
    bank = await diary(door)
    body = line(bank, 1) + b"\n" + b'{"retain": {"bankID": 1}}\n' + line(bank, 2)
    answer = await door.post(f"/recallmesh.v1.RetainService/{call}", content=body, headers=LINES)
    told = answer.json() if answer.status_code == 400 else events(answer.text)[-1][1]
    assert (told["status"], told["reason"]) == (400, "INVALID_ARGUMENT")
    (violation,) = told["violations"]
    assert violation["field"] == "retain.bankID"
    assert violation["description"].startswith("line 3: is no field of RetainRequest; did you mean bankId?")


async def test_an_import_that_breaks_off_keeps_nothing(door):
    """A half of a file is no file: neither a line that is wrong nor a client that leaves is taken for its end."""
    bank, copy = await diary(door), f"door-{uuid4().hex[:8]}"
    await keep(door, bank, "Ida keeps bees.", "Bo repairs clocks.")
    exported = await door.get(f"/recallmesh.v1.BankService/ExportBank?bankId={bank}")
    pieces = [one for kind, one in events(exported.text) if kind == "message"]
    assert pieces
    await ask(door, "BankService/CreateBank", {"bankId": copy})
    said = [json.dumps({"bankId": copy} | one).encode() for one in pieces]
    broken = await door.post(
        "/recallmesh.v1.BankService/ImportBank", content=b"\n".join([*said, b'{"nonsense": 1}']), headers=LINES
    )
    assert broken.status_code == 400, broken.text
    assert (await ask(door, "MemoryService/ListMemories", {"bankId": copy})).json()["memories"] == []
    whole = await door.post("/recallmesh.v1.BankService/ImportBank", content=b"\n".join(said), headers=LINES)
    assert whole.status_code == 200, whole.text
    assert len((await ask(door, "MemoryService/ListMemories", {"bankId": copy})).json()["memories"]) == 2


async def test_a_client_that_leaves_ends_the_work_behind_the_door(door, served):
    bank = await diary(door)
    call = "/recallmesh.v1.BankService/WatchEvents"
    reader, writer = await asyncio.open_connection(*door_of(served).split(":"))
    writer.write(f"GET {call}?bankId={bank} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    assert b"200" in await reader.readline()
    cancelled = f'recallmesh_rpc_seconds_count{{code="CANCELLED",method="{call}"}}'
    before = (await metrics(served)).get(cancelled, 0)
    writer.close()
    await writer.wait_closed()

    async def ended():
        return (await metrics(served)).get(cancelled, 0) > before

    assert await until(ended)


async def test_requests_are_counted_by_method_and_status(door, served):
    await ask(door, "RecallService/Recall", {"bankId": "nobody", "query": "q"})
    told = await metrics(served)
    assert told['recallmesh_http_seconds_count{method="/recallmesh.v1.RecallService/Recall",status="404"}'] >= 1


async def metrics(process):
    """Return what the process counts."""
    port = process.environment["RECALLMESH_SERVE__METRICS_PORT"]
    async with open_client(f"127.0.0.1:{port}") as client:
        lines = (await client.get("/metrics")).text.splitlines()
    return {name: float(value) for name, _, value in (one.rpartition(" ") for one in lines if not one.startswith("#"))}


CALLS = sorted(DOCUMENT["paths"])
TEXT = st.text(max_size=12)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)


def fields_of(path):
    content = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]
    schema = next(iter(content.values()))["schema"].get("$ref", "").rpartition("/")[2]
    return sorted(DOCUMENT["components"]["schemas"].get(schema, {}).get("properties", {})) or ["retain"]


async def test_garbage_is_refused_and_never_a_fault_of_ours(served):
    """Any bytes, any JSON, any query string, by any verb, to any call: an answer below 500, and nothing in the log."""
    client = httpx.Client(base_url=f"http://{door_of(served)}", timeout=20, trust_env=False)
    slow = {f"/recallmesh.v1.{call}" for call in ("BankService/WatchEvents", "OperationService/WatchOperation")}
    calls = [path for path in CALLS if path not in slow]

    @settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
    @given(st.data(), st.sampled_from(calls))
    def run(data, path):
        names = st.sampled_from(fields_of(path)) | TEXT
        kind = data.draw(st.sampled_from(["application/json", "application/x-ndjson", "text/plain", ""]))
        value = data.draw(st.dictionaries(names, VALUE, max_size=4))
        body = data.draw(st.binary(max_size=30) | st.just(json.dumps(value).encode()))
        query = data.draw(st.lists(st.tuples(names, TEXT), max_size=3))
        verb = data.draw(st.sampled_from(["POST", "POST", "GET", "PUT", "HEAD"]))
        shown = [(name.encode("utf-8", "replace"), text.encode("utf-8", "replace")) for name, text in query]
        answer = client.request(verb, path, params=shown, content=body, headers={"content-type": kind})
        assert answer.status_code < 500 or answer.status_code == 501, answer.text

    with client:
        await asyncio.to_thread(run)
    assert "rpc failed" not in served.told()
    assert "port call failed" not in served.told()
    assert "http server" not in served.told()


async def test_a_door_of_its_own_reaches_the_mesh_wherever_its_parts_are(mesh, tmp_path):
    if mesh.in_process:
        pytest.skip("there is no server to reach")
    places = {
        f"RECALLMESH_{name.upper()}__ADDRESS": one.address for name, one in mesh.processes.items() if name != "all"
    }
    if "all" in mesh.processes:
        places = {"RECALLMESH_DOOR__SERVER": mesh.processes["all"].address}
    alone = Process(("door",), tmp_path / "data", tmp_path / "door.log", ANY_PORT | places)
    alone.start()
    try:
        await until(lambda: asyncio.to_thread(lambda: OPENS.findall(alone.told())))
        async with open_client(door_of(alone)) as client:
            assert (await client.get("/readyz")).text == "ok\n"
            bank = await diary(client)
            await keep(client, bank, "Ida keeps her bees on the roof.")
            found = await ask(client, "RecallService/Recall", {"bankId": bank, "query": "bees"})
            assert found.json()["memories"][0]["memory"]["text"] == "Ida keeps her bees on the roof."
        alone.signal(signal.SIGTERM)
        assert await alone.left() == 0
        assert not (tmp_path / "data").exists()
    finally:
        alone.kill()


async def test_a_door_in_front_of_nothing_lives_is_not_ready_and_says_so(tmp_path):
    alone = Process(
        ("door",), tmp_path / "data", tmp_path / "door.log", ANY_PORT | {"RECALLMESH_DOOR__SERVER": "127.0.0.1:1"}
    )
    alone.start()
    try:
        await until(lambda: asyncio.to_thread(lambda: OPENS.findall(alone.told())))
        async with open_client(door_of(alone)) as client:
            assert (await client.get("/livez")).status_code == 200
            problem(await client.get("/readyz"), 503, "STORE_UNAVAILABLE")
            problem(await ask(client, "BankService/ListBanks", {}), 503, "STORE_UNAVAILABLE")
    finally:
        alone.kill()


async def test_a_process_with_a_door_leaves_without_losing_a_call(tmp_path):
    process = Process(("all", "door"), tmp_path / "data", tmp_path / "door.log", ANY_PORT)
    async with open_processes({"door": process}), open_client(door_of(process)) as client:
        bank, leaves = await diary(client), asyncio.Event()
        listening = asyncio.create_task(
            client.post("/recallmesh.v1.RetainService/RetainBulk", content=_paced(bank, leaves), headers=LINES)
        )
        await until(lambda: _kept(client, bank))
        process.signal(signal.SIGTERM)
        await until(lambda: _refused(client))
        leaves.set()
        told = events((await listening).text)
        assert told[-1] == ("end", {})
        assert [one["requestId"] for kind, one in told if kind == "message"] == [f"line-{n}" for n in range(5)]
        assert await process.left() == 0


async def _paced(bank, leaves):
    """Give lines, of which the last ones come when the process leaves."""
    for number in range(5):
        yield line(bank, number)
        if number == 1:
            await leaves.wait()


async def _kept(client, bank):
    """Tell whether any line has come."""
    told = await ask(client, "MemoryService/ListMemories", {"bankId": bank})
    return told.json().get("memories")


async def _refused(client):
    try:
        return (await client.get("/readyz")).status_code == 503
    except httpx.HTTPError:
        return True


def blocks():
    """Return the page's commands, each with what it is said to answer."""
    found = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    kinds = [*found[1:], ("", "")]
    return [(said, *after) for (kind, said), after in zip(found, kinds, strict=True) if kind == "sh"]


def within(part, whole):
    """Tell whether a part of an answer is in it: its members, and of lists the first ones."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and within(value, whole[key]) for key, value in part.items()
        )
    if isinstance(part, list):
        return len(part) <= len(whole) and all(within(one, other) for one, other in zip(part, whole, strict=False))
    return part == whole


def like(shown, told):
    """Tell whether a text is what is shown of it: an ellipsis is any text."""
    pattern = ".*".join(re.escape(piece) for piece in shown.strip().split("…"))
    return re.fullmatch(pattern, told.strip(), re.DOTALL) is not None


async def test_the_page_about_the_door_is_true(served):
    """Every command of the page, in one shell, against a live door: each answers what is said there."""
    mark, told = f"=={uuid4().hex}==", blocks()
    script = f"\necho; echo '{mark}'\n".join(said.replace("127.0.0.1:7080", door_of(served)) for said, _, _ in told)
    shell = await asyncio.create_subprocess_exec(
        "bash", "-euo", "pipefail", "-c", script, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output = (await shell.communicate())[0].decode().replace("\r\n", "\n")
    assert shell.returncode == 0, output
    answers = output.split(mark)
    assert len(answers) == len(told) > 8
    for (said, kind, shown), answer in zip(told, answers, strict=True):
        if kind == "json":
            assert within(json.loads(shown), json.loads(answer)), (said, answer)
        elif kind == "text":
            assert like(shown, answer), (said, answer)
