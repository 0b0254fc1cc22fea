"""What an answer lacks, in words: which part of the mesh was silent, and what it would have found."""

from collections.abc import Iterator, Mapping

from recallmesh.core.arm import ArmName
from recallmesh.core.recall import PartState, RecallAnswer

SILENT: Mapping[PartState, str] = {
    PartState.FAILED: "it failed",
    PartState.TIMED_OUT: "it was too slow",
    PartState.UNAVAILABLE: "it cannot be reached",
}
"""The states of a part that was asked and gave nothing, and how they are told."""
ARMS: Mapping[ArmName, tuple[str, str]] = {
    ArmName.SEMANTIC: ("search by meaning", "memories that say it in other words"),
    ArmName.KEYWORD: ("search by words", "memories that only an exact word, name or number leads to"),
    ArmName.GRAPH: ("search by names and links", "memories that are tied to it only by people, places or things"),
    ArmName.TEMPORAL: ("search by time", "memories of the period asked for"),
}
"""What each arm is to a model, and what it alone finds."""
MODELS: Mapping[str, str] = {
    "embedder": "the question could not be compared by meaning",
    "reranker": "the memories were not read once more, so their order is rough",
}
"""What is lost with each model."""
AGAIN = "Ask again later for the whole answer."


def missing(answer: RecallAnswer) -> Iterator[str]:
    """Yield a sentence for each part that was asked and did not answer, and what to do about it."""
    lost = False
    for arm in answer.arms:
        if arm.state in SILENT:
            name, found = ARMS[arm.arm]
            lost = True
            yield f"Incomplete: the {name} did not answer ({SILENT[arm.state]}); {found} may be missing."
    for part in answer.models:
        if part.state in SILENT:
            lost = True
            yield f"Incomplete: {MODELS.get(part.part, part.part)} ({SILENT[part.state]})."
    if lost:
        yield AGAIN
