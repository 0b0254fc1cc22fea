"""The vectors that other embedding models left beside those in use: so that a change of model is noticed."""

import asyncio
import json
import sqlite3
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import structlog

from recallmesh.core.store import Inspection
from recallmesh.sqlite.inspection import count_in, inspect_file
from recallmesh.vectors.shelf import shelf_name

FEW = 0.5
"""The share of another model's vectors below which those in use are taken for not made yet.

Not all of them: what was deleted since is still among the other's."""
STORE = "qdrant-edge"
COUNT = "SELECT COUNT(*) FROM memory WHERE removed = 0"
CHANGED = "the embedding model was changed, and few memories have its vectors"
REMEDY = (
    "make them: recallmesh repair; until then memories are found by words, names and links alone, and by meaning those "
    "that have one; or set the embedder back. {folder} can be deleted once the new model is there to stay"
)

_log = structlog.get_logger("recallmesh.vectors")


@dataclass(frozen=True, slots=True)
class OtherModel:
    """Vectors of another model: its fingerprint, how many memories they are of, and the folder that they are in."""

    fingerprint: str
    memories: int
    folder: str


@dataclass(frozen=True, slots=True)
class ChangedModel:
    """What is known of a change of model: the ``other`` with the most vectors, and how many there are of the new."""

    other: OtherModel
    memories: int


def changed_model(path: Path, fingerprint: str) -> ChangedModel | None:
    """Return what tells that the model was changed and its vectors are not made yet; else nothing.

    Reads files, for a few milliseconds; what cannot be read is passed over.
    """
    own = path / shelf_name(fingerprint)
    others = [found for home in path.glob("*") if home != own and (found := _other(home)) is not None]
    if not others:
        return None
    most, held = max(others, key=lambda other: other.memories), _count(own)
    return ChangedModel(most, held) if held < most.memories * FEW else None


def tell_changed_model(path: Path, fingerprint: str) -> None:
    """Warn, with what to do, where the model was changed and its vectors are not made yet."""
    changed = changed_model(path, fingerprint)
    if changed is not None:
        _log.warning(
            CHANGED,
            model=fingerprint,
            vectors=changed.memories,
            former_model=changed.other.fingerprint,
            former_vectors=changed.other.memories,
            remedy=REMEDY.format(folder=path / changed.other.folder),
        )


async def inspect_embedded_vectors(path: Path, fingerprint: str) -> Inspection:
    """Tell how many memories have vectors of a model; also while another process has them open."""
    catalog = path / shelf_name(fingerprint) / "catalog.sqlite"
    seen = replace(
        await inspect_file(STORE, catalog, COUNT, version=version("qdrant-edge-py")), address=str(catalog.parent)
    )
    changed = await asyncio.to_thread(changed_model, path, fingerprint)
    if changed is None:
        return seen
    remedy = REMEDY.format(folder=path / changed.other.folder)
    return replace(seen, advice=(*seen.advice, f"{CHANGED}; {remedy}"))


def _other(home: Path) -> OtherModel | None:
    try:
        note = json.loads((home / "embedding.json").read_bytes())
        return OtherModel(str(note["fingerprint"]), _count(home), home.name)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _count(home: Path) -> int:
    try:
        return count_in(home / "catalog.sqlite", COUNT)
    except sqlite3.Error:
        return 0
