"""A few hundred retains with kills, as ``make faults`` has ten thousand."""

import pytest
from databases import database
from faults.soak import run


@pytest.fixture
def on_postgres(monkeypatch):
    with database() as url:
        monkeypatch.setenv("RECALLMESH_LEDGER__URL", url)
        yield


async def nothing_is_lost(folder, retains: int, kills: int) -> None:
    outcome = await run(folder, retains=retains, kills=kills, seed=7)
    assert outcome.tally.wrong == [], outcome.told()
    assert (outcome.tally.kills, outcome.tally.retains >= retains) == (kills, True)
    assert outcome.memories > retains
    assert outcome.mended == dict.fromkeys(("keyword", "graph"), outcome.memories)


@pytest.mark.timeout(600)
async def test_kills_while_many_write_lose_nothing_double_nothing_and_damage_is_mended(tmp_path):
    await nothing_is_lost(tmp_path, retains=300, kills=5)


@pytest.mark.stores
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("on_postgres")
async def test_kills_lose_nothing_of_a_ledger_on_postgresql(tmp_path):
    await nothing_is_lost(tmp_path, retains=120, kills=3)
