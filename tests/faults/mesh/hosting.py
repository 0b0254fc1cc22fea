"""Processes of the mesh, each in its place: forked from one that has loaded everything, so that they start soon."""

import asyncio
import ctypes
import importlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE

from faults.mesh.network import Place, enter

from recallmesh.mesh import Part
from recallmesh.serve import serve
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging

PR_SET_PDEATHSIG = 1
LOADED = ("alembic.command", "httpcore2", "neo4j", "numpy", "opensearchpy", "psycopg", "rapidfuzz", "sqlalchemy")
"""What the parts import where they need it: once here instead of in each."""
PORT = 7070
"""Where each process listens, at its own address."""


def fork_for() -> None:
    """Start and bury processes, as lines of standard input say."""
    for name in LOADED:
        importlib.import_module(name)
    for line in sys.stdin:
        word, *rest = json.loads(line)
        if word == "bury":
            os.waitpid(rest[0], 0)
            told = rest[0]
        elif not (told := os.fork()):
            _be(*rest)
        sys.stdout.write(f"{told}\n")
        sys.stdout.flush()


def _be(part: str, host: str, namespace: int, log: str, environment: dict[str, str]) -> None:
    """Be one process of the mesh, until it is told to stop."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    enter(namespace)
    os.environ.update(environment | {"RECALLMESH_SERVE__LISTEN": f"{host}:{PORT}"})
    told = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream, mine in ((os.open(os.devnull, os.O_RDONLY), 0), (told, 1), (told, 2)):
        os.dup2(stream, mine)
    settings = load_settings()
    set_up_logging(level=settings.log_level)
    asyncio.run(serve(settings, frozenset({Part(part)}), lambda _address: None))
    os._exit(0)


@dataclass
class Nursery:
    """Whoever forks: one process beside this one."""

    forking: asyncio.subprocess.Process | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def start(self, part: str, place: Place, log: Path, environment: Mapping[str, str]) -> int:
        """Start a process; returns its number."""
        return await self._told("start", part, place.host, place.holder, str(log), dict(environment))

    async def bury(self, pid: int) -> None:
        """Wait until a process that was killed is gone."""
        await self._told("bury", pid)

    async def close(self) -> None:
        if self.forking is not None:
            self.forking.kill()
            await self.forking.wait()

    async def _told(self, *words: object) -> int:
        async with self.turn:
            if self.forking is None:
                self.forking = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "faults.mesh.hosting", stdin=PIPE, stdout=PIPE, env=os.environ | inherited()
                )
            self.forking.stdin.write(json.dumps(words).encode() + b"\n")
            return int(await self.forking.stdout.readline())


def inherited() -> dict[str, str]:
    """Return what a programme of these tests needs to find the others."""
    tests = Path(__file__).parents[2]
    paths = (str(tests), str(tests.parent), os.environ.get("PYTHONPATH", ""))
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


@dataclass
class Member:
    """One process of the mesh, which can be signalled, and started again where it was."""

    part: str
    place: Place
    nursery: Nursery
    environment: Mapping[str, str]
    log: Path
    pid: int = 0

    @property
    def address(self) -> str:
        return f"{self.place.host}:{PORT}"

    async def start(self) -> None:
        self.pid = await self.nursery.start(self.part, self.place, self.log, self.environment)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    async def kill(self) -> None:
        self.signal(signal.SIGKILL)
        await self.nursery.bury(self.pid)


if __name__ == "__main__":
    fork_for()
