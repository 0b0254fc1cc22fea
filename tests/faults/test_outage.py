"""A hundred and fifty writes while servers are away, as ``make outages`` has five thousand."""

import pytest
from faults.outage import OUTAGES, run

BRIEF = tuple(outage for outage in OUTAGES if outage.how != "stopped")
"""What a server does not announce: it hangs, or is gone."""

pytestmark = [pytest.mark.stores, pytest.mark.timeout(900)]


async def test_servers_that_are_away_cost_their_own_arm_and_nothing_is_lost(tmp_path, own_servers):
    outcome = await run(tmp_path, own_servers, retains=150, outages=BRIEF, seed=7)
    assert outcome.tally.wrong == [], outcome.told()
    assert outcome.tally.retains >= 150
    assert len(outcome.back_s) == len(BRIEF)
