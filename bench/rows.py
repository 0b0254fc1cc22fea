"""The arms' indexes filled by the stores' own tables: banks larger than retain fills in an hour.

The rows are those that the arms would write for the same memories (``growing``): words, mentions, likes among the few
thousand before, two vectors, times, tags. There is no ledger: what is so filled is asked arm by arm.
"""

from array import array
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from uuid import UUID, uuid5

import numpy as np
import numpy.typing as npt

from bench.filling import NEVER, RECENT, open_vectors_shelf
from bench.growing import TURNS, Growing
from bench.hashed import DIMENSIONS, HashedEmbedder
from recallmesh.core.encoder import EmbedKind
from recallmesh.core.memory import FactType
from recallmesh.core.retain import RetainItem
from recallmesh.graph import schema
from recallmesh.graph.names import stored_keys
from recallmesh.graph.score import link_threshold, semantic_weight
from recallmesh.keyword.analysis import Analyser
from recallmesh.keyword.dates import date_words
from recallmesh.keyword.ranking import FIELD_BITS, Terms, fingerprint
from recallmesh.keyword.store import KeywordDocument
from recallmesh.keyword.table import MemoryTable, layout_of
from recallmesh.settings import Settings
from recallmesh.vectors.payload import Point, micros, point_id

BANK_UID = "growth-by-rows"
SPACE = UUID(int=0)
CALL = 1_000
LIKES = 10
LANGUAGE = "english"
Matrix = npt.NDArray[np.float32]


