"""The golden bank in a mesh with other stores than the embedded ones: told, asked, compared with the ledger, mended."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import yaml
from deployment import Diary

from bench.hashed import HashedEmbedder
from recallmesh.client import Client
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.operation import OperationState
from recallmesh.core.recall import PartState
from recallmesh.core.retain import DeliveryState, RetainItem
from recallmesh.mesh import Assembly, open_assembly
from recallmesh.settings import Settings

GOLDEN = Path(__file__).parent / "golden"
MEMORIES = yaml.safe_load(GOLDEN.joinpath("bank.yaml").read_text(encoding="utf-8"))["memories"]
QUESTIONS = [one["ask"] for one in yaml.safe_load(GOLDEN.joinpath("questions.yaml").read_text(encoding="utf-8"))]
REF = BankRef("diary")


@asynccontextmanager
async def opened(settings: Settings, embedder: HashedEmbedder | None = None) -> AsyncIterator[Diary]:
    async with open_assembly(settings, frozenset(), embedder=embedder or HashedEmbedder()) as assembly:
        yield Diary(await faces_of(assembly), REF)


async def faces_of(assembly: Assembly) -> Client:
    return Client(await assembly.recaller(), await assembly.retainer(), await assembly.admin())


async def tell(diary: Diary) -> None:
    await diary.faces.admin.create_bank(REF)
    items = [
        RetainItem((row["text"],), time=row.get("at"), timeless=row.get("timeless", False), document_id=name)
        for name, row in MEMORIES.items()
    ]
    answer = await diary.retain(*items, mode=ExtractionMode.VERBATIM)
    assert {one.state for one in answer.deliveries} == {DeliveryState.STORED}


async def wrong(diary: Diary) -> dict[str, int]:
    found = await diary.faces.admin.verify_bank(REF)
    return {one.arm.value: one.missing + one.extra + one.stale for one in found if not one.is_equal}


async def repair(diary: Diary) -> None:
    begun = await diary.faces.admin.repair_bank(REF)
    *_, last = [seen async for seen in diary.faces.admin.watch_operation(REF, begun.id)]
    assert last.state is OperationState.SUCCEEDED


async def answers(diary: Diary) -> dict[str, list]:
    """Return all that recall says to the golden questions: which memories, and what each arm made of each candidate."""
    told = {}
    for question in QUESTIONS:
        answer = await diary.ask(question, trace=True)
        assert {one.state for one in answer.arms} <= {PartState.OK, PartState.SKIPPED}
        candidates = [(one.memory_id, dict(one.ranks), dict(one.arm_scores)) for one in answer.trace.candidates]
        told[question] = [[one.memory.id for one in answer.memories], candidates]
    return told
