"""The JSON door over real sockets: what comes in, what goes out, and what happens when somebody leaves."""

import asyncio
import io
import json
import logging
import socket

import pytest
from door_bed import echo, events, open_bed, open_client

from recallmesh.core.errors import BankNotFound, InvalidArgument, Overloaded, StoreUnavailable, Unimplemented
from recallmesh.core.gateway import Parameters, Written
from recallmesh.core.limits import JSON_BYTES
from recallmesh.rpc.listening import bound
from recallmesh.telemetry.log import set_up_logging

JSON = {"content-type": "application/json"}
LINES = {"content-type": "application/x-ndjson"}


def raising(error, *first):
    async def answers(_asked):
        for one in first:
            yield one
        raise error

    return answers


async def for_ever(_asked):
    yield b'{"n":1}'
    await asyncio.get_running_loop().create_future()


def held_until_asked_twice():
    """Answer the first request once another one was read."""
    other = asyncio.Event()

    async def answers(asked):
        async for one in asked:
            if one.text.startswith(b"1"):
                await other.wait()
            other.set()
            yield b"{}"

    return answers


async def until_busy(bed, count):
    async with asyncio.timeout(10):
        while len(bed.gateway.callers) < count:  # noqa: ASYNC110 - what is waited for is across a wire
            await asyncio.sleep(0.01)


async def silent(_asked):
    await asyncio.get_running_loop().create_future()
    yield b""


async def test_a_call_is_a_post_of_json_to_its_path():
    async with open_bed(echo) as bed:
        answer = await bed.client.post("/t.S/Put", content=b'{"a":1}', headers=JSON)
        assert (answer.status_code, answer.json()) == (200, {"a": 1})
        assert answer.headers["content-type"] == "application/json"
        assert bed.gateway.asked == [Written(b'{"a":1}')]


async def test_what_only_reads_is_asked_by_get_too():
    async with open_bed(echo) as bed:
        answer = await bed.client.get("/t.S/Get?bankId=b&x=%C3%BC&x=2&empty=")
        assert answer.status_code == 200
        assert bed.gateway.asked == [Parameters((("bankId", "b"), ("x", "ü"), ("x", "2"), ("empty", "")))]


async def test_a_query_string_that_cannot_be_read_is_refused():
    async with open_bed(echo) as bed:
        for query in ("x=%ff", "&".join("x=1" for _ in range(1001))):
            answer = await bed.client.get(f"/t.S/Get?{query}")
            assert (answer.status_code, answer.json()["reason"]) == (400, "INVALID_ARGUMENT")


async def test_another_verb_is_refused_with_those_that_there_are():
    async with open_bed(echo) as bed:
        for verb, path, allowed in (
            ("GET", "/t.S/Put", "POST"),
            ("PUT", "/t.S/Get", "GET, POST"),
            ("DELETE", "/t.S/Load", "POST"),
        ):
            answer = await bed.client.request(verb, path, headers=JSON)
            assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["type"] == "about:blank"


async def test_another_kind_of_body_is_refused():
    async with open_bed(echo) as bed:
        for path, headers in (
            ("/t.S/Put", {}),
            ("/t.S/Put", {"content-type": "text/plain"}),
            ("/t.S/Put", {"content-type": "application/json; charset=utf-16"}),
            ("/t.S/Put", LINES),
            ("/t.S/Load", JSON),
            ("/t.S/Put", JSON | {"content-encoding": "gzip"}),
        ):
            answer = await bed.client.post(path, content=b"{}", headers=headers)
            assert answer.status_code == 415, headers
        assert bed.gateway.asked == []
        for kind in ("application/json; charset=UTF-8", 'Application/JSON;charset="utf-8"'):
            assert (await bed.client.post("/t.S/Put", content=b"{}", headers={"content-type": kind})).status_code == 200


async def test_a_call_for_which_there_is_no_place_is_refused_unread():
    async with open_bed(echo) as bed:
        bed.gateway.full = Overloaded("full")
        reader, writer = await asyncio.open_connection(*bed.address.split(":"))
        writer.write(b"POST /t.S/Put HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n")
        writer.write(b"content-length: 1000000\r\n\r\n")
        assert b" 429 " in await reader.readline()  # nothing of the body was sent
        writer.close()
        await writer.wait_closed()
    assert bed.gateway.asked == []