class Words:
    """The keyword store's rows, each word analysed once."""

    def __init__(self, path: Path) -> None:
        """Open the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._table = MemoryTable(path)
        if not self._table.about():
            with self._table.transaction():
                self._table.set_about(layout_of(fingerprint(LANGUAGE)))
        analyser = Analyser(LANGUAGE)
        self._terms: Callable[[str], tuple[str, ...]] = lru_cache(None)(
            lambda text: tuple(analyser.document(text, LANGUAGE).counts)
        )

    def store(self, ids: Sequence[str], items: Sequence[RetainItem]) -> None:
        """Write a batch."""
        with self._table.transaction():
            for memory_id, item in zip(ids, items, strict=True):
                document = KeywordDocument(
                    memory_id,
                    1,
                    FactType.WORLD,
                    str(item.content[0]),
                    tags=item.tags,
                    names=tuple(one.name for one in item.entities),
                    labels=item.tags,
                    dates=date_words(None, item.time, LANGUAGE),
                )
                self._table.put(BANK_UID, document, self._packed(document))

    def close(self) -> None:
        """Close the file."""
        self._table.close()

    def _packed(self, document: KeywordDocument) -> Terms:
        words = document.text.split()
        packed: dict[str, int] = {}
        for word in words:
            for term in self._terms(word):
                packed[term] = packed.get(term, 0) + 1
        for field, texts in enumerate((document.names, document.labels, (document.dates,)), start=1):
            for term in {term for text in texts for term in self._terms(text)}:
                packed[term] = packed.get(term, 0) + (1 << FIELD_BITS * field)
        return Terms(tuple(packed), array("Q", packed.values()), len(words), LANGUAGE)


class Ties:
    """The graph store's rows."""

    def __init__(self, path: Path) -> None:
        """Open the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = schema.connect(path)
        schema.create(self._connection)
        self._connection.execute("INSERT OR IGNORE INTO bank (row, uid) VALUES (1, ?)", (BANK_UID,))
        rows = self._connection.execute("SELECT id, row FROM entity").fetchall()
        self._entities: dict[str, int] = dict(rows)

    def store(
        self, first: int, ids: Sequence[str], items: Sequence[RetainItem], likes: Sequence[Sequence[tuple[int, float]]]
    ) -> None:
        """Write a batch whose memories have the rows from ``first``."""
        memories, mentions, tags, links = [], [], [], []
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            for row, (memory_id, item, like) in enumerate(zip(ids, items, likes, strict=True), first):
                told = item.time.timestamp() if item.time else 0.0
                entities = {self._entity(one.name, one.kind) for one in item.entities}
                memories.append((row, memory_id, told, item.document_id, (row - 1) % TURNS))
                mentions += [(entity, told, row) for entity in sorted(entities)]
                tags += [(row, tag) for tag in item.tags]
                links += [(row, other, weight, 1) for other, weight in like]
                links += [(other, row, weight, 0) for other, weight in like]
            self._connection.executemany(
                "INSERT INTO memory (row, bank, id, version, live, type, tags, recency, document, position)"
                " VALUES (?, 1, ?, 1, 1, 'world', 1, ?, ?, ?)",
                memories,
            )
            self._connection.executemany("INSERT INTO tag VALUES (?, ?)", tags)
            self._connection.executemany("INSERT INTO mention VALUES (?, 'world', ?, ?)", mentions)
            self._connection.executemany(
                "INSERT INTO link (source, kind, target, weight, claimed) VALUES (?, 'semantic', ?, ?, ?)", links
            )
            self._connection.execute("UPDATE bank SET memories = memories + ?", (len(ids),))

    def count(self) -> int:
        """Return how many memories there are."""
        return int(self._connection.execute("SELECT memories FROM bank").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _entity(self, name: str, kind: str) -> int:
        entity_id = str(uuid5(SPACE, name))
        row = self._entities.get(entity_id)
        if row is None:
            row = self._entities[entity_id] = len(self._entities) + 1
            self._connection.execute(
                "INSERT INTO entity (row, bank, id, name, kind) VALUES (?, 1, ?, ?, ?)", (row, entity_id, name, kind)
            )
            keys = [(1, key, row) for key in sorted(stored_keys((name,), kind))]
            self._connection.executemany("INSERT OR IGNORE INTO name VALUES (?, ?, ?)", keys)
        return row


class Newest:
    """The vectors of the newest memories, by row, among which likes are looked for."""

    def __init__(self, threshold: float) -> None:
        """Start with none."""
        self._threshold = threshold
        self._ring = np.zeros((RECENT, DIMENSIONS), np.float32)
        self._rows = np.zeros(RECENT, np.int64)
        self._next = 0

    def take(self, first: int, vectors: Matrix) -> list[list[tuple[int, float]]]:
        """Take a batch in, and return for each the rows and link weights of what it is like."""
        for row in range(len(vectors)):
            self._rows[self._next + row - RECENT] = first + row
            self._ring[self._next + row - RECENT] = vectors[row]
        self._next = (self._next + len(vectors)) % RECENT
        cosines = vectors @ self._ring.T
        found = []
        for row, near in enumerate(cosines):
            alike = np.flatnonzero(near >= self._threshold)
            best = alike[np.argsort(-near[alike])][: LIKES + 1]
            found.append(
                [
                    (int(self._rows[at]), semantic_weight(float(near[at]), self._threshold))
                    for at in best.tolist()
                    if self._rows[at] != first + row
                ][:LIKES]
            )
        return found


async def fill_arms(settings: Settings, size: int, growing: Growing, tell: Callable[[int], None]) -> None:
    """Fill the arms' stores on to a size, which no graph of vectors is built for yet."""
    embedder = HashedEmbedder()
    info = await embedder.info()
    newest = Newest(link_threshold(info.cosine_high))
    with (
        closing(Words(settings.data / settings.keyword.path)) as words,
        closing(Ties(settings.data / settings.graph.path)) as ties,
        open_vectors_shelf(settings, info, NEVER) as shelf,
    ):
        done = ties.count()
        while done < size:
            after = min(done + CALL, size)
            items = list(growing.items(done, after))
            ids = [str(UUID(bytes=uuid5(SPACE, str(number)).bytes, version=4)) for number in range(done, after)]
            texts = tuple(str(item.content[0]) for item in items)
            vectors = np.asarray(await embedder.embed(texts, EmbedKind.PASSAGE), np.float32)
            context = _with_the_one_before(vectors)
            shelf.upsert(BANK_UID, tuple(map(_point, ids, items, vectors.tolist(), context.tolist())))
            shelf.rest()
            words.store(ids, items)
            ties.store(done + 1, ids, items, newest.take(done + 1, vectors))
            done = after
            tell(done)


def _with_the_one_before(vectors: Matrix) -> Matrix:
    """Stand for what was said before, together with the text."""
    both = vectors + np.roll(vectors, 1, axis=0)
    return np.asarray(both / np.linalg.norm(both, axis=1, keepdims=True), np.float32)


def _point(memory_id: str, item: RetainItem, vector: list[float], context: list[float]) -> Point:
    at = 0 if item.time is None else micros(item.time)
    return Point(
        point_id(BANK_UID, memory_id),
        memory_id,
        1,
        {
            "memory": memory_id,
            "bank": BANK_UID,
            "type": FactType.WORLD.value,
            "tags": sorted(item.tags),
            "tag_count": len(item.tags),
            "start": at,
            "end": at,
        },
        tuple(vector),
        tuple(context),
    )
