"""A mesh that is looked at: nine processes and a door, each of which is measured, and something for them to do."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
from deployment import NOW, Diary, Mesh, Process, free_ports, open_nine, open_processes, until
from prometheus_client.parser import text_string_to_metric_families
from promql import Selector
from receiver import always, open_receiver

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankConfig, ConsolidationTuning
from recallmesh.core.errors import MeshError
from recallmesh.core.event import WebhookDraft
from recallmesh.core.retain import RetainItem, RetainRequest
from recallmesh.core.time import Window
from recallmesh.core.tuning import RecallTuning

NOT_HERE = {
    "recallmesh_certificate_expiry_timestamp_seconds": "nothing is encrypted",
    "recallmesh_callers_refused_total": "nobody is asked for a key",
    "recallmesh_language_model_tokens_total": "no language model is set up",
}
"""What a mesh on loopback without any of these has no series of, and why."""
FACTS = (
    "Mira plays the cello in the orchestra of Aarhus.",
    "The ferry to Anholt leaves at noon on Saturdays.",
    "Otto repaired the mill of Ebeltoft in May 2026.",
    "The heron nests in the old mill.",
    "Mira and Otto met on the ferry last week.",
)
QUESTIONS = ("Who plays the cello?", "When does the ferry leave?", "What happened last week?", "Who met Mira?")


class Door(Process):
    """The JSON door, which is ready when it says so over HTTP."""

    async def ready(self):
        async with httpx.AsyncClient() as http:

            async def answers():
                try:
                    return (await http.get(f"http://{self.address}/readyz")).is_success
                except httpx.TransportError:
                    return False

            await until(answers, 120)


@dataclass(frozen=True)
class Observed:
    """The mesh, its door, and whose address is refused."""

    mesh: Mesh
    door: Door
    webhook: str

    @property
    def processes(self) -> dict[str, Process]:
        return {**self.mesh.processes, "door": self.door}

    async def samples(self) -> list[tuple[str, dict[str, str]]]:
        """Scrape every process: the names of all series, with their labels."""
        found = []
        async with httpx.AsyncClient() as http:
            for name, process in self.processes.items():
                text = (await http.get(f"http://127.0.0.1:{process.metrics}/metrics")).text
                for family in text_string_to_metric_families(text):
                    found += [(one.name, {**one.labels, "job": name}) for one in family.samples]
        return found


def unmatched(asked: Iterable[Selector], samples: list[tuple[str, dict[str, str]]]) -> list[Selector]:
    """Return what of this no series is."""
    return [one for one in asked if not any(one.name == name and one.admits(labels) for name, labels in samples)]


@asynccontextmanager
async def open_observed(folder: Path, more: Mapping[str, str] | None = None) -> AsyncIterator[Observed]:
    """Start them."""
    environment = {
        "RECALLMESH_RETAIN__CONSOLIDATION_DELAY_S": "0",
        "RECALLMESH_EVENTS__WEBHOOK_HTTP": "true",
        "RECALLMESH_EVENTS__WEBHOOK_PRIVATE": "true",
        "RECALLMESH_RECALL__SLOW_S": "0.001",
    }
    async with AsyncExitStack() as stack:
        receiver = await stack.enter_async_context(open_receiver(always("500 Broken")))
        mesh = await stack.enter_async_context(open_nine(folder, environment | dict(more or {}), measured=True))
        port, metrics = free_ports(2)
        own = mesh.processes["recall"].environment | {"RECALLMESH_DOOR__LISTEN": f"127.0.0.1:{port}"}
        door = Door(("door",), folder / "data", folder / "door.log", own, port, metrics=metrics)
        await stack.enter_async_context(open_processes({"door": door}))
        yield Observed(mesh, door, receiver.url())


async def work(observed: Observed, rounds: int) -> None:
    """Let everything happen that is measured: also what goes wrong, and what is made good later."""
    mesh = observed.mesh
    diary = await mesh.diary(BankConfig(consolidation=ConsolidationTuning(enabled=True)))
    await mesh.faces.admin.create_webhook(diary.ref, WebhookDraft(observed.webhook, "sixteen bytes ok"))
    await _retain(diary, 0)
    await _bulk(diary)
    await mesh.faces.admin.repair_bank(diary.ref)
    keyword = mesh.processes["keyword"]
    keyword.kill()
    for number in range(1, 3):
        await _retain(diary, number)
        await _ask(diary)
    keyword.start()
    await keyword.ready()
    for number in range(3, rounds + 3):
        await _retain(diary, number)
        await _ask(diary)
        with suppress(MeshError):
            await diary.ask(" ")
        async with httpx.AsyncClient() as http:
            await http.post(
                f"http://{observed.door.address}/recallmesh.v1.RecallService/Recall",
                json={"bankId": diary.ref.bank_id, "query": QUESTIONS[0]},
                timeout=60,
            )

    async def found():
        return bool(await diary.words("heron"))

    await until(found, 90)


async def _retain(diary: Diary, number: int) -> None:
    await diary.keep(*(f"{fact} ({number})" for fact in FACTS), mode=None, document_id=f"day-{number}")


async def _bulk(diary: Diary) -> None:
    async def batches():
        item = RetainItem(("The bell of Roskilde is called Krog.",), time=NOW)
        yield RetainRequest(diary.ref, (item,), request_id=uuid4().hex)

    _ = [answer async for answer in diary.faces.retainer.stream(batches())]


async def _ask(diary: Diary) -> None:
    for question in QUESTIONS:
        await diary.ask(question, window=Window(NOW, NOW), tuning=RecallTuning(arms=frozenset(ArmName)))
    await asyncio.sleep(0)
