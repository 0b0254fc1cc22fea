"""When banks are consolidated, and that the backlog is told as it is."""

from unit.consolidation_fakes import open_desk

from recallmesh.retain.consolidating import ConsolidationClock
from recallmesh.telemetry.metrics import Metrics


async def test_the_backlog_is_told_and_gone_once_it_is_consolidated(tmp_path):
    async with open_desk(tmp_path) as desk:
        metrics, begun = Metrics(), []
        clock = ConsolidationClock(
            desk.bench.ledger,
            now=desk.bench.clock,
            poll_s=1,
            on_begun=lambda: begun.append(True),
            observe=metrics.observe_backlog,
        )

        async def told():
            await clock.count()
            name = "recallmesh_consolidation_backlog"
            value = metrics.registry.get_sample_value
            return (
                value(name, {"kind": "facts"}),
                value(name, {"kind": "observations"}),
                value("recallmesh_consolidation_wait_seconds"),
            )

        assert await told() == (0, 0, 0)
        ids = await desk.keep("Mira moved to Bergen.", "Mira moved to Bergen.", "Mira moved to Bergen in May.")
        desk.bench.clock.forward(65)
        assert await told() == (3, 0, 60)
        await clock.begin()
        assert begun == [True]
        assert await told() == (3, 0, 0)
        while await desk.jobs.step():
            pass
        assert await told() == (0, 0, 0)
        await desk.admin.delete_memory(desk.bench.bank.ref, ids[2])
        assert await told() == (0, 1, 0)
        await desk.due()
        assert await told() == (0, 0, 0)
