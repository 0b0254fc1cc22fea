"""A few hundred retains with kills, as ``make faults`` has ten thousand."""

import pytest
from faults.soak import run


@pytest.mark.timeout(600)
async def test_kills_while_many_write_lose_nothing_double_nothing_and_damage_is_mended(tmp_path):
    outcome = await run(tmp_path, retains=300, kills=5, seed=7)
    assert outcome.tally.wrong == [], outcome.told()
    assert (outcome.tally.kills, outcome.tally.retains >= 300) == (5, True)
    assert outcome.memories > 300
    assert outcome.mended == dict.fromkeys(("keyword", "graph"), outcome.memories)
