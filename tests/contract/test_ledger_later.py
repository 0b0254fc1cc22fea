"""A ledger that a later version has migrated: what an older version does with it while a mesh is upgraded."""

import io

import pytest
from contract.ledger_bed import NOW, Bed, chunk, new_bank
from databases import database
from sqlalchemy import text

from recallmesh.core.errors import NotReady
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.page import PageRequest
from recallmesh.ledger import back_up_ledger, inspect_ledger, migrate_ledger, open_ledger
from recallmesh.ledger.database import backend_of, open_database
from recallmesh.ledger.revision import is_newer, is_usable, number_of
from recallmesh.ledger.schema import HEAD

FITTING = f"9000_fits_{number_of(HEAD)}"
STRANGE = "9000_fits_8999"
LATER = (
    "ALTER TABLE memories ADD COLUMN later TEXT NOT NULL DEFAULT ''",
    "CREATE TABLE later (id TEXT PRIMARY KEY)",
)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.stores)])
def url(request, tmp_path):
    """A database without the ledger's schema."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/ledger.db"
        return
    with database(migrated=False) as made:
        yield made


async def migrate_later(url: str, revision: str) -> None:
    """Do what a later version's migration would."""
    await migrate_ledger(url)
    async with open_database(backend_of(url)) as opened:
        for statement in LATER:
            await opened.write(lambda connection, said=statement: connection.execute(text(said)))
        named = text("UPDATE alembic_version SET version_num = :revision").bindparams(revision=revision)
        await opened.write(lambda connection: connection.execute(named))


async def test_what_only_adds_is_worked_on_by_the_version_before(url):
    await migrate_later(url, FITTING)
    async with open_ledger(url) as ledger:
        await ledger.check()
        bed = Bed(ledger, await new_bank(ledger))
        await bed.write("d1", chunk("a", "Nadia bakes."))
        found = await ledger.list_memories(bed.uid, MemoryFilter(), PageRequest(10))
        assert [memory.text for memory in found.rows] == ["Nadia bakes."]
    done = await migrate_ledger(url)
    assert (done.before, done.after) == (FITTING, FITTING)
    seen = await inspect_ledger(url)
    assert (seen.schema, seen.wanted, seen.memories, seen.advice) == (FITTING, FITTING, 1, ())


async def test_a_version_backs_up_only_what_it_knows_all_of(url):
    await migrate_later(url, FITTING)
    with pytest.raises(NotReady, match="newer"):
        await back_up_ledger(url, io.BytesIO(), at=NOW, tell=lambda _done, _total: None)


async def test_what_does_not_say_that_it_fits_is_left_alone(url):
    await migrate_later(url, STRANGE)
    with pytest.raises(NotReady, match="newer"):
        await migrate_ledger(url)
    assert "newer" in (await inspect_ledger(url)).advice[0]
    if url.startswith("sqlite"):
        with pytest.raises(NotReady, match="newer"):
            async with open_ledger(url):
                pass
    else:
        async with open_ledger(url) as ledger:
            with pytest.raises(NotReady, match="newer"):
                await ledger.check()


@pytest.mark.parametrize(
    ("found", "ours", "usable", "newer"),
    [
        ("0004", "0004", True, False),
        ("", "0004", False, False),
        ("0003", "0004", False, False),
        ("0005", "0004", False, True),
        ("0005_fits_0004", "0004", True, True),
        ("0006_fits_0004", "0005_fits_0004", True, True),
        ("0006_fits_0005", "0004", False, True),
        ("0005_fits_0004", "0006", False, False),
        ("of somebody else", "0004", False, True),
    ],
)
def test_a_schema_says_which_code_it_is_for(found, ours, usable, newer):
    assert (is_usable(found, ours), is_newer(found, ours)) == (usable, newer)
