"""One embedding's vectors on disk: the shard, the catalog of versions, and the note that says what they are."""

import fcntl
import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recallmesh.core.errors import EmbeddingMismatch, StoreUnavailable
from recallmesh.core.vectors import VectorQuery
from recallmesh.vectors.catalog import Catalog, open_catalog
from recallmesh.vectors.edge import Shard
from recallmesh.vectors.generation import Generations
from recallmesh.vectors.payload import HitColumns, Point, PointRows, point_id

FLUSH_POINTS = 10_000
"""Written points after which the log is cut: it then takes about a second to read back after a kill."""
FLUSH_IDLE_S = 10.0
"""Seconds without a write after which the log is cut."""
LOCK_POLL_S = 0.05
QUERIES_AT_ONCE = 4
RECONCILED_AT_ONCE = 1000
SLICE_S = 0.05
"""Seconds of searching after which a call ends with what it has: no other one waits much longer for its turn."""

logger = logging.getLogger(__name__)


class Shelf:
    """What the worker does, one call after the other. Writes are durable when a method returns."""

    def __init__(self, generations: Generations, catalog: Catalog, *, clock: Callable[[], float]) -> None:
        """Use an open shard and catalog; ``clock`` gives seconds."""
        self._generations = generations
        self._catalog = catalog
        self._clock = clock
        self._unflushed = 0
        self._written_at = clock()

    def search(self, queries: tuple[VectorQuery, ...]) -> list[HitColumns]:
        """Answer the queries in their order: all of them, or the first ones if they take long; at least one."""
        began = self._clock()
        answers: list[HitColumns] = []
        while len(answers) < len(queries):
            answers += self._shard.search(queries[len(answers) : len(answers) + QUERIES_AT_ONCE])
            if self._clock() - began >= SLICE_S:
                break
        return answers

    def upsert(self, bank_uid: str, points: tuple[Point, ...]) -> list[int]:
        """Store the points that are not older than what is stored or was removed; returns which: their places."""
        newest: dict[str, int] = {}
        for place, point in enumerate(points):
            held = newest.get(point.memory_id)
            if held is None or point.version >= points[held].version:
                newest[point.memory_id] = place
        known = self._catalog.versions(bank_uid, newest)
        news = [place for memory_id, place in newest.items() if _is_news(points[place].version, known.get(memory_id))]
        if not news:
            return []
        fresh = [points[place] for place in news]
        # The shard first: a catalog that lags makes a repeated call store again, one that is ahead would make it skip.
        self._shard.upsert(fresh)
        self._catalog.record(bank_uid, [(point.memory_id, point.version) for point in fresh], removed=False)
        self._wrote([point.id for point in fresh])
        return news

    def delete(self, bank_uid: str, removals: tuple[tuple[str, int], ...]) -> list[str]:
        """Take out the memories that are not newer than their removal, remember the removals; returns which."""
        latest: dict[str, int] = {}
        for memory_id, version in removals:
            latest[memory_id] = max(version, latest.get(memory_id, version))
        known = self._catalog.versions(bank_uid, latest)
        due = [
            (memory_id, version)
            for memory_id, version in latest.items()
            if version >= known.get(memory_id, (version,))[0]
        ]
        if not due:
            return []
        point_ids = [point_id(bank_uid, memory_id) for memory_id, _ in due]
        self._shard.delete(point_ids)
        self._catalog.record(bank_uid, due, removed=True)
        self._wrote(point_ids)
        return [memory_id for memory_id, _ in due]

    def drop(self, bank_uid: str) -> None:
        """Take a bank out."""
        self._shard.drop(bank_uid)
        self._catalog.drop(bank_uid)
        self._generations.dropped(bank_uid)
        self._wrote([])

    def scan(self, bank_uid: str, after: str, size: int) -> list[tuple[str, int]]:
        """List what is stored after a memory id."""
        return self._catalog.scan(bank_uid, after, size)

    def size(self, bank_uid: str) -> int:
        """Return about how many memories of a bank there are."""
        return self._shard.size(bank_uid)

    def rows(self, bank_uid: str, after: int | None, size: int) -> tuple[PointRows, int | None]:
        """Return what is stored of a bank, from a point on, and where to go on."""
        return self._shard.rows(bank_uid, after, size)

    def check(self) -> None:
        """Return if both files answer."""
        self._shard.counts()
        self._catalog.check()

    def reconcile(self) -> int:
        """Forget of the catalog what the shard has not, so that it is listed as missing; returns how many that were.

        For a shard that was lost, or is older than the catalog. What only the shard has, the next delivery records.
        """
        if self._shard.counts()[0] == self._catalog.count():
            return 0
        lost, last = 0, ("", "")
        while rows := self._catalog.stored(last, RECONCILED_AT_ONCE):
            points = {point_id(*row): row for row in rows}
            gone = [points[one] for one in points.keys() - self._shard.holds(list(points))]
            self._catalog.forget(gone)
            lost, last = lost + len(gone), rows[-1]
        return lost

    def rest(self) -> None:
        """Do what is due between calls: cut the log, build graphs, take built ones into use."""
        idle = self._clock() - self._written_at >= FLUSH_IDLE_S
        if self._unflushed >= FLUSH_POINTS or (self._unflushed and idle):
            self._shard.flush()
            self._unflushed = 0
        self._generations.advance()

    @property
    def _shard(self) -> Shard:
        return self._generations.shard

    def _wrote(self, point_ids: list[int]) -> None:
        self._generations.changed(point_ids)
        self._unflushed += max(1, len(point_ids))
        self._written_at = self._clock()


