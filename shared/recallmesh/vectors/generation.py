"""The shard in use and the one being built: graphs grow in another process, on a copy, while the old one serves."""

import logging
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from recallmesh.core.errors import StoreUnavailable
from recallmesh.vectors.edge import Shard, create_shard, load_shard

GROWTH = 4
"""Graphs are built anew when a quarter of all points is in none."""
COPIED_AT_ONCE = 256
STOP_S = 5.0

logger = logging.getLogger(__name__)


class Generations:
    """Holds the shard in use and puts a better one in its place.

    ``current`` names the directory in use and is replaced in one step, so a crash at any moment leaves a whole shard.
    """

    def __init__(self, home: Path, *, dimensions: int, index_from: int) -> None:
        """Keep shards below ``home``; build graphs from ``index_from`` points without one."""
        self._home = home
        self._dimensions = dimensions
        self._index_from = index_from
        self._build: subprocess.Popen[bytes] | None = None
        self._number = 0
        self._changed: set[int] = set()
        self._dropped: set[str] = set()
        self.shard: Shard

    def __enter__(self) -> Self:
        """Open the shard in use, made where there is none; what a crash left beside it is deleted."""
        note = self._home / "current"
        if note.exists():
            self._number = int(note.read_text(encoding="ascii"))
            self._sweep()
            self.shard = load_shard(self._path(self._number))
        else:
            self._sweep()
            self._number = 1
            self.shard = create_shard(self._path(1), self._dimensions, index_from=self._index_from)
            self._point_at(1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give up what is being built and close the shard."""
        if self._build is not None:
            self._build.terminate()
            self._build.wait(STOP_S)
        self.shard.close()

    def changed(self, point_ids: list[int]) -> None:
        """Remember points to bring up to date in what is being built."""
        if self._build is not None:
            self._changed.update(point_ids)

    def dropped(self, bank_uid: str) -> None:
        """Remember a bank to drop from what is being built."""
        if self._build is not None:
            self._dropped.add(bank_uid)

    def advance(self) -> None:
        """Start a build when one is due; take it into use when it is done. Returns at once in between."""
        if self._build is None:
            points, unindexed = self.shard.counts()
            if unindexed >= max(self._index_from, points // GROWTH):
                self._start()
            return
        code = self._build.poll()
        if code is None:
            return
        self._build = None
        if code == 0:
            self._adopt()
        else:
            logger.warning("building the vector graphs failed with code %d; searches stay exact", code)
            self._later()

    def _start(self) -> None:
        self.shard.flush()
        target = self._path(self._number + 1)
        shutil.rmtree(target, ignore_errors=True)
        try:
            shutil.copytree(self._path(self._number), target)
        except OSError as error:
            logger.warning("no room to build the vector graphs (%s); searches stay exact", error.strerror)
            self._later()
            return
        self._changed.clear()
        self._dropped.clear()
        self._build = subprocess.Popen(  # noqa: S603 -- our own module
            [sys.executable, "-m", "recallmesh.vectors.build", str(target)], stdin=subprocess.DEVNULL
        )

    def _adopt(self) -> None:
        former = self._number
        try:
            built = load_shard(self._path(former + 1))
            for bank_uid in self._dropped:
                built.drop(bank_uid)
            ids = sorted(self._changed)
            for first in range(0, len(ids), COPIED_AT_ONCE):
                self.shard.copy_points(ids[first : first + COPIED_AT_ONCE], built)
            built.flush()
        except StoreUnavailable:
            logger.warning("the built vector graphs could not be taken into use; searches stay exact", exc_info=True)
            self._later()
            return
        self._point_at(former + 1)
        old, self.shard, self._number = self.shard, built, former + 1
        old.close()
        self._sweep()
        _, unindexed = self.shard.counts()
        if unindexed >= self._index_from:
            self._later()

    def _later(self) -> None:
        _, unindexed = self.shard.counts()
        self._index_from = max(self._index_from, 2 * unindexed)

    def _path(self, number: int) -> Path:
        return self._home / f"shard-{number}"

    def _point_at(self, number: int) -> None:
        partial = self._home / "current.new"
        partial.write_text(str(number), encoding="ascii")
        partial.replace(self._home / "current")

    def _sweep(self) -> None:
        for path in self._home.glob("shard-*"):
            if path != self._path(self._number):
                shutil.rmtree(path, ignore_errors=True)
