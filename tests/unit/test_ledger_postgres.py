"""What a PostgreSQL database does to a transaction: conflicts, lost connections, limits, and what its errors mean."""

import asyncio
import gc
import subprocess
import sys
import threading
from dataclasses import replace

import psycopg
import pytest
import structlog
from contract.ledger_bed import LATER, MINUTE, NOW, Backend, Bed, chunk, new_bank, uid
from databases import database
from sqlalchemy import make_url, text

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import Bank, BankRef
from recallmesh.core.errors import ConflictingWrite, InvalidArgument, MeshError, NotReady, StoreUnavailable
from recallmesh.core.page import PageRequest
from recallmesh.ledger.database import READERS, backend_of, open_database
from recallmesh.ledger.outbox import lease_rows
from recallmesh.ledger.reading import read_memories
from recallmesh.ledger.schema import HEAD
from recallmesh.ledger.upkeep import inspect_ledger, migrate_ledger

pytestmark = pytest.mark.stores
TOLD = "Ida's hidden word"
FILL = text("INSERT INTO kept (id, said) VALUES (:id, :said)")


@pytest.fixture
def url():
    with database() as url:
        yield url


@pytest.fixture
def bare():
    with database(migrated=False) as url:
        yield url


@pytest.fixture
async def kept(bare):
    """A database with a table of two rows."""
    async with open_database(replace(backend_of(bare, timeout_s=1), lock_s=0.3)) as opened:
        await opened.write(
            lambda connection: connection.execute(
                text("CREATE TABLE kept AS SELECT id, '' AS said FROM generate_series(1, 2) AS id")
            )
        )
        yield opened


def said(connection) -> list[str]:
    return list(connection.execute(text("SELECT said FROM kept ORDER BY id")).scalars())


async def test_two_that_wait_for_each_other_both_come_to_their_end(kept):
    met = threading.Barrier(2)
    runs = []

    def crossing(first: int, second: int):
        def work(connection) -> None:
            runs.append(first)
            add = text("UPDATE kept SET said = said || :word WHERE id = :id")
            connection.execute(add, {"id": first, "word": "x"})
            if len(runs) <= 2:
                met.wait(30)
            connection.execute(add, {"id": second, "word": "x"})

        return work

    patient = replace(kept._backend, lock_s=20, timeout_s=20)
    async with open_database(patient) as opened:
        await asyncio.gather(opened.write(crossing(1, 2)), opened.write(crossing(2, 1)))
    assert await kept.read(said) == ["xx", "xx"]
    assert len(runs) == 3


async def test_who_waits_for_another_too_long_may_try_again(kept):
    holds, enough = threading.Event(), threading.Event()

    def hold(connection) -> None:
        connection.execute(text("SELECT * FROM kept FOR UPDATE"))
        holds.set()
        enough.wait(10)

    holding = asyncio.create_task(kept.write(hold))
    await asyncio.to_thread(holds.wait, 30)
    with pytest.raises(ConflictingWrite, match="busy with other writes"):
        await kept.write(lambda connection: connection.execute(text("UPDATE kept SET said = 'late'")))
    enough.set()
    await holding


async def test_a_statement_that_takes_too_long_is_ended(kept):
    with pytest.raises(StoreUnavailable, match="in time"):
        await kept.read(lambda connection: connection.execute(text("SELECT pg_sleep(30)")))
    assert await kept.read(said) == ["", ""]


def end(connection) -> None:
    """Let the server end a connection, as it does when it is stopped."""
    pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    with psycopg.connect(
        connection.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    ) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


async def test_a_transaction_whose_connection_is_lost_is_run_again(kept):
    runs = []

    def work(connection) -> None:
        runs.append(1)
        connection.execute(text("UPDATE kept SET said = said || 'x'"))
        if len(runs) == 1:
            end(connection)
        connection.execute(text("UPDATE kept SET said = said || 'y'"))

    await kept.write(work)
    assert await kept.read(said) == ["xy", "xy"]
    assert len(runs) == 2


async def test_one_that_was_about_to_be_kept_is_not_run_again_since_it_may_be(kept):
    runs = []

    def work(connection) -> None:
        runs.append(1)
        connection.execute(text("UPDATE kept SET said = said || 'x'"))
        end(connection)

    with pytest.raises(StoreUnavailable, match="before it said whether the write was kept"):
        await kept.write(work)
    assert len(runs) == 1


async def test_work_that_cannot_be_taken_back_runs_once(kept):
    runs = []

    def work(connection) -> None:
        runs.append(1)
        end(connection)
        connection.execute(text("SELECT 1"))

    with pytest.raises(StoreUnavailable):
        await kept.write(work, again=False)
    assert len(runs) == 1


