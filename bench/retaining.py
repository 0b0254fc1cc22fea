"""The retain half of the speed bench."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.baseline import BareTable
from bench.clock import Clock
from bench.hashed import MeteredEmbedder
from recallmesh.core.bank import BankConfig, BankRef, ExtractionMode, RetainTuning
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.mesh import Assembly

BATCH = 1_000
SINGLES = 20
"""The last so many items come one a call."""


async def measure_retain(
    assembly: Assembly, bank: BankRef, items: Sequence[RetainItem], embedder: MeteredEmbedder, folder: Path
) -> dict[str, float]:
    """Retain the items, and put the same rows into a bare table."""
    admin, retainer = await assembly.admin(), await assembly.retainer()
    await admin.create_bank(bank, config=BankConfig(retain=RetainTuning(mode=ExtractionMode.CHUNKS)))
    # Those that come alone are documents of their own: with its name they would be a document's new content.
    many, few = items[:-SINGLES], [replace(item, document_id="") for item in items[-SINGLES:]]
    batches = [tuple(many[first : first + BATCH]) for first in range(0, len(many), BATCH)]
    whole, single = Clock(), Clock()
    model_wall, model_cpu = embedder.wall_s, embedder.cpu_s
    for batch in batches:
        with whole.taking():
            await retainer.retain(RetainRequest(bank, batch))
    model_wall, model_cpu = embedder.wall_s - model_wall, embedder.cpu_s - model_cpu
    texts = embedder.texts
    single_model = embedder.wall_s
    for item in few:
        with single.taking():
            await retainer.retain(RetainRequest(bank, (item,)))
    single_model = embedder.wall_s - single_model
    bare, bare_single = _bare(folder / "bare.db", batches, few)
    ours_wall = sum(whole.walls) - model_wall * 1000
    return {
        "retain, items/s": len(many) / sum(whole.walls) * 1000,
        "retain, items/s without the model": len(many) / ours_wall * 1000,
        "retain: the embedder's own part alone, items/s": len(many) / model_wall,
        "ratio: retain / the embedder's own part alone": model_wall * 1000 / sum(whole.walls),
        "retain, texts embedded an item": texts / len(many),
        "retain, CPU ms an item: model": model_cpu * 1000 / len(many),
        "retain, CPU ms an item: ours": (whole.cpu_ms + whole.worker_ms - model_cpu * 1000) / len(many),
        "retain, CPU ms an item: of that the vectors' worker": whole.worker_ms / len(many),
        "retain one item, p50 ms": single.p50,
        "retain one item, CPU ms": single.cpu_each,
        "retain one item, of that the model, ms": single_model * 1000 / len(few),
        "bare insert, CPU ms an item": bare.cpu_ms / len(many),
        "bare insert of one, p50 ms": bare_single.p50,
        "ratio: retain without the model / bare insert, wall": ours_wall / sum(bare.walls),
        "ratio: retain one item / bare insert of one": single.p50 / bare_single.p50,
    }


def _bare(path: Path, batches: Sequence[Sequence[RetainItem]], few: Sequence[RetainItem]) -> tuple[Clock, Clock]:
    table, many, single = BareTable(path), Clock(), Clock()
    for batch in batches:
        with many.taking():
            table.insert(batch)
    for item in few:
        with single.taking():
            table.insert([item])
    table.close()
    return many, single