@contextmanager
def open_shelf(
    path: Path, *, fingerprint: str, dimensions: int, index_from: int, lock_wait_s: float
) -> Iterator[Shelf]:
    """Open the shelf of an embedding below ``path``, made where there is none.

    Raises:
        StoreUnavailable: another process has it open, or a file fails.
        EmbeddingMismatch: it was made for another embedding; nothing is touched.

    """
    home = path / shelf_name(fingerprint)
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"cannot make the vector index's directory: {error.strerror}") from error
    with _locked(home, lock_wait_s):
        _claim(home / "embedding.json", fingerprint, dimensions)
        with (
            open_catalog(home / "catalog.sqlite") as catalog,
            Generations(home, dimensions=dimensions, index_from=index_from) as generations,
        ):
            shelf = Shelf(generations, catalog, clock=time.monotonic)
            if lost := shelf.reconcile():
                logger.error("%d vectors are lost; to make them anew: recallmesh repair", lost)
            yield shelf


def remove_shelf(path: Path, fingerprint: str, *, lock_wait_s: float = 0.0) -> str:
    """Take the shelf of an embedding away, whether it is there or not; returns its folder's name.

    Raises:
        StoreUnavailable: a process has it open, or a file cannot be removed.

    """
    home = path / shelf_name(fingerprint)
    if home.is_dir():
        try:
            with _locked(home, lock_wait_s):
                # First what says whose it is: cut off half way, it is no shelf any more.
                (home / "embedding.json").unlink(missing_ok=True)
                shutil.rmtree(home)
        except OSError as error:
            raise StoreUnavailable(f"the folder {home.name} cannot be removed: {error.strerror}") from error
    return home.name


def shelf_name(fingerprint: str) -> str:
    """Name the directory of an embedding.

    Its size is not in the name: another one under the same fingerprint is a fault to tell, not a second shelf.
    """
    return hashlib.sha256(fingerprint.encode()).hexdigest()[:24]


def _claim(note: Path, fingerprint: str, dimensions: int) -> None:
    try:
        if not note.exists():
            _write_note(note, json.dumps({"fingerprint": fingerprint, "dimensions": dimensions}, indent=2) + "\n")
        text = note.read_bytes()
    except OSError as error:
        raise StoreUnavailable(f"cannot read or write the vector index's {note.name}: {error.strerror}") from error
    try:
        said = json.loads(text)
        held = (said["fingerprint"], said["dimensions"])
    except (ValueError, KeyError, TypeError) as error:
        raise StoreUnavailable(
            f"the vector index's {note.name} is empty or broken: restore it from a backup, or delete it if these"
            f" vectors were made with {fingerprint} and {dimensions} dimensions (it is then written anew); if in doubt"
            " move its folder, which the log names, away and reindex the banks"
        ) from error
    if held != (fingerprint, dimensions):
        raise EmbeddingMismatch(
            f"the vector index was made for {held[0]} with {held[1]} dimensions,"
            f" not for {fingerprint} with {dimensions}"
        )


def _write_note(note: Path, text: str) -> None:
    # On the disk before it has its name: after a power cut there is a whole note or none.
    partial = note.with_suffix(".new")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(note)
    home = os.open(note.parent, os.O_RDONLY)
    try:
        os.fsync(home)
    finally:
        os.close(home)


@contextmanager
def _locked(home: Path, wait_s: float) -> Iterator[None]:
    # The kernel lets go of the lock when its process ends, however it ends; the wait lets a killed one's worker finish.
    until = time.monotonic() + wait_s
    with (home / "lock").open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= until:
                    raise StoreUnavailable(
                        "another process has the vector index open; only one can: give this one its address"
                        " (the semantic service's), or a directory of its own"
                    ) from error
                time.sleep(LOCK_POLL_S)
        yield


def _is_news(version: int, known: tuple[int, bool] | None) -> bool:
    if known is None:
        return True
    held, removed = known
    return version > held if removed else version >= held
