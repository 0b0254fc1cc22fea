"""``python -m bench.resident FOLDER``: open a mesh that is there, ask it, and tell what it holds of memory, as JSON."""

import argparse
import asyncio
import json
from pathlib import Path

from bench import corpus, speed
from bench.usage import children, resident_mib
from recallmesh.core.recall import RecallRequest
from recallmesh.core.tuning import RecallTuning
from recallmesh.mesh import open_assembly
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging

QUESTIONS = 10


async def run(folder: Path, *, fake: bool) -> None:
    """Open every face, ask, and look."""
    set_up_logging(level="warning")
    settings = load_settings(data=folder)
    async with (
        speed.open_embedder(settings, fake=fake) as embedder,
        open_assembly(settings, frozenset(), embedder=embedder) as assembly,
    ):
        recaller = await assembly.recaller()
        await assembly.retainer()
        words = corpus.load_vocabulary().words
        for number in range(QUESTIONS):
            query = " ".join(words[1000 + number :: 400][:6])
            await recaller.recall(RecallRequest(speed.BANK, query, tuning=RecallTuning(reranking=False)))
        held = {"process": resident_mib(), "vectors' worker": resident_mib(children()[0])}
    print(
        json.dumps(
            {
                f"memory, MiB: {part}{'' if kind == 'resident' else ', without pages of files'}": size
                for part, sizes in held.items()
                for kind, size in sizes.items()
            }
        )
    )


def main() -> None:
    """Read the words and look."""
    parser = argparse.ArgumentParser(prog="bench.resident", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fake-embedder", action="store_true")
    words = parser.parse_args()
    asyncio.run(run(words.folder, fake=words.fake_embedder))


if __name__ == "__main__":
    main()
