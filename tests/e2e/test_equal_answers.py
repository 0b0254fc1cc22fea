"""Equal questions have equal answers: again, after a restart, in one process and in nine (cases 11 and 33)."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from deployment import Diary, open_in_process, open_nine

from recallmesh.core.arm import ArmName
from recallmesh.core.recall import PartState, RecallAnswer
from recallmesh.core.retain import RetainItem
from recallmesh.core.tuning import BoostLevel, RecallTuning

pytestmark = pytest.mark.timeout(600)

TURNS = [json.loads(line) for line in Path(__file__).with_name("conversation.jsonl").read_text("utf-8").splitlines()]
CALLS = 20
FEW = RecallTuning(rerank_limit=16)
"""Reading pairs is what takes long, and what is asked often need not be read to its end."""
QUESTIONS = {
    "kettle whistles": {"max_tokens": 100_000, "tuning": FEW},
    "What is Hanna allergic to?": {"tuning": FEW},
    "What happened in June?": {"trace": True, "chunk_tokens": 2000, "include_entities": True},
    "Why was PRT-77140 refused last spring?": {"reranking": False},
    "¿Con qué tiñó la lana la cooperativa?": {
        "tuning": RecallTuning(
            boosts=dict.fromkeys((ArmName.GRAPH, ArmName.KEYWORD), BoostLevel.HIGH), recency_alpha=0.4
        )
    },
}


async def fill(diary: Diary) -> None:
    """Tell fifty equal things, and a conversation by the default extraction."""
    await diary.keep(*["The kettle whistles in the kitchen."] * 50)
    told = [
        RetainItem(
            (turn["content"],),
            time=datetime.fromisoformat(turn["time"]),
            context=turn.get("context", ""),
            document_id=turn["document_id"],
        )
        for turn in TURNS
    ]
    await diary.retain(*told, mode=None)


def lasting(answer: RecallAnswer) -> RecallAnswer:
    """Return an answer without what times took: all else is to be the same to the last bit."""
    return replace(
        answer,
        arms=tuple(replace(report, latency=timedelta()) for report in answer.arms),
        models=tuple(replace(report, latency=timedelta()) for report in answer.models),
        trace=answer.trace and replace(answer.trace, phases=(), hops=()),
    )


async def answers(diary: Diary) -> dict[str, RecallAnswer]:
    found = {query: lasting(await diary.ask(query, **asked)) for query, asked in QUESTIONS.items()}
    for answer in found.values():
        assert answer.memories
        assert all(report.state in {PartState.OK, PartState.SKIPPED} for report in answer.arms)
    return found


async def test_equal_calls_give_equal_answers_after_a_restart_and_in_nine_processes(tmp_path):
    async with open_in_process(tmp_path) as mesh:
        diary = await mesh.diary()
        await fill(diary)
        first = await answers(diary)
        assert len(first["kettle whistles"].memories) >= 50
        for _ in range(CALLS - 1):
            for query in ("kettle whistles", "What is Hanna allergic to?"):
                assert lasting(await diary.ask(query, **QUESTIONS[query])) == first[query]
        assert await answers(diary) == first
    async with open_in_process(tmp_path) as mesh:
        assert await answers(Diary(mesh.faces, diary.ref)) == first
    async with open_nine(tmp_path) as mesh:
        there = Diary(mesh.faces, diary.ref)
        for _ in range(2):
            found = await answers(there)
            for query, answer in found.items():
                assert answer == first[query], query
        for _ in range(CALLS - 2):
            assert (
                lasting(await there.ask("kettle whistles", **QUESTIONS["kettle whistles"])) == first["kettle whistles"]
            )
