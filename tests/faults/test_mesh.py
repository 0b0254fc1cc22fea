"""Three of the faults that ``make chaos`` has all of: one that resets, one that hangs, one that says nothing."""

import pytest
from faults.mesh.chaos import Pace, run
from faults.mesh.fault import Fault, How
from faults.mesh.network import why_not

BRIEF = (Fault("recall", How.PAUSED), Fault("keyword", How.KILLED), Fault("graph", How.PARTED))

pytestmark = [pytest.mark.stores, pytest.mark.timeout(600)]


async def test_what_fails_costs_its_own_part_of_an_answer_and_nothing_that_was_acknowledged(tmp_path, own_servers):
    if reason := why_not():
        pytest.skip(reason)
    outcome = await run(tmp_path, own_servers, suffered=BRIEF, pace=Pace(hold_s=3, every_s=0.8, deadline_s=20), seed=7)
    assert outcome.tally.wrong == [], outcome.told()
    assert outcome.tally.retains >= 10
    _, paused, killed, parted = outcome.rows
    assert all(one.is_available for row in outcome.rows for one in row.asked), outcome.told()
    assert any("keyword unavailable" in one.away for one in killed.asked), outcome.told()
    assert any(name.startswith("graph") for one in parted.asked for name in one.away), outcome.told()
    assert any(one.seconds > 1 for one in paused.asked), outcome.told()
