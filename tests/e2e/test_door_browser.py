"""The JSON door in a real browser: what pages of a site that is let in can do, and those of another cannot."""

import asyncio
import re
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from browsing import open_browser
from door_bed import echo, open_bed

pytestmark = pytest.mark.timeout(600)

PAGE = Path(__file__).parents[2] / "docs/http.md"
ASK = """async ([address, type]) => {
  try {
    const mode = type === "text/plain" ? "no-cors" : "cors";
    const asked = { method: "POST", headers: { "content-type": type }, body: '{"n":1}', mode };
    const answer = await fetch(`http://${address}/t.S/Put`, asked);
    return [answer.status, answer.headers.get("x-request-id"), await answer.text()];
  } catch (error) { return String(error); }
}"""
READ = """async (address) => fetch(`http://${address}/t.S/Get?n=1`).then((answer) => answer.text(), String)"""


@asynccontextmanager
async def open_site():
    """A web site of one empty page; gives its port."""

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def two(_asked):
    for number in (1, 2):
        yield b'{"event":{"number":%d}}' % number


async def test_a_page_of_a_site_that_is_let_in_asks_and_listens():
    async with open_site() as port, open_browser() as browser:
        site = f"http://127.0.0.1:{port}"
        page = await browser.new_page()
        await page.goto(site)
        async with open_bed(echo, cors_origins=(site,)) as bed:
            assert await page.evaluate(ASK, [bed.address, "application/json"]) == [200, "made", '{"n":1}\n']
        async with open_bed(two, cors_origins=(site,)) as bed:
            said = []
            page.on("console", lambda line: said.append(f"{line.type}: {line.text}"))
            (script,) = re.findall(r"^```js\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
            script = script.replace("127.0.0.1:7080/recallmesh.v1.BankService/WatchEvents", f"{bed.address}/t.S/Watch")
            closed = await page.evaluate(
                f"async () => {{ {script} while (events.readyState !== EventSource.CLOSED) "
                "await new Promise((on) => setTimeout(on, 20)); return events.readyState; }"
            )
            assert closed == 2
            assert len(said) == 2
            assert len(bed.gateway.callers) == 1


async def test_a_page_of_another_site_can_neither_write_nor_read():
    async with open_site() as port, open_browser() as browser, open_bed(echo) as bed:
        page = await browser.new_page()
        await page.goto(f"http://127.0.0.1:{port}")
        assert "TypeError" in await page.evaluate(ASK, [bed.address, "application/json"])
        await page.evaluate(ASK, [bed.address, "text/plain"])
        assert [one[:2] for one in bed.seen] == [("/t.S/Put", 405), ("/t.S/Put", 415)]
        assert bed.gateway.asked == []
        assert "TypeError" in await page.evaluate(READ, bed.address)


async def test_a_site_that_gives_its_own_name_the_doors_address_gets_nowhere():
    async with open_browser("--host-resolver-rules=MAP evil.example 127.0.0.1") as browser, open_bed(echo) as bed:
        page = await browser.new_page()
        address = f"evil.example:{bed.address.rpartition(':')[2]}"
        answer = await page.goto(f"http://{address}/livez")
        assert answer.status == 421
        assert (await page.evaluate(ASK, [address, "application/json"]))[0] == 421
        assert bed.gateway.asked == []
