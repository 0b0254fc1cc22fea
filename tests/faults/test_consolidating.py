"""A server is killed while it consolidates, again and again: in the end every fact is evidence, and once."""

import asyncio

import pytest
from deployment import open_served, until

from recallmesh.core.bank import BankConfig, ConsolidationTuning
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.memory import FactType

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(600)]

KILLS = 3
PAIRS = 60
OBSERVATIONS = MemoryFilter(fact_types=(FactType.OBSERVATION,))
ENVIRONMENT = {
    # Small batches of time: it is consolidated at once, and taken over soon after its worker died.
    "RECALLMESH_RETAIN__CONSOLIDATION_DELAY_S": "0",
    "RECALLMESH_RETAIN__JOB_LEASE_S": "2",
    "RECALLMESH_RERANKER__BACKEND": "none",
}


async def test_kills_in_the_middle_of_consolidation_lose_nothing_and_double_nothing(tmp_path):
    async with open_served(tmp_path, ENVIRONMENT) as mesh:
        process = mesh.processes["all"]
        process.port = int(process.address.rpartition(":")[2])
        diary = await mesh.diary(BankConfig(consolidation=ConsolidationTuning(enabled=True)))
        for number in range(PAIRS):
            await diary.keep(*[f"The keeper of shed {number} counts the gulls every morning."] * 2)
            if number % (PAIRS // KILLS) == PAIRS // KILLS - 1:
                await asyncio.sleep(0.2)  # into its work
                process.kill()
                process.start()
                await process.ready()

        async def all_observed():
            found = await diary.memories(OBSERVATIONS)
            return found if sum(one.proof_count for one in found) == 2 * PAIRS else None

        made = await until(all_observed, 120)
        sources = [source for one in made for source in one.sources]
        assert (len(made), len(sources), len(set(sources))) == (PAIRS, 2 * PAIRS, 2 * PAIRS)
        facts = await diary.memories(MemoryFilter(fact_types=(FactType.WORLD,)))
        assert {one.id for one in facts} == set(sources)

        async def nothing_pending():
            return (await mesh.faces.admin.bank_stats(diary.ref)).pending == 0

        assert await until(nothing_pending, 60)