async def test_who_gives_up_leaves_a_transaction_that_ends_alone_and_is_not_complained_of(kept):
    complaints, begun, enough = [], threading.Event(), threading.Event()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))

    def work(connection) -> None:
        connection.execute(text("UPDATE kept SET said = 'kept'"))
        begun.set()
        enough.wait(30)

    def fail(_connection) -> None:
        begun.set()
        enough.wait(30)
        raise NotReady("for a reason")

    for given_up in (work, fail):
        writing = asyncio.create_task(kept.write(given_up))
        await asyncio.to_thread(begun.wait, 30)
        writing.cancel()
        begun.clear()
    enough.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await kept.close()
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []
    async with open_database(kept._backend) as again:
        assert await again.read(said) == ["kept", "kept"]


async def test_a_reader_can_change_nothing(kept):
    with pytest.raises(StoreUnavailable, match="read-only"):
        await kept.read(lambda connection: connection.execute(text("UPDATE kept SET said = 'x'")))


async def test_a_reader_sees_one_moment(kept):
    looked, changed = threading.Event(), threading.Event()

    def twice(connection) -> list[str]:
        seen = said(connection)
        looked.set()
        changed.wait(30)
        return seen + said(connection)

    reading = asyncio.create_task(kept.read(twice))
    await asyncio.to_thread(looked.wait, 30)
    await kept.write(lambda connection: connection.execute(text("UPDATE kept SET said = 'new'")))
    changed.set()
    assert await reading == [""] * 4


async def fails(database, error, match, statement, **values) -> list[dict]:
    structlog.reset_defaults()  # a mesh that ran before may have set it up to say less
    with structlog.testing.capture_logs() as logs, pytest.raises(error, match=match) as caught:
        await database.write(lambda connection: connection.execute(statement, values))
    assert TOLD not in str(caught.value.message)
    assert TOLD not in str(logs)
    return [line for line in logs if line["event"] == "ledger.driver_failed"]


async def test_what_was_told_is_neither_logged_nor_said(kept):
    await kept.write(
        lambda connection: connection.execute(text("CREATE UNIQUE INDEX once ON kept (said) WHERE id > 2"))
    )
    await kept.write(lambda connection: connection.execute(FILL, {"id": 3, "said": TOLD}))
    lines = await fails(kept, ConflictingWrite, "another write", FILL, id=4, said=TOLD)
    assert {line["code"] for line in lines} == {"23505"}
    assert len(lines) == kept._backend.runs
    [line] = await fails(kept, InvalidArgument, "cannot keep", text("SELECT CAST(:said AS integer)"), said=TOLD)
    assert line["code"] == "22P02"


async def test_a_missing_table_is_a_schema_to_be_migrated(kept):
    await fails(kept, NotReady, "recallmesh migrate", text("INSERT INTO gone VALUES (:said)"), said=TOLD)


async def test_a_nul_character_is_a_fault_of_what_was_asked(url):
    async with Backend(url).open() as ledger:
        bank = await new_bank(ledger)
        with pytest.raises(InvalidArgument, match="NUL"):
            await ledger.get_document(bank.uid, "a\0b")
        assert await ledger.read(bank.uid, ("a\0b",)) == ()


async def test_all_texts_are_ordered_by_their_bytes(url):
    async with Backend(url).open() as ledger:
        for name in ("b", "B", "a", "é", "_", "Z", "10", "9"):
            await ledger.create_bank(Bank(BankRef(name), uid(), NOW))
        listed = [one.ref.bank_id for one in (await ledger.list_banks("default", PageRequest())).rows]
    assert listed == sorted(listed, key=str.encode)
    async with open_database(backend_of(url)) as opened:
        found = await opened.read(
            lambda connection: connection.execute(
                text(
                    "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' AND "
                    "data_type IN ('text', 'character varying') AND collation_name IS DISTINCT FROM 'C'"
                )
            ).all()
        )
    assert [tuple(row) for row in found if row.table_name != "alembic_version"] == []


def touched(connection, table: str) -> int:
    """The rows of a table that a transaction has read so far."""
    counted = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = :name"
    return connection.execute(text(counted), {"name": table}).scalar_one()


