"""The prelude of a recall: what needs nothing of the bank, begun while the ledger is still asked for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from time import perf_counter

from recallmesh.core.arm import Vector
from recallmesh.core.deadline import within
from recallmesh.core.encoder import Embedder, EmbedKind
from recallmesh.core.errors import MeshError
from recallmesh.core.recall import PartReport, PartState, WindowReading
from recallmesh.core.time import Window
from recallmesh.core.when import QueryTimes
from recallmesh.recall.fault import silence
from recallmesh.recall.question import Question
from recallmesh.recall.stopwatch import Stopwatch

EMBEDDER = "embedder"
UNASKED = PartReport(EMBEDDER, PartState.SKIPPED)


@dataclass(frozen=True, slots=True)
class Embedding:
    """The query's vector, none where there is none, and how the embedder fared."""

    vector: Vector | None = None
    report: PartReport = UNASKED


@dataclass(frozen=True, slots=True)
class Prelude:
    """The readings of a query that are under way: for a time (or why there is none) and for its meaning."""

    window: asyncio.Task[tuple[WindowReading | None, str]]
    embedding: asyncio.Task[Embedding]


@asynccontextmanager
async def open_prelude(
    question: Question,
    window: Window | None,
    embedder: Embedder | None,
    times: QueryTimes,
    *,
    embeds: bool,
    by: float,
    watch: Stopwatch,
) -> AsyncIterator[Prelude]:
    """Begin both readings, to be done ``by`` then in the event loop's time; what is still under way at the end stops.

    ``embeds`` says whether a vector can be of use as far as the request tells; the bank may yet say that it is not, and
    then nobody waits for it. The query is read for a time in any case: the final score uses the period too.
    """
    reading = asyncio.create_task(_read_window(question, window, times, by, watch))
    embedding = asyncio.create_task(_embed(question.text, embedder, by, watch) if embeds else _no_embedding())
    try:
        yield Prelude(reading, embedding)
    finally:
        for task in (reading, embedding):
            task.cancel()
        # What went wrong in them was raised where they were waited for; where nobody did, it is nobody's.
        await asyncio.gather(reading, embedding, return_exceptions=True)


async def _read_window(
    question: Question, window: Window | None, times: QueryTimes, by: float, watch: Stopwatch
) -> tuple[WindowReading | None, str]:
    if window is not None:
        return WindowReading(window, "caller"), ""
    text = question.text
    try:
        with watch.phase("time"):
            async with asyncio.timeout_at(by):
                reading = await times.read(text, question.asked_at)
    except TimeoutError:
        return None, "the query was not read for a time within its share of the deadline"
    if reading is None:
        return None, "no time expression in the query"
    return WindowReading(reading.occurrence.window, reading.rule, text[reading.begin : reading.end]), ""


async def _no_embedding() -> Embedding:
    return Embedding()


async def _embed(text: str, embedder: Embedder | None, by: float, watch: Stopwatch) -> Embedding:
    if embedder is None:
        return Embedding(report=PartReport(EMBEDDER, PartState.DISABLED, detail="none is set up"))
    begun = perf_counter()
    vectors: tuple[Vector, ...] = ()
    try:
        with watch.phase("embed"), within(max(0.0, by - asyncio.get_running_loop().time())):
            async with asyncio.timeout_at(by):
                vectors = await embedder.embed((text,), EmbedKind.QUERY)
    except (MeshError, TimeoutError) as error:
        state, detail = silence(error)
    else:
        state, detail = PartState.OK, ""
        if len(vectors) != 1:
            state, detail = PartState.FAILED, f"gave {len(vectors)} vectors for one text"
    report = PartReport(EMBEDDER, state, 1, timedelta(seconds=perf_counter() - begun), detail)
    return Embedding(vectors[0] if state is PartState.OK else None, report)
