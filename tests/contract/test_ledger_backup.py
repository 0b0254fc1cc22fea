"""A ledger written to one file, and read back into another database of either kind."""

import asyncio
import gzip
import hashlib
import io
import json

import pytest
from contract.ledger_bed import ARMS, LATER, MINUTE, NOW, Backend, Bed, backend, chunk, fact, new_bank, reach, uid
from databases import database

from recallmesh.core.errors import InvalidArgument, NotReady
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.operation import OperationKind
from recallmesh.core.page import PageRequest
from recallmesh.ledger import back_up_ledger, migrate_ledger, open_ledger, read_contents, restore_ledger
from recallmesh.ledger.migration import upgrade
from recallmesh.ledger.restore import tables_of
from recallmesh.ledger.schema import HEAD

__all__ = ["backend"]


def nothing(_done: int, _total: int) -> None:
    """Tell nobody."""


async def backed_up(url: str) -> io.BytesIO:
    file = io.BytesIO()
    await back_up_ledger(url, file, at=NOW, tell=nothing)
    file.seek(0)
    return file


@pytest.fixture
def file_url(tmp_path) -> str:
    return f"sqlite:///{tmp_path}/restored.db"


async def told(url: str) -> dict[str, list]:
    """All that a ledger shows of its banks."""
    async with open_ledger(url) as ledger:
        page = await ledger.every_bank(PageRequest(100))
        return {
            bank.uid: [
                bank,
                (await ledger.list_documents(bank.uid, PageRequest(1000))).rows,
                (await ledger.list_memories(bank.uid, MemoryFilter(), PageRequest(1000))).rows,
                (await ledger.list_entities(bank.uid, PageRequest(1000))).rows,
                (await ledger.list_operations(bank.uid, PageRequest(1000))).rows,
            ]
            for bank in page.rows
        }


async def filled(ledger) -> None:
    for tenant in ("default", "other"):
        bed = Bed(ledger, await new_bank(ledger, "diary", tenant))
        await bed.write("d1", chunk("a", "Nadia bakes.", fact("Zoë 😀 says\nhello", tags=("x", "y"))))
        await bed.write("d2", chunk("b", "Leo has a dog."))
        await ledger.submit(bed.uid, OperationKind.RETAIN, b"\x00\xff request", 1, NOW)


async def test_what_is_restored_is_what_was_backed_up(backend: Backend, file_url):
    async with backend.open() as ledger:
        await filled(ledger)
    file = await backed_up(backend.url)
    contents = await restore_ledger(file_url, file, tell=nothing)
    assert contents.rows["banks"] == 2
    assert contents.schema == HEAD
    assert await told(file_url) == await told(backend.url)


@pytest.mark.stores
async def test_a_file_is_restored_into_a_server_and_counts_on_there(tmp_path):
    source = f"sqlite:///{tmp_path}/ledger.db"
    async with open_ledger(source) as ledger:
        await filled(ledger)
    file = await backed_up(source)
    with database(migrated=False) as url:
        await restore_ledger(url, file, tell=nothing)
        assert await told(url) == await told(source)
        async with open_ledger(url) as ledger:
            page = await ledger.every_bank(PageRequest(10))
            bed = Bed(ledger, page.rows[0])
            commit = await bed.write("d3", chunk("c", "Pixel sleeps."))
            assert {row.arm for row in await ledger.own_outbox(commit.write_id)} == set(ARMS)


async def test_a_backup_is_of_one_moment_while_others_write(backend: Backend, file_url):
    """Each document is written with two memories in one transaction: never one of them without the other."""
    async with backend.open() as ledger:
        bed = Bed(ledger, await new_bank(ledger))
        before = [f"early-{number}" for number in range(20)]
        for name in before:
            await bed.write(name, chunk(name, f"{name} one", f"{name} two"))
        stop = asyncio.Event()

        async def write() -> int:
            number = 0
            while not stop.is_set():
                await bed.write(f"late-{number}", chunk(f"late-{number}", f"late {number} one", f"late {number} two"))
                number += 1
            return number

        writing = asyncio.create_task(write())
        await asyncio.sleep(0)
        file = await backed_up(backend.url)
        stop.set()
        assert await writing > 0
    await restore_ledger(file_url, file, tell=nothing)
    [[_, documents, memories, *_]] = (await told(file_url)).values()
    assert set(before) <= {one.id for one in documents}
    assert len(memories) == 2 * len(documents)


async def test_bytes_come_back_as_they_were(backend: Backend, file_url):
    async with backend.open() as ledger:
        await filled(ledger)
    await restore_ledger(file_url, await backed_up(backend.url), tell=nothing)
    async with open_ledger(file_url) as ledger:
        job = await ledger.lease_job("worker", (OperationKind.RETAIN,), lease=MINUTE, now=LATER)
    assert job is not None
    assert job.payload == b"\x00\xff request"


async def test_a_ledger_that_holds_something_is_not_restored_into(backend: Backend, file_url):
    async with backend.open() as ledger:
        await filled(ledger)
    file = await backed_up(backend.url)
    async with open_ledger(file_url) as ledger:
        mine = await new_bank(ledger, "mine")
    with pytest.raises(NotReady, match="not empty"):
        await restore_ledger(file_url, file, tell=nothing)
    assert list(await told(file_url)) == [mine.uid]