async def test_the_bodies_of_all_requests_have_so_much_room(monkeypatch):
    monkeypatch.setattr("recallmesh.door.calls.ROOM_BYTES", 1000)
    async with open_bed(held_until_asked_twice()) as bed:
        first = asyncio.create_task(bed.client.post("/t.S/Put", content=b"1" * 900, headers=JSON))
        await bed.gateway.begun.wait()
        answer = await bed.client.post("/t.S/Put", content=b"2" * 200, headers=JSON)
        assert (answer.status_code, answer.json()["reason"]) == (429, "OVERLOADED")
        assert (await bed.client.post("/t.S/Put", content=b"3" * 90, headers=JSON)).status_code == 200
        assert (await first).status_code == 200
        assert (await bed.client.post("/t.S/Put", content=b"4" * 999, headers=JSON)).status_code == 200


@pytest.mark.parametrize("busy", [False, True])
async def test_beyond_the_most_connections_an_idle_one_makes_way(monkeypatch, busy):
    monkeypatch.setattr("recallmesh.door.uvicorn.CONNECTIONS", 2)
    async with open_bed(silent if busy else echo) as bed:
        host_and_port = bed.address.split(":")
        asking = b"GET /t.S/Get HTTP/1.1\r\nhost: localhost\r\n\r\n"
        opened = []
        for number in range(3):
            reader, writer = await asyncio.open_connection(*host_and_port)
            opened.append((reader, writer))
            if number < 2:
                writer.write(asking)
                if busy:
                    await until_busy(bed, number + 1)
                else:
                    assert b" 200 " in await reader.readline()
        first, last = opened[0][0], opened[2][0]
        if busy:
            assert b" 503 " in await last.readline()
        else:
            await first.readuntil(b"\r\n\r\n{}\n")
            assert await first.read() == b""  # closed
            opened[2][1].write(asking)
            assert b" 200 " in await last.readline()
        for _, writer in opened:
            writer.close()


async def test_half_of_a_head_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr("recallmesh.door.uvicorn.HEAD_S", 0.1)
    async with open_bed(echo) as bed:
        reader, writer = await asyncio.open_connection(*bed.address.split(":"))
        writer.write(b"GET /t.S/Get HT")
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()


async def test_a_connection_that_says_nothing_is_not_kept_for_ever(monkeypatch):
    monkeypatch.setattr("recallmesh.door.uvicorn.KEEP_ALIVE_S", 0.1)
    async with open_bed(echo) as bed:
        reader, writer = await asyncio.open_connection(*bed.address.split(":"))
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()


async def test_a_path_that_is_no_call_is_not_found():
    async with open_bed(echo) as bed:
        for path in ("/nothing", "/t.S/Nothing", "/t.S/Get/", "//t.S/Get", "/t.S%2fGet/x"):
            answer = await bed.client.get(f"http://{bed.address}{path}")
            assert (answer.status_code, answer.json()["title"]) == (404, "Not Found")


