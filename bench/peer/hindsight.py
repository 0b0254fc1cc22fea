"""Hindsight as its makers ship it: its server, its database, and a server for the models; asked over HTTP."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import rmtree
from time import perf_counter
from typing import Any

import httpx

from bench.locomo import Question
from bench.peer import family, home
from bench.peer.embedded import row_of
from bench.peer.system import MAX_TOKENS, MODELS, Reply, Way
from recallmesh.core.retain import RetainItem

READY_S = 180.0
STOP_S = 10.0
SETTINGS = {
    "HINDSIGHT_API_LLM_PROVIDER": "none",
    "HINDSIGHT_API_RETAIN_EXTRACTION_MODE": "chunks",
    "HINDSIGHT_API_ENABLE_OBSERVATIONS": "false",
    "HINDSIGHT_API_EMBEDDINGS_PROVIDER": "tei",
    "HINDSIGHT_API_RERANKER_PROVIDER": "tei",
    "HINDSIGHT_API_RERANKER_TEI_HTTP_TIMEOUT": "120",
    "HINDSIGHT_API_LOG_LEVEL": "info",
    "HF_HUB_OFFLINE": "1",
}
"""What differs from its defaults: no language model, and models that can be had without a hub."""
FLAGS = {
    Way.PLAIN: {"enable_reranking": False, "enable_graph_retrieval": True, "enable_temporal_retrieval": True},
    Way.LEAN: {"enable_reranking": False, "enable_graph_retrieval": False, "enable_temporal_retrieval": False},
    Way.RERANKED: {"enable_reranking": True, "enable_graph_retrieval": True, "enable_temporal_retrieval": True},
}
"""All of them each time: a bank keeps what it was told."""
NAME = "hindsight"


class Hindsight:
    """The peer, running."""

    name = f"Hindsight {home.VERSION}"

    def __init__(self, client: httpx.Client, parts: Mapping[str, int]) -> None:
        """Talk to a server that is ready; ``parts`` are the first process of each."""
        self._client = client
        self._parts = parts
        self._turns: dict[tuple[str, str], str] = {}

    def create(self, bank: str) -> None:
        """Make a bank."""
        self._client.put(f"/v1/default/banks/{bank}", json={}).raise_for_status()

    def retain(self, bank: str, items: Sequence[RetainItem]) -> float:
        """Retain."""
        rows = [row_of(item) for item in items]
        self._turns.update({(bank, row["content"]): row["metadata"]["dia_id"] for row in rows})
        told = [{"timestamp": row.pop("time"), **row} for row in rows]
        began = perf_counter()
        answer = self._client.post(f"/v1/default/banks/{bank}/memories", json={"items": told})
        took = (perf_counter() - began) * 1000
        answer.raise_for_status()
        return took

    def turn_to(self, bank: str, way: Way) -> None:
        """Set the bank's flags."""
        answer = self._client.patch(f"/v1/default/banks/{bank}/config", json={"updates": FLAGS[way]})
        answer.raise_for_status()

    def recall(self, bank: str, question: Question) -> Reply:
        """Recall; entities of the memories are left out, as ours are."""
        asked = {
            "query": question.text,
            "budget": "mid",
            "max_tokens": MAX_TOKENS,
            "query_timestamp": question.asked.isoformat(),
            "include": {"entities": None},
        }
        began = perf_counter()
        answer = self._client.post(f"/v1/default/banks/{bank}/memories/recall", json=asked)
        took = (perf_counter() - began) * 1000
        answer.raise_for_status()
        return Reply(took, tuple(self._turn(bank, row) for row in answer.json()["results"]))

    def _turn(self, bank: str, row: Mapping[str, Any]) -> str:
        """Return the turn of a memory, by its words where it comes without its metadata, as what links lead to does."""
        metadata = row.get("metadata") or {}
        return str(metadata.get("dia_id") or self._turns.get((bank, row["text"]), ""))

    def cpu_s(self) -> Mapping[str, float]:
        """Return the CPU seconds of each part."""
        return {part: family.cpu_s(pid) for part, pid in self._parts.items()}

    def memory_mib(self) -> Mapping[str, Mapping[str, float]]:
        """Return the memory of each part."""
        return {part: family.memory_mib([pid]) for part, pid in self._parts.items()}


@contextmanager
def open_hindsight() -> Iterator[Hindsight]:
    """Start all of it on an empty database, and stop it."""
    home.install()
    home.LOGS.mkdir(exist_ok=True)
    database, models, server = (_free_port() for _ in range(3))
    with ExitStack() as stack:
        found = {"database": stack.enter_context(_open_database(database))}
        words = [sys.executable, "-m", "bench.peer.tei", str(models)]
        found[MODELS] = stack.enter_context(_open_process(words, {}, f"http://127.0.0.1:{models}"))
        address = f"http://127.0.0.1:{server}"
        variables = SETTINGS | {
            "HINDSIGHT_API_DATABASE_URL": f"postgresql://{NAME}:{NAME}@127.0.0.1:{database}/{NAME}",
            "HINDSIGHT_API_HOST": "127.0.0.1",
            "HINDSIGHT_API_PORT": str(server),
            "HINDSIGHT_API_EMBEDDINGS_TEI_URL": f"http://127.0.0.1:{models}",
            "HINDSIGHT_API_RERANKER_TEI_URL": f"http://127.0.0.1:{models}",
        }
        found["server"] = stack.enter_context(_open_process([home.programme("hindsight-api")], variables, address))
        client = stack.enter_context(httpx.Client(base_url=address, timeout=300))
        yield Hindsight(client, found)


@contextmanager
def _open_database(port: int) -> Iterator[int]:
    rmtree(home.DATABASE, ignore_errors=True)
    home.give_to_owner(home.DATABASE)
    pg0, place = home.database_programme(), ["env", f"HOME={home.DATABASE}"]
    login = ["--username", NAME, "--password", NAME, "--database", NAME]
    start = [*place, pg0, "start", "--name", NAME, "--port", str(port), *login]
    with (home.LOGS / "database.log").open("wb") as log:
        subprocess.run(home.as_owner(start), check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            [note] = home.DATABASE.rglob("postmaster.pid")
            yield int(note.read_text(encoding="ascii").splitlines()[0])
        finally:
            stop = [*place, pg0, "stop", "--name", NAME]
            subprocess.run(home.as_owner(stop), check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


@contextmanager
def _open_process(words: list[str], variables: Mapping[str, str], address: str) -> Iterator[int]:
    path = home.LOGS / f"{Path(words[-1]).name}.log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            words, env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        _wait_until_healthy(process, address, path)
        yield process.pid
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_healthy(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    until = time.monotonic() + READY_S
    while process.poll() is None and time.monotonic() < until:
        try:
            if httpx.get(f"{address}/health", timeout=2).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise SystemExit(f"{log.stem} did not start:\n{log.read_text(encoding='utf-8', errors='replace')[-2000:]}")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