@pytest.mark.parametrize("analysed", ["before", "after"])
async def test_a_read_touches_the_rows_it_returns_whatever_the_statistics_say(bare, analysed):
    """A bank that came since they were taken is unknown to them; among many small ones it seems to be small."""
    await migrate_ledger(bare)
    async with Backend(bare).open() as ledger, open_database(backend_of(bare)) as opened:

        async def analyse(when: str) -> None:
            if when == analysed:
                await opened.write(lambda connection: connection.execute(text("ANALYZE")))

        for number in range(60):
            small = Bed(ledger, await new_bank(ledger, f"small{number}"))
            await small.write("doc", chunk("a", "one"))
        await analyse("before")
        large = Bed(ledger, await new_bank(ledger, "large"))
        added = (await large.write("doc", *(chunk(f"c{n}", f"fact {n}") for n in range(1500)))).added
        await analyse("after")
        ids = [one.id for one in added[:100]]

        def read(connection) -> tuple[int, int]:
            found = read_memories(connection, large.uid, ids)
            return len(found), touched(connection, "memories")

        assert await opened.read(read) == (100, 100)

        def lease(connection) -> tuple[int, int]:
            rows = lease_rows(connection, "w", ArmName.GRAPH, limit=50, lease=MINUTE, now=LATER)
            return len(rows), touched(connection, "outbox")

        leased, looked_at = await opened.write(lease)
        assert leased == 50
        assert looked_at < 50 * 6


async def test_a_ledger_without_its_schema_is_refused_by_every_call_until_it_is_migrated(bare):
    async with Backend(bare).open() as ledger:
        for _ in range(2):
            with pytest.raises(NotReady, match="run: recallmesh migrate"):
                await ledger.check()
            with pytest.raises(NotReady, match="run: recallmesh migrate"):
                await ledger.get_bank(BankRef("bank"))
        assert (await migrate_ledger(bare)).after == HEAD
        await new_bank(ledger)
        await ledger.check()
        async with open_database(backend_of(bare)) as opened:
            newer = text("UPDATE alembic_version SET version_num = '9999'")
            await opened.write(lambda connection: connection.execute(newer))
        with pytest.raises(NotReady, match="newer"):
            await ledger.check()
        with pytest.raises(NotReady, match="newer"):
            await ledger.get_bank(BankRef("bank"))


def test_processes_that_migrate_at_once_wait_for_each_other(bare):
    script = (
        "import asyncio, sys; from recallmesh.ledger import migrate_ledger;"
        "print(asyncio.run(migrate_ledger(sys.argv[1])).before or 'nothing')"
    )
    begun = [
        subprocess.Popen([sys.executable, "-c", script, bare], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    told = [process.communicate(timeout=50)[0].strip() for process in begun]
    assert sorted(told) == sorted(["nothing", HEAD, HEAD, HEAD])


async def test_a_ledger_is_looked_at_from_outside(url, bare):
    async with Backend(url).open() as ledger:
        await new_bank(ledger)
    found = await inspect_ledger(url)
    assert (found.store, found.schema, found.wanted, found.memories, found.advice) == ("postgres", HEAD, HEAD, 0, ())
    assert found.version.split(".")[0].isdigit()
    assert abs(found.skew_s) < 60
    empty = await inspect_ledger(bare)
    assert (empty.schema, empty.memories, empty.advice) == ("", None, ("run: recallmesh migrate",))


async def test_a_ledger_that_is_away_is_told_of_without_its_password():
    away = "postgresql://me:hush@127.0.0.1:1/mesh?sslpassword=hush"
    with structlog.testing.capture_logs() as logs:
        found = await inspect_ledger(away)
        with pytest.raises(MeshError) as caught:
            await migrate_ledger(away)
    assert (found.version, found.address) == ("", "postgresql://me@127.0.0.1:1/mesh")
    assert found.advice
    assert isinstance(caught.value, StoreUnavailable)
    assert "hush" not in f"{found} {caught.value} {logs}"


async def test_a_ledger_that_lets_nobody_in_is_not_said_to_be_away(bare):
    url = make_url(bare)
    for other in (url.set(database="no such one"), url.set(username="nobody")):
        with pytest.raises(StoreUnavailable, match="lets nobody in by this user, password and database"):
            await migrate_ledger(other.render_as_string(hide_password=False))


async def test_a_glance_sees_what_is_committed_changes_nothing_and_leaves_the_connection_as_it_was(kept):
    await kept.write(lambda connection: connection.execute(text("UPDATE kept SET said = 'seen'")))
    for _ in range(READERS + 1):
        assert await kept.glance(said) == ["seen", "seen"]
    with pytest.raises(StoreUnavailable, match="read-only"):
        await kept.glance(lambda connection: connection.execute(text("UPDATE kept SET said = 'x'")))
    level = text("SHOW transaction_isolation")
    assert await kept.glance(lambda connection: connection.execute(level).scalar_one()) == "read committed"
    assert await kept.read(lambda connection: connection.execute(level).scalar_one()) == "repeatable read"


async def test_a_glance_whose_connection_is_lost_is_made_again(kept):
    runs = []

    def work(connection) -> list[str]:
        runs.append(1)
        if len(runs) == 1:
            end(connection)
        return said(connection)

    assert await kept.glance(work) == ["", ""]
    assert len(runs) == 2