async def test_a_body_that_is_too_large_is_refused_and_the_connection_lives():
    async def chunks():
        for _ in range(JSON_BYTES // 2**16 + 2):
            yield b"x" * 2**16

    async with open_bed(echo) as bed:
        told = await bed.client.post("/t.S/Put", content=b"x" * (JSON_BYTES + 1), headers=JSON)
        untold = await bed.client.post("/t.S/Put", content=chunks(), headers=JSON)
        assert (told.status_code, untold.status_code) == (413, 413)
        assert str(JSON_BYTES) in told.json()["detail"]
        assert (await bed.client.post("/t.S/Put", content=b"{}", headers=JSON)).status_code == 200
        assert bed.gateway.asked == [Written(b"{}")]


async def test_a_body_that_does_not_come_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr("recallmesh.door.calls.BODY_S", 0.1)
    async with open_bed(echo) as bed:
        reader, writer = await asyncio.open_connection(*bed.address.split(":"))
        writer.write(b"POST /t.S/Put HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n")
        writer.write(b"content-length: 9\r\n\r\n{}")
        assert b" 408 " in await reader.readline()
        writer.close()
        await writer.wait_closed()
    assert bed.gateway.asked == []


@pytest.mark.parametrize(
    ("error", "status"), [(BankNotFound("b"), 404), (StoreUnavailable("away"), 503), (Overloaded("full"), 429)]
)
async def test_an_error_of_the_mesh_is_a_problem(error, status):
    async with open_bed(raising(error)) as bed:
        answer = await bed.client.post("/t.S/Put", content=b"{}", headers=JSON | {"x-request-id": "r-1"})
        assert (answer.status_code, answer.json()["reason"]) == (status, error.reason)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["x-request-id"] == answer.json()["requestId"] == "r-1"
        assert answer.headers.get("retry-after") == ("1" if status == 429 else None)


async def test_a_bug_is_a_problem_that_says_nothing_and_is_logged():
    log = io.StringIO()
    set_up_logging(stream=log)
    async with open_bed(raising(ZeroDivisionError("secret"))) as bed:
        answer = await bed.client.post("/t.S/Put", content=b"{}", headers=JSON | {"x-request-id": "r-9"})
        assert (answer.status_code, answer.json()["detail"], answer.json()["requestId"]) == (
            500,
            "internal error",
            "r-9",
        )
        assert "secret" not in answer.text
    assert bed.seen[0][:2] == ("/t.S/Put", 500)
    (told,) = map(json.loads, log.getvalue().splitlines())
    assert told["request_id"] == "r-9"
    assert [(one["exc_type"], one["exc_value"]) for one in told["exception"]] == [("ZeroDivisionError", "secret")]


async def test_every_answer_has_the_request_id_and_is_kept_out_of_caches():
    async with open_bed(echo) as bed:
        for path in ("/", "/livez", "/readyz", "/openapi.json", "/nothing", "/t.S/Get"):
            told = (await bed.client.get(path)).headers
            assert (told["x-request-id"], told["cache-control"]) == ("made", "no-store")
            assert told["x-content-type-options"] == "nosniff"


async def test_answers_that_come_in_a_stream_are_events_with_an_end():
    async with open_bed(echo) as bed:
        answer = await bed.client.post("/t.S/Watch", content=b'{"n":1}', headers=JSON)
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["cache-control"] == "no-store"
        assert events(answer.text) == [("message", {"n": 1}), ("end", {})]


async def test_what_is_wrong_before_the_first_answer_has_a_status_of_its_own():
    async with open_bed(raising(BankNotFound("b"))) as bed:
        answer = await bed.client.get("/t.S/Watch")
        assert (answer.status_code, answer.json()["reason"]) == (404, "BANK_NOT_FOUND")


async def test_what_is_wrong_later_is_the_last_event():
    async with open_bed(raising(StoreUnavailable("away"), b'{"n":1}')) as bed:
        answer = await bed.client.get("/t.S/Watch", headers={"x-request-id": "r-2"})
        first, (kind, problem) = events(answer.text)
        assert (answer.status_code, first, kind) == (200, ("message", {"n": 1}), "problem")
        assert (problem["status"], problem["reason"], problem["requestId"]) == (503, "STORE_UNAVAILABLE", "r-2")


async def test_a_stream_that_is_silent_says_that_it_is_there():
    async with open_bed(silent) as bed, bed.client.stream("GET", "/t.S/Watch") as answer:
        assert answer.status_code == 200
        heard = ""
        async for part in answer.aiter_text():
            heard += part
            if heard.count(": still here\n\n") == 3:
                break


async def test_requests_in_a_stream_are_a_line_each():
    async with open_bed(echo) as bed:
        answer = await bed.client.post("/t.S/Talk", content=b'{"n":1}\n\n{"n":2}', headers=LINES)
        assert events(answer.text) == [("message", {"n": 1}), ("message", {"n": 2}), ("end", {})]
        assert bed.gateway.asked == [Written(b'{"n":1}', 1), Written(b'{"n":2}', 3)]


async def test_a_line_is_answered_before_the_next_is_sent():
    heard = asyncio.Queue()

    async def lines():
        yield b'{"n":1}\n'
        assert json.loads(await heard.get()) == {"n": 1}
        yield b'{"n":2}\n'
        assert json.loads(await heard.get()) == {"n": 2}

    async with open_bed(echo) as bed:
        reader, writer = await asyncio.open_connection(*bed.address.split(":"))
        writer.write(
            b"POST /t.S/Talk HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/jsonl\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        async for line in lines():
            writer.write(b"%x\r\n%b\r\n" % (len(line), line))
            while not (said := await reader.readline()).startswith(b"data: "):
                assert said
            await heard.put(said.removeprefix(b"data: "))
        writer.write(b"0\r\n\r\n")
        while b"event: end" not in await reader.readline():
            pass
        writer.close()
        await writer.wait_closed()


async def test_lines_are_read_no_faster_than_they_are_used():
    """A sender of 64 MiB is held back by what takes one line and then waits."""
    go_on = asyncio.Event()

    async def answers(asked):
        async for _ in asked:
            await go_on.wait()
        yield b"{}"

    async with open_bed(answers) as bed:
        reader, writer = await asyncio.open_connection(*bed.address.split(":"))
        line = b'"' + b"x" * (2**20 - 3) + b'"\n'
        head = "POST /t.S/Load HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/jsonl\r\ncontent-length: "
        writer.write(f"{head}{64 * 2**20}\r\n\r\n".encode())

        async def send():
            for _ in range(64):
                writer.write(line)
                await writer.drain()

        sending = asyncio.create_task(send())
        await bed.gateway.begun.wait()
        done, _ = await asyncio.wait((sending,), timeout=1)
        assert not done
        assert len(bed.gateway.asked) == 1
        go_on.set()
        assert b"200" in await reader.readline()
        await sending
        writer.close()
        await writer.wait_closed()
    assert len(bed.gateway.asked) == 64


@pytest.mark.parametrize(("path", "answers"), [("/t.S/Get", silent), ("/t.S/Watch", silent), ("/t.S/Watch", for_ever)])
async def test_a_client_that_leaves_ends_its_call(path, answers):
    async with open_bed(answers, heartbeat_s=3600) as bed:
        _, writer = await asyncio.open_connection(*bed.address.split(":"))
        writer.write(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        await bed.gateway.begun.wait()
        assert not bed.gateway.ended.is_set()
        writer.close()
        async with asyncio.timeout(30):
            await bed.gateway.ended.wait()
    assert bed.seen[0][0] == path
    assert bed.seen[0][1] in (499, 200)


async def test_a_body_that_breaks_off_asks_nothing():
    async with open_bed(echo) as bed:
        _, writer = await asyncio.open_connection(*bed.address.split(":"))
        writer.write(
            b"POST /t.S/Put HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{}"
        )
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        await asyncio.sleep(0.05)
        assert bed.gateway.asked == []


async def test_a_door_is_ready_when_what_is_behind_it_is():
    async with open_bed(echo) as bed:
        assert (await bed.client.get("/readyz")).text == "ok\n"
        for error in (StoreUnavailable("RecallService is not ready"), Unimplemented("it is another server")):
            bed.gateway.ready = error
            answer = await bed.client.get("/readyz")
            assert (answer.status_code, answer.json()["detail"]) == (503, error.message)
        assert (await bed.client.get("/livez")).text == "ok\n"


async def test_a_door_that_leaves_says_so_and_still_answers_what_comes():
    async with open_bed(echo, drain_s=0.5) as bed:
        bed.leaving.told.set()
        assert (await bed.client.get("/readyz")).status_code == 503
        answer = await bed.client.post("/t.S/Put", content=b"{}", headers=JSON)
        assert (answer.status_code, answer.headers["connection"]) == (200, "close")


async def test_a_call_in_hand_is_finished_when_the_door_leaves():
    go_on = asyncio.Event()

    async def slow(_asked):
        await go_on.wait()
        yield b'{"kept":true}'

    async with open_bed(slow, grace_s=10) as bed:
        client = open_client(bed.address)
        asking = asyncio.create_task(client.post("/t.S/Put", content=b"{}", headers=JSON))
        await bed.gateway.begun.wait()
        asyncio.get_running_loop().call_later(0.4, go_on.set)
    assert (await asking).json() == {"kept": True}
    await client.aclose()
    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection(*bed.address.split(":"))


async def test_a_stream_that_is_never_silent_is_told_that_the_door_leaves():
    async def busy(_asked):
        while True:
            await asyncio.sleep(0.001)
            yield b'{"n":1}'

    async with open_bed(busy, grace_s=1) as bed:
        client = open_client(bed.address)
        listening = asyncio.create_task(client.get("/t.S/Watch"))
        await bed.gateway.begun.wait()
    *told, (kind, problem) = events((await listening).text)
    assert told
    assert (kind, problem["reason"]) == ("problem", "STORE_UNAVAILABLE")
    await client.aclose()


async def test_a_stream_that_has_no_end_is_told_that_the_door_leaves():
    async with open_bed(for_ever, grace_s=1, heartbeat_s=3600) as bed:
        client = open_client(bed.address)
        listening = asyncio.create_task(client.get("/t.S/Watch"))
        await bed.gateway.begun.wait()
    told = events((await listening).text)
    assert told[0] == ("message", {"n": 1})
    assert (told[1][0], told[1][1]["reason"]) == ("problem", "STORE_UNAVAILABLE")
    await client.aclose()


async def test_the_door_is_called_by_names_of_loopback_and_those_that_are_set():
    async with open_bed(echo, hosts=("mesh.example",)) as bed:
        for host in ("localhost", "LOCALHOST:7080", "127.0.0.1:1", "[::1]:7080", "127.9.9.9", "mesh.example"):
            assert (await bed.client.get("/livez", headers={"host": host})).status_code == 200, host


async def test_another_name_is_refused_so_that_no_web_page_gives_its_own_the_doors_address():
    async with open_bed(echo) as bed:
        for host in (
            "evil.example",
            "evil.example:7080",
            "localhost.evil.example",
            "10.0.0.1",
            "",
            "[::2]",
            "[localhost",
        ):
            answer = await bed.client.post("/t.S/Put", content=b"{}", headers=JSON | {"host": host})
            assert (answer.status_code, answer.headers["content-type"]) == (421, "application/problem+json"), host
            assert "RECALLMESH_DOOR__HOSTS" in answer.json()["detail"]
        assert bed.gateway.asked == []


async def test_any_name_may_be_allowed():
    async with open_bed(echo, hosts=("*",)) as bed:
        assert (await bed.client.get("/livez", headers={"host": "evil.example"})).status_code == 200


async def test_pages_of_other_sites_may_do_nothing_unless_they_are_named():
    preflight = {"origin": "https://notes.example", "access-control-request-method": "POST"}
    async with open_bed(echo) as bed:
        answer = await bed.client.options("/t.S/Put", headers=preflight)
        assert answer.status_code == 405
        assert "access-control-allow-origin" not in answer.headers
    async with open_bed(echo, cors_origins=("https://notes.example",)) as bed:
        asked = preflight | {"access-control-request-headers": "content-type, x-request-id"}
        answer = await bed.client.options("/t.S/Put", headers=asked)
        assert answer.headers["access-control-allow-origin"] == "https://notes.example"
        other = await bed.client.options("/t.S/Put", headers=asked | {"origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers
        told = await bed.client.get("/t.S/Get", headers={"origin": "https://notes.example"})
        assert "x-request-id" in told.headers["access-control-expose-headers"].lower()


async def test_what_went_through_the_door_is_counted_by_method_and_status():
    async with open_bed(echo) as bed:
        await bed.client.post("/t.S/Put", content=b"{}", headers=JSON)
        await bed.client.get("/t.S/Put")
        await bed.client.get("/anything/at/all")
    assert [one[:2] for one in bed.seen] == [("/t.S/Put", 200), ("/t.S/Put", 405), ("other", 404)]


async def test_an_address_that_is_taken_is_refused_by_name():
    async with open_bed(echo) as bed:
        with pytest.raises(
            InvalidArgument, match=r"door\.listen: 127\.0\.0\.1:\d+ cannot be listened on: another process"
        ):
            bound(bed.address, "door.listen")


def test_answers_do_not_wait_for_their_readers():
    """Asyncio turns Nagle's algorithm off for sockets that say that they are of TCP, and for no others."""
    with bound("127.0.0.1:0", "listen") as taken:
        assert taken.proto == socket.IPPROTO_TCP


async def test_bytes_that_are_no_http_end_the_connection_and_nothing_else():
    async with open_bed(echo) as bed:
        reader, writer = await asyncio.open_connection(*bed.address.split(":"))
        writer.write(b"\x16\x03\x01\x02\x00 nonsense\r\n\r\n")
        assert b" 400 " in await reader.readline()
        writer.close()
        await writer.wait_closed()
        assert (await bed.client.get("/livez")).status_code == 200
    assert logging.getLogger("uvicorn.error").handlers == []
