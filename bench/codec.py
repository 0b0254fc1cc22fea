"""What a message of each port costs: bytes and microseconds a row, written and read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from time import process_time
from typing import Any
from uuid import UUID

from recallmesh.core.arm import ArmName, ArmQuery, Hit
from recallmesh.core.memory import FactType, Memory
from recallmesh.core.recall import RecallAnswer, RecalledMemory, Scores
from recallmesh.core.time import Window
from recallmesh.core.vectors import VectorHit
from recallmesh.rpc.codec.arm import hits_from_pb, hits_to_pb, search_from_pb, search_to_pb
from recallmesh.rpc.codec.recall import answer_from_pb, answer_to_pb
from recallmesh.rpc.codec.vectors import vector_hits_from_pb, vector_hits_to_pb
from recallmesh.v1 import (
    arm_service_pb2,
    embedder_service_pb2,
    recall_service_pb2,
    reranker_service_pb2,
    vector_service_pb2,
)

NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
DIMENSIONS = 384
WORDS = 23
"""Of a memory: what turns of long real conversations have in the middle."""
ROUNDS, REPEATS = 21, 5


@dataclass(frozen=True, slots=True)
class Port:
    """A message of a port: how it is made, written, read and taken apart, and how many rows it has."""

    name: str
    rows: int
    write: Callable[[], bytes]
    read: Callable[[bytes], Any]


def memory_id(chance: Random) -> str:
    """Return an id such as memories have."""
    return str(UUID(int=chance.getrandbits(128), version=5))


def some_hits(count: int, *, phrases: bool = False, cosines: bool = False) -> tuple[Hit, ...]:
    """Return hits as an arm gives them, best first."""
    chance = Random(count)
    return tuple(
        Hit(
            memory_id(chance),
            1 - place / (count + 1) + chance.random() / 1e6,
            "near to what was asked" if phrases else "",
            chance.random() if cosines else None,
        )
        for place in range(count)
    )


def some_near(count: int, *, times: bool) -> tuple[VectorHit, ...]:
    """Return hits as the vectors give them."""
    moment = Window(NOW, NOW)
    return tuple(
        VectorHit(one.memory_id, one.score, FactType.WORLD, moment if times else None) for one in some_hits(count)
    )


def some_answer(count: int) -> RecallAnswer:
    """Return an answer of so many memories."""
    chance = Random(count)
    text = " ".join(["word"] * WORDS)
    return RecallAnswer(
        tuple(
            RecalledMemory(
                Memory(
                    id=memory_id(chance),
                    text=text,
                    fact_type=FactType.WORLD,
                    created=NOW,
                    mentioned=NOW - timedelta(days=place),
                    context="Mara speaking",
                    tags=("subject-1",),
                    document_id=f"d{place:06}",
                    chunk_id=memory_id(chance),
                    position=place,
                    tokens=WORDS + 7,
                    version=1,
                ),
                {ArmName.SEMANTIC: place + 1, ArmName.KEYWORD: place + 2},
                Scores(rrf=0.03, relevance=0.5, final=0.5),
            )
            for place in range(count)
        ),
        (),
    )


def ports() -> list[Port]:
    """Return a message of each port that a recall uses, as large as it is at budget mid."""
    chance = Random(1)
    vector = tuple(chance.uniform(-0.1, 0.1) for _ in range(DIMENSIONS))
    query = ArmQuery("0" * 32, "What did Mara say about the harbour in March?", vector=vector)
    plain, told = some_hits(600), some_hits(600, phrases=True, cosines=True)
    near, dated, answer = some_near(600, times=False), some_near(600, times=True), some_answer(130)
    text = " ".join(["word"] * WORDS)
    search, vectors = arm_service_pb2, vector_service_pb2

    def hits(found: tuple[Hit, ...]) -> Callable[[], bytes]:
        return lambda: hits_to_pb(found).SerializeToString()

    def near_hits(found: tuple[VectorHit, ...]) -> Callable[[], bytes]:
        return lambda: vector_hits_to_pb(found).SerializeToString()

    def embedding(raw: bytes) -> tuple[float, ...]:
        return tuple(embedder_service_pb2.EmbedResponse.FromString(raw).embeddings[0].values)

    return [
        Port(
            "arm's question, with its vector",
            1,
            lambda: search_to_pb("semantic", query).SerializeToString(),
            lambda raw: search_from_pb(search.SearchRequest.FromString(raw)),
        ),
        Port(
            "arm's hit: id and score",
            600,
            hits(plain),
            lambda raw: hits_from_pb(search.SearchResponse.FromString(raw)),
        ),
        Port(
            "arm's hit: cosine and phrase too",
            600,
            hits(told),
            lambda raw: hits_from_pb(search.SearchResponse.FromString(raw)),
        ),
        Port(
            "vectors' hit",
            600,
            near_hits(near),
            lambda raw: vector_hits_from_pb(vectors.VectorHits.FromString(raw)),
        ),
        Port(
            "vectors' hit with its time",
            600,
            near_hits(dated),
            lambda raw: vector_hits_from_pb(vectors.VectorHits.FromString(raw)),
        ),
        Port(
            "embedding",
            1,
            lambda: embedder_service_pb2.EmbedResponse(
                embeddings=[embedder_service_pb2.Embedding(values=vector)]
            ).SerializeToString(),
            embedding,
        ),
        Port(
            "reranker's text",
            100,
            lambda: reranker_service_pb2.RerankRequest(query=query.text, texts=[text] * 100).SerializeToString(),
            lambda raw: tuple(reranker_service_pb2.RerankRequest.FromString(raw).texts),
        ),
        Port(
            "answer's memory",
            130,
            lambda: answer_to_pb(answer).SerializeToString(),
            lambda raw: answer_from_pb(recall_service_pb2.RecallResponse.FromString(raw)),
        ),
    ]


def cost(port: Port) -> dict[str, float]:
    """Return bytes a row, and the least CPU time of many in which it was written and read."""
    raw = port.write()
    return {
        "bytes": len(raw) / port.rows,
        "write, µs": _us(port.write) / port.rows,
        "read, µs": _us(lambda: port.read(raw)) / port.rows,
    }


def codec_costs(chosen: Sequence[Port] | None = None) -> dict[str, dict[str, float]]:
    """Return the cost of a row of each port."""
    return {port.name: cost(port) for port in (ports() if chosen is None else chosen)}


def _us(work: Callable[[], Any]) -> float:
    """Return the least of many, so that what interrupts it does not count."""
    times = []
    for _ in range(ROUNDS):
        begun = process_time()
        for _ in range(REPEATS):
            work()
        times.append((process_time() - begun) * 1e6 / REPEATS)
    return min(times)
