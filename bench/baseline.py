"""What any memory could be built from in an afternoon: the measure that the mesh's times are ratios to.

Recall: every vector compared by numpy, every word's postings added up in dicts, nothing else. Retain: the same rows
put into one SQLite table.
"""

import json
import math
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence
from heapq import nlargest
from pathlib import Path

import numpy as np
import numpy.typing as npt

from recallmesh.core.arm import Vector
from recallmesh.core.retain import RetainItem

HITS = 300
K1, B = 0.9, 0.4  # as the keyword arm
_WORD = re.compile(r"\w+")


class BruteForce:
    """Cosine over all vectors and BM25 over dicts, in one thread of Python."""

    def __init__(self, texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> None:
        """Index the texts; their vectors are the rows of an array."""
        self._vectors = vectors
        bags = [Counter(_WORD.findall(text.lower())) for text in texts]
        lengths = [bag.total() for bag in bags]
        average = sum(lengths) / len(lengths)
        self._norms = [K1 * (1 - B + B * length / average) for length in lengths]
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for row, bag in enumerate(bags):
            for word, count in bag.items():
                self._postings[word].append((row, count))

    def ask(self, text: str, vector: Vector) -> tuple[list[int], list[int]]:
        """Return the rows with the nearest vectors and those with the most of the words, best first."""
        # Not "@": that would take all cores.
        cosines = np.einsum("ij,j->i", self._vectors, np.asarray(vector, dtype=np.float32))
        wanted = min(HITS, len(cosines))
        near = np.argpartition(-cosines, wanted - 1)[:wanted]
        scores: dict[int, float] = {}
        for word in set(_WORD.findall(text.lower())):
            held = self._postings.get(word, ())
            weight = math.log1p((len(self._norms) - len(held) + 0.5) / (len(held) + 0.5)) * (K1 + 1)
            for row, count in held:
                scores[row] = scores.get(row, 0.0) + weight * count / (count + self._norms[row])
        return near[np.argsort(-cosines[near])].tolist(), nlargest(HITS, scores, key=scores.__getitem__)


class BareTable:
    """One SQLite table whose commits are on disk when they return."""

    def __init__(self, path: Path) -> None:
        """Make it."""
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
            "CREATE TABLE memory (id INTEGER PRIMARY KEY, text TEXT, time TEXT, context TEXT, document TEXT, tags TEXT)"
        )

    def insert(self, items: Sequence[RetainItem]) -> None:
        """Put the items in, in one transaction."""
        rows = [
            ("".join(map(str, item.content)), str(item.time), item.context, item.document_id, json.dumps(item.tags))
            for item in items
        ]
        self._connection.execute("BEGIN")
        self._connection.executemany(
            "INSERT INTO memory (text, time, context, document, tags) VALUES (?, ?, ?, ?, ?)", rows
        )
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
