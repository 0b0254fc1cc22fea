"""What a recall costs by how much is read, and how good it is: the same questions with each number in turns."""

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from bench.clock import Clock
from bench.locomo import Conversation, Question
from bench.measure import Quality, average, judge
from bench.quality import Turn, final_ranking, retain
from bench.remembering import open_remembering
from recallmesh.cli.screen import progress
from recallmesh.client import Client
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.recall import RecallRequest
from recallmesh.core.retain import RetainRequest
from recallmesh.core.tuning import RecallTuning
from recallmesh.mesh import Assembly, open_assembly, open_embedded
from recallmesh.settings import Settings, load_settings

READ = (0, 10, 20, 30, 50, 70, 100)
"""How many candidates are read; 0: none, RRF's order."""
WARM_UP = 3
FIGURES = ("recall_10", "recall_20", "mrr", "pack_2048", "pack_4096")


@dataclass(slots=True)
class Reading:
    """The questions asked with one number of candidates read: how good, and what it took without any memory."""

    qualities: list[Quality] = field(default_factory=list)
    clock: Clock = field(default_factory=Clock)

    def figures(self) -> dict[str, float]:
        """Return the means."""
        mean = asdict(average(self.qualities))
        return {
            **{name: round(mean[name], 4) for name in FIGURES},
            "p50_ms": round(self.clock.p50, 1),
            "p95_ms": round(self.clock.p95, 1),
            "cpu_ms": round(self.clock.cpu_each, 1),
        }


def tuning(read: int) -> RecallTuning:
    """Return the request's words for so many."""
    return RecallTuning(reranking=False) if read == 0 else RecallTuning(rerank_limit=read)


async def measure_reading(
    conversations: Sequence[Conversation], *, questions: int, timed: int, pairs: Path | None
) -> dict[str, dict[str, float]]:
    """Return the figures by how much is read; ``timed`` of the ``questions`` are asked a second time, and timed."""
    rows = {read: Reading() for read in READ}
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data=Path(folder))
        turns: dict[str, dict[str, Turn]] = {}
        async with open_remembering(settings, pairs) as faces:
            for conversation in conversations:
                turns[conversation.name] = await retain(faces, conversation, ExtractionMode.CHUNKS)
            asked = chosen(conversations, questions)
            with progress("questions") as bar:
                for name, question in bar.track(asked, description="how good"):
                    await _judge(faces, name, question, turns[name], rows)
        async with open_embedded(forgetful(settings)) as faces:
            for name, question in asked[:WARM_UP]:
                await faces.recaller.recall(request(name, question))
            for name, question in asked[:timed]:
                for read, row in rows.items():
                    with row.clock.taking():
                        await faces.recaller.recall(request(name, question, tuning(read)))
    return {str(read): row.figures() for read, row in rows.items()}


async def measure_again(conversation: Conversation, *, questions: int) -> dict[str, dict[str, float]]:
    """Return what a question costs when it is asked first, again, and once more after its bank has grown by a tenth."""
    documents = list(dict.fromkeys(item.document_id for item in conversation.items))
    late = frozenset(documents[-max(1, len(documents) // 10) :])
    items = {
        is_late: tuple(item for item in conversation.items if (item.document_id in late) is is_late)
        for is_late in (False, True)
    }
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with open_assembly(load_settings(data=Path(folder)), frozenset()) as assembly:
            faces = Client(await assembly.recaller(), await assembly.retainer(), await assembly.admin())
            early = replace(conversation, items=items[False])
            await retain(faces, early, ExtractionMode.CHUNKS)
            asked = chosen((early,), questions + WARM_UP)
            for name, question in asked[questions:]:
                await faces.recaller.recall(request(name, question))
            for when in ("first", "again", "after a tenth more"):
                if when == "after a tenth more":
                    await faces.retainer.retain(RetainRequest(BankRef(f"conv-{early.name}"), items[True]))
                clock, begun = Clock(), remembered(assembly)
                for name, question in asked[:questions]:
                    with clock.taking():
                        await faces.recaller.recall(request(name, question))
                known, computed = (now - then for now, then in zip(remembered(assembly), begun, strict=True))
                found[when] = {
                    "p50_ms": round(clock.p50, 1),
                    "cpu_ms": round(clock.cpu_each, 1),
                    "pairs_known": round(known / (known + computed), 3),
                }
    return found


def forgetful(settings: Settings) -> Settings:
    """Return the settings with models that remember nothing: every question is as it is when it is asked first."""
    embedder = settings.embedder.model_copy(update={"cached_queries": 0})
    reranker = settings.reranker.model_copy(update={"cached_pairs": 0})
    return settings.model_copy(update={"embedder": embedder, "reranker": reranker})


def chosen(conversations: Sequence[Conversation], count: int) -> list[tuple[str, Question]]:
    """Return questions with the names of their conversations, the same in every run."""
    every = [(conversation.name, question) for conversation in conversations for question in conversation.questions]
    return random.Random(11).sample(every, min(count, len(every)))


def request(name: str, question: Question, how: RecallTuning | None = None, *, trace: bool = False) -> RecallRequest:
    """Return a question to the bank of a conversation."""
    bank = BankRef(f"conv-{name}")
    return RecallRequest(
        bank=bank, query=question.text, query_time=question.asked, tuning=how or RecallTuning(), trace=trace
    )


def remembered(assembly: Assembly) -> tuple[float, float]:
    """Return how many pairs' scores were known so far, and how many were computed."""
    value = assembly.metrics.registry.get_sample_value
    known, computed = (
        value("recallmesh_model_remembered_total", {"part": "reranker", "state": state}) or 0.0
        for state in ("known", "computed")
    )
    return known, computed


async def _judge(
    faces: Client, name: str, question: Question, turns: Mapping[str, Turn], rows: Mapping[int, Reading]
) -> None:
    wanted = frozenset(memory_id for memory_id, turn in turns.items() if turn.dia_id in question.evidence)
    tokens = {memory_id: turn.tokens for memory_id, turn in turns.items()}
    for read, row in rows.items():
        answer = await faces.recaller.recall(request(name, question, tuning(read), trace=True))
        assert answer.trace is not None
        row.qualities.append(judge(final_ranking(answer.trace.candidates), wanted, tokens))
