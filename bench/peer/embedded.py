"""``python -m bench.peer.embedded FOLDER``: the mesh in one process, as a programme has it, asked by lines of JSON.

In a process of its own, so that what measures is not measured.
"""

import asyncio
import json
import os
import sys
import threading
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.peer.system import MAX_TOKENS, Way
from recallmesh.client import Client
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig, ExtractionMode, RetainTuning
from recallmesh.core.retain import RetainItem
from recallmesh.core.tuning import RecallTuning
from recallmesh.mesh import open_embedded
from recallmesh.settings import load_settings

CHUNKS = BankConfig(retain=RetainTuning(mode=ExtractionMode.CHUNKS))
TUNINGS = {
    Way.PLAIN: RecallTuning(reranking=False),
    Way.LEAN: RecallTuning(reranking=False, arms=frozenset({ArmName.SEMANTIC, ArmName.KEYWORD})),
    Way.RERANKED: RecallTuning(),
}
LINE_BYTES = 1 << 24
MODEL_THREADS = ("embedder", "reranker")
"""How the threads that run the models are named: of this process, nothing else of theirs is computed elsewhere."""


async def answer(client: Client, asked: dict[str, Any]) -> Any:
    """Do what is asked."""
    if "models" in asked:
        return models_cpu_s()
    bank = client.bank(asked["bank"])
    if "create" in asked:
        await bank.create(config=CHUNKS)
        return None
    if "items" in asked:
        items = [item_of(row) for row in asked["items"]]
        began = perf_counter()
        await bank.retain(*items)
        return (perf_counter() - began) * 1000
    asked_at, tuning = datetime.fromisoformat(asked["asked"]), TUNINGS[Way(asked["way"])]
    began = perf_counter()
    found = await bank.recall(asked["query"], query_time=asked_at, tuning=tuning, max_tokens=MAX_TOKENS)
    took = (perf_counter() - began) * 1000
    return [took, [each.memory.metadata["dia_id"] for each in found.memories]]


def item_of(row: dict[str, Any]) -> RetainItem:
    """Read an item."""
    return RetainItem(
        content=(row["content"],),
        time=datetime.fromisoformat(row["time"]),
        context=row["context"],
        document_id=row["document_id"],
        metadata=row["metadata"],
    )


def row_of(item: RetainItem) -> dict[str, Any]:
    """Write an item."""
    assert item.time is not None
    return {
        "content": "".join(map(str, item.content)),
        "time": item.time.isoformat(),
        "context": item.context,
        "document_id": item.document_id,
        "metadata": dict(item.metadata),
    }


def models_cpu_s() -> float:
    """Return the CPU seconds that the models' threads have used."""
    total = 0
    for thread in threading.enumerate():
        if thread.name.startswith(MODEL_THREADS):
            path = Path(f"/proc/self/task/{thread.native_id}/schedstat")
            total += int(path.read_text(encoding="ascii").split()[0])
    return total / 1e9


async def run(folder: Path) -> None:
    """Answer until there are no more lines."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what anything prints is no answer
    lines = asyncio.StreamReader(limit=LINE_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with open_embedded(load_settings(data=folder)) as client:
        print("null", file=answers, flush=True)
        while line := await lines.readline():
            print(json.dumps(await answer(client, json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1])))
