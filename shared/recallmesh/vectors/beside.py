"""The vectors that other embedding models left beside those in use: so that a change of model is noticed."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import structlog

from recallmesh.vectors.shelf import shelf_name

FEW = 0.5
"""The share of another model's vectors below which those in use are taken for not made yet.

Not all of them: what was deleted since is still among the other's."""


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
            "the embedding model was changed, and few memories have its vectors",
            model=fingerprint,
            vectors=changed.memories,
            former_model=changed.other.fingerprint,
            former_vectors=changed.other.memories,
            remedy=REMEDY.format(folder=path / changed.other.folder),
        )


def _other(home: Path) -> OtherModel | None:
    try:
        note = json.loads((home / "embedding.json").read_bytes())
        return OtherModel(str(note["fingerprint"]), _count(home), home.name)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _count(home: Path) -> int:
    catalog = home / "catalog.sqlite"
    # It is another model's, and another process may have it open: looked at, and neither made nor changed. Without a
    # log beside it nobody has; then SQLite need not make one to read it.
    how = "mode=ro" if catalog.with_name(f"{catalog.name}-wal").exists() else "mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(f"{catalog.absolute().as_uri()}?{how}", uri=True)) as connection:
            return int(connection.execute("SELECT COUNT(*) FROM memory WHERE removed = 0").fetchone()[0])
    except sqlite3.Error:
        return 0
