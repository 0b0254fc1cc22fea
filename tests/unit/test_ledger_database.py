"""What the driver of the ledger's database says goes to the log, and what an operator can mend to the caller."""

import sys

import pytest
import structlog
from sqlalchemy import text

from recallmesh.core.errors import InvalidArgument, NotReady, StoreUnavailable
from recallmesh.ledger.database import backend_of, open_database

FILL = text("INSERT INTO kept (said) VALUES (:said)")
TOLD = "Ida's hidden word"


@pytest.fixture
async def database(tmp_path):
    async with open_database(backend_of(f"sqlite:///{tmp_path}/ledger.db")) as opened:
        await opened.write(lambda connection: connection.exec_driver_sql("CREATE TABLE kept (said TEXT)"))
        yield opened


async def fails(database, error, said, *, statement=FILL, value=TOLD):
    """Write and return the log lines of the failure."""
    with structlog.testing.capture_logs() as logs, pytest.raises(error, match=said):
        await database.write(lambda connection: connection.execute(statement, {"said": value}))
    return [line for line in logs if line["event"] == "ledger.driver_failed"]


async def test_a_full_disk_is_said_and_logged_without_what_was_told(database):
    await database.write(lambda connection: connection.exec_driver_sql("PRAGMA max_page_count = 3"))
    (line,) = await fails(database, StoreUnavailable, "the disk is full", value=TOLD * 10_000)
    assert line["log_level"] == "warning"
    assert (line["error"], line["code"]) == ("database or disk is full", "SQLITE_FULL")
    assert "Ida" not in str(line)


async def test_a_database_that_cannot_be_written_is_said_to_be_read_only(database):
    await database.write(lambda connection: connection.exec_driver_sql("PRAGMA query_only = ON"))
    (line,) = await fails(database, StoreUnavailable, "the database is read-only")
    assert line["code"] == "SQLITE_READONLY"
    assert "Ida" not in str(line)


@pytest.mark.parametrize("told", ["the door is locked", "busy", "the disk is full", "a readonly database"])
async def test_what_was_told_is_not_taken_for_the_drivers_word(database, told):
    (line,) = await fails(
        database,
        StoreUnavailable,
        "does not answer",
        statement=text("INSERT INTO kept VALUES (abs(:said, 1))"),
        value=told,
    )
    assert told not in str(line)


async def test_a_missing_table_is_a_schema_to_be_migrated(database):
    await fails(database, NotReady, "recallmesh migrate", statement=text("INSERT INTO gone VALUES (:said)"))


def test_a_driver_that_is_not_installed_is_told_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "recallmesh.ledger.postgres", raising=False)
    with pytest.raises(InvalidArgument, match=r"ledger\.url: .*recallmesh\[postgres\]") as caught:
        backend_of("postgresql://me:hush@db/mesh")
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("url", ["mysql://me:hush@db/mesh", "postgresql+asyncpg://me:hush@db/mesh", "hush", "a://b:c"])
def test_what_no_ledger_can_be_in_is_refused_with_what_can(url):
    with pytest.raises(InvalidArgument, match=r"sqlite:////.* or postgresql://") as caught:
        backend_of(url)
    assert "hush" not in str(caught.value)
