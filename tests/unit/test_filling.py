"""A bank filled for measuring is one that a mesh opens and answers from, whichever way it was filled."""

from pathlib import Path

from bench import corpus, probing
from bench.growing import Growing, texts_of
from bench.hashed import HashedEmbedder
from bench.rows import BANK_UID
from bench.steps import BANK, fill_steps, laid_aside
from recallmesh.core.arm import ArmName, ArmQuery
from recallmesh.core.encoder import EmbedKind
from recallmesh.core.recall import PartState, RecallRequest
from recallmesh.core.tuning import RecallTuning
from recallmesh.mesh import open_assembly
from recallmesh.settings import load_settings

GROWING = Growing(corpus.load_vocabulary())
TEXT = texts_of(GROWING.document(1))[7]


async def test_what_retain_filled_is_recalled_and_a_second_run_goes_on(tmp_path: Path) -> None:
    await fill_steps(tmp_path, (20,), GROWING)
    await fill_steps(tmp_path, (20, 40), GROWING)
    async with open_assembly(
        load_settings(data=laid_aside(tmp_path, 40)), frozenset(), embedder=HashedEmbedder()
    ) as mesh:
        assert (await (await mesh.admin()).bank_stats(BANK)).memories == 40
        answer = await (await mesh.recaller()).recall(RecallRequest(BANK, TEXT, tuning=RecallTuning(reranking=False)))
    assert answer.memories[0].memory.text == TEXT
    assert {one.state for one in answer.arms} <= {PartState.OK, PartState.SKIPPED}


async def test_what_was_filled_by_rows_is_found_by_every_arm(tmp_path: Path) -> None:
    await fill_steps(tmp_path, (40,), GROWING, by_rows=True)
    embedder = HashedEmbedder()
    (vector,) = await embedder.embed((TEXT,), EmbedKind.QUERY)
    async with open_assembly(load_settings(data=laid_aside(tmp_path, 40)), frozenset(), embedder=embedder) as mesh:
        first = {}
        for name in ArmName:
            query = ArmQuery(BANK_UID, TEXT, vector=vector, window=probing.WINDOWS[-1])
            first[name] = [hit.memory_id for hit in await (await mesh.arm(name)).search(query)]
    assert first[ArmName.SEMANTIC][0] == first[ArmName.KEYWORD][0] == first[ArmName.GRAPH][0]
    assert first[ArmName.TEMPORAL]