async def test_an_empty_migrated_ledger_is_filled(backend: Backend, file_url):
    async with backend.open() as ledger:
        await filled(ledger)
    await migrate_ledger(file_url)
    await restore_ledger(file_url, await backed_up(backend.url), tell=nothing)
    assert await told(file_url) == await told(backend.url)


def unpacked(file: io.BytesIO) -> list[bytes]:
    return gzip.decompress(file.getvalue()).splitlines(keepends=True)


def packed(lines: list[bytes]) -> io.BytesIO:
    return io.BytesIO(gzip.compress(b"".join(lines)))


@pytest.fixture
async def whole(tmp_path) -> io.BytesIO:
    url = f"sqlite:///{tmp_path}/source.db"
    async with open_ledger(url) as ledger:
        await filled(ledger)
    return await backed_up(url)


async def refused(file: io.BytesIO, url: str) -> str:
    with pytest.raises(InvalidArgument) as caught:
        await restore_ledger(url, file, tell=nothing)
    assert not await told(url)
    return caught.value.message


async def test_a_backup_that_is_cut_off_is_refused(whole, file_url):
    for share in (0.3, 0.7, 0.99):
        cut = io.BytesIO(whole.getvalue()[: int(len(whole.getvalue()) * share)])
        assert "cut off" in await refused(cut, file_url)
    assert "cut off" in await refused(packed(unpacked(whole)[:-1]), file_url)


async def test_a_backup_that_was_changed_is_refused(whole, file_url):
    lines = unpacked(whole)
    at = next(number for number, line in enumerate(lines) if b"Leo has a dog." in line)
    changed = [*lines[:at], lines[at].replace(b"dog", b"cat"), *lines[at + 1 :]]
    assert "changed" in await refused(packed(changed), file_url)
    assert "changed" in await refused(packed([*lines[:at], *lines[at + 1 :]]), file_url)
    assert "after its end" in await refused(packed([*lines, lines[at]]), file_url)


async def test_what_is_no_backup_is_refused(file_url):
    for data in (b"", b"hello", gzip.compress(b"hello\n"), gzip.compress(b"[1]\n"), gzip.compress(b'{"a": 1}\n')):
        assert "FILE" in await refused(io.BytesIO(data), file_url)


async def test_a_newer_versions_backup_is_refused(whole, file_url):
    header, *rest = unpacked(whole)
    newer = json.dumps(json.loads(header) | {"schema": "9999", "made_by": "9.9"}).encode() + b"\n"
    assert "newer version of recallmesh (9.9)" in await refused(packed([newer, *rest]), file_url)


async def test_a_restore_that_fails_half_way_leaves_nothing(whole, file_url):
    """The file is whole, but the database refuses a row: a bank twice."""
    lines = unpacked(whole)
    at = next(number for number, line in enumerate(lines) if line.startswith(b'{"table":"banks"')) + 1
    row = json.loads(lines[at + 1])
    row[0], row[2] = uid(), json.loads(lines[at])[2]
    row[1] = json.loads(lines[at])[1]
    lines[at + 1] = json.dumps(row).encode() + b"\n"
    again = with_end(lines)
    assert read_contents(again).rows["banks"] == 2
    again.seek(0)
    with pytest.raises(Exception, match="another write came between"):
        await restore_ledger(file_url, again, tell=nothing)
    assert not await told(file_url)


def with_end(lines: list[bytes]) -> io.BytesIO:
    body, end = lines[:-1], json.loads(lines[-1])
    return packed([*body, json.dumps(end | {"sha256": hashlib.sha256(b"".join(body)).hexdigest()}).encode() + b"\n"])


async def test_an_older_schema_is_made_filled_and_migrated(whole, tmp_path, file_url):
    """The second schema has no table of models, and no column of origins."""
    old = f"sqlite:///{tmp_path}/old.db"
    with reach(old) as connection:
        upgrade(connection, "0002")
        known = {table.name: table.columns.keys() for table in tables_of(connection).values()}
    lines, rows, columns, names = unpacked(whole), dict[str, int](), list[int](), list[str]()
    older: list[bytes] = []
    for line in lines[1:-1]:
        value = json.loads(line)
        if isinstance(value, dict):
            table, names = value["table"], value["columns"]
            columns = [n for n, name in enumerate(names) if name in known.get(table, ())]
            if columns:
                rows[table] = 0
                older.append(json.dumps({"table": table, "columns": [names[n] for n in columns]}).encode() + b"\n")
        elif columns:
            rows[table] += 1
            older.append(json.dumps([value[n] for n in columns]).encode() + b"\n")
    header = json.dumps(json.loads(lines[0]) | {"schema": "0002", "rows": rows}).encode() + b"\n"
    end = json.dumps({"end": sum(rows.values()), "sha256": ""}).encode() + b"\n"
    contents = await restore_ledger(file_url, with_end([header, *(one for one in older), end]), tell=nothing)
    assert contents.schema == "0002"
    async with open_ledger(file_url) as ledger:
        assert len((await ledger.every_bank(PageRequest(9))).rows) == 2
        assert await ledger.model_use() is None
