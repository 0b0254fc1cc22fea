"""This mesh, embedded in a process and served by one over gRPC."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.locomo import Question
from bench.peer import family
from bench.peer.embedded import CHUNKS, TUNINGS, row_of
from bench.peer.system import MAX_TOKENS, MODELS, Reply, Way
from recallmesh.client import Client, Waiter, open_blocking, open_client
from recallmesh.core.retain import RetainItem

MESH = "mesh"
LISTENS = re.compile(rb"recallmesh serves .* on (\S+:\d+)$", re.MULTILINE)


class Embedded:
    """The mesh in a process that uses it, with the worker of its vectors."""

    name = "recallmesh, embedded"

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Talk to a process that is ready."""
        self._process = process
        self._ways: dict[str, Way] = {}

    def create(self, bank: str) -> None:
        """Make a bank."""
        self._ask(bank=bank, create=True)

    def retain(self, bank: str, items: Sequence[RetainItem]) -> float:
        """Retain."""
        took: float = self._ask(bank=bank, items=[row_of(item) for item in items])
        return took

    def turn_to(self, bank: str, way: Way) -> None:
        """Ask in this way."""
        self._ways[bank] = way

    def recall(self, bank: str, question: Question) -> Reply:
        """Recall."""
        asked = question.asked.isoformat()
        took, turns = self._ask(bank=bank, query=question.text, asked=asked, way=self._ways[bank])
        return Reply(took, tuple(turns))

    def cpu_s(self) -> Mapping[str, float]:
        """Return the CPU seconds, the models' threads apart."""
        models: float = self._ask(models=True)
        return {MESH: family.cpu_s(self._process.pid) - models, MODELS: models}

    def memory_mib(self) -> Mapping[str, Mapping[str, float]]:
        """Return the memory of both processes."""
        own, *others = family.family(self._process.pid)
        worker = family.memory_mib(others)
        whole = family.memory_mib([own])
        return {
            "process": {kind: round(size - worker[kind], 1) for kind, size in whole.items()},
            "vectors' worker": worker,
        }

    def _ask(self, **asked: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


class Served:
    """The mesh as one server over gRPC, asked by the blocking client."""

    name = "recallmesh, one server over gRPC"

    def __init__(self, process: subprocess.Popen[bytes], client: Client, wait: Waiter) -> None:
        """Talk to a server that is ready."""
        self._process = process
        self._client = client
        self._wait = wait
        self._ways: dict[str, Way] = {}

    def create(self, bank: str) -> None:
        """Make a bank."""
        self._wait(self._client.bank(bank).create(config=CHUNKS))

    def retain(self, bank: str, items: Sequence[RetainItem]) -> float:
        """Retain."""
        began = perf_counter()
        self._wait(self._client.bank(bank).retain(*items))
        return (perf_counter() - began) * 1000

    def turn_to(self, bank: str, way: Way) -> None:
        """Ask in this way."""
        self._ways[bank] = way

    def recall(self, bank: str, question: Question) -> Reply:
        """Recall."""
        began = perf_counter()
        found = self._wait(
            self._client.bank(bank).recall(
                question.text, query_time=question.asked, tuning=TUNINGS[self._ways[bank]], max_tokens=MAX_TOKENS
            )
        )
        took = (perf_counter() - began) * 1000
        return Reply(took, tuple(each.memory.metadata["dia_id"] for each in found.memories))

    def cpu_s(self) -> Mapping[str, float]:
        """Return the CPU seconds of the server, its models with it."""
        return {MESH: family.cpu_s(self._process.pid)}

    def memory_mib(self) -> Mapping[str, Mapping[str, float]]:
        """Return the memory of the server's processes."""
        return {MESH: family.memory_mib([self._process.pid])}


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.upper().startswith("RECALLMESH_")}


@contextmanager
def open_embedded_mesh(folder: Path) -> Iterator[Embedded]:
    """Start the mesh in a process of its own, on the default settings."""
    words = [sys.executable, "-m", "bench.peer.embedded", str(folder)]
    with subprocess.Popen(
        words, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if not process.stdout.readline():
            raise SystemExit("the embedded mesh did not start")
        try:
            yield Embedded(process)
        finally:
            process.stdin.close()


@contextmanager
def open_served_mesh(folder: Path) -> Iterator[Served]:
    """Start ``recallmesh serve all`` on the default settings."""
    words = [str(Path(sys.executable).with_name("recallmesh")), "serve", "all", "--data", str(folder)]
    with subprocess.Popen(
        [*words, "--listen", "127.0.0.1:0"], env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        # Its log is on the other stream: after this line nothing comes that nobody reads.
        found = next(filter(None, map(LISTENS.search, process.stdout)), None)
        if found is None:
            raise SystemExit("the served mesh did not start")
        try:
            with open_blocking(open_client(found.group(1).decode())) as (client, wait):
                yield Served(process, client, wait)
        finally:
            process.terminate()
