"""Real conversations with questions, read from a folder outside the repository (their licence is non-commercial)."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from recallmesh.core.retain import RetainItem

DEFAULT_DATA = Path(__file__).parents[2] / "shared" / "data" / "locomo"
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the turns that hold its answer (``dia_id``), when it is asked, and the answer in words."""

    text: str
    category: int
    evidence: frozenset[str]
    asked: datetime
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A long dated conversation, one item a turn, and its questions of the categories 1 to 4."""

    name: str
    items: tuple[RetainItem, ...]
    questions: tuple[Question, ...]


def load_conversations(folder: Path, names: tuple[str, ...] = ()) -> tuple[Conversation, ...]:
    """Read the conversations of a folder, or those named (``26``)."""
    paths = sorted(folder.glob("conv-*.jsonl"))
    if not paths:
        raise SystemExit(f"no conv-*.jsonl in {folder}; name the folder with --data")
    found = (_load(path) for path in paths if not names or path.stem.removeprefix("conv-") in names)
    return tuple(found)


def _load(path: Path) -> Conversation:
    name = path.stem.removeprefix("conv-")
    items = tuple(_item(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines())
    known = {item.metadata["dia_id"] for item in items}
    rows = (json.loads(line) for line in (path.parent / f"questions-{name}.jsonl").read_text("utf-8").splitlines())
    questions = tuple(
        Question(
            row["question"],
            row["category"],
            evidence,
            datetime.fromisoformat(row["query_time"]),
            str(row.get("answer", "")),
        )
        for row in rows
        if row["category"] in CATEGORIES and (evidence := frozenset(row["evidence"]) & known)
    )
    return Conversation(name, items, questions)


def _item(row: dict[str, object]) -> RetainItem:
    metadata = row["metadata"]
    assert isinstance(metadata, dict)
    return RetainItem(
        content=(str(row["content"]),),
        time=datetime.fromisoformat(str(row["time"])),
        context=str(row["context"]),
        document_id=str(row["document_id"]),
        metadata={str(key): str(value) for key, value in metadata.items()},
    )
