"""A mesh that kills its own process after a step: a call of a port that changes what a store holds.

The steps are not listed anywhere: whatever a port is asked that is no mere reading is one, so that a new step is known
by being there. Run as a programme it takes orders as JSON lines, carries each out in a process of its own, forked from
one that has loaded everything, and tells how that process ended.
"""

import asyncio
import json
import os
import signal
import sys
import traceback
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from deployment import until

from bench.hashed import HashedEmbedder
from recallmesh.client import Client
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.ledger import MemoryFilter
from recallmesh.core.operation import FINISHED
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import NamedEntity, RetainItem, RetainRequest, UpdateMode
from recallmesh.core.time import system_clock
from recallmesh.mesh import Assembly
from recallmesh.models import Role
from recallmesh.settings import load_settings
from recallmesh.telemetry.log import set_up_logging

REF = BankRef("diary")
NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
OLD = ("The mill at Vik burned down.", "Ida rebuilt the mill in a year.", "Ole sold the flour.")
NEW = ("The mill at Vik burned down.", "Bea bought the mill from Ida.")
READINGS = frozenset(
    {
        *("check", "search", "scan", "embed", "info"),
        *("get_bank", "list_banks", "bank_stats", "read", "outline", "list_memories", "get_document", "list_documents"),
        *("read_chunks", "outline_chunks", "list_chunks", "get_entity", "list_entities", "entities_like", "list_tags"),
        *("find_request", "known_digests", "own_outbox", "unretired", "outbox_lag", "get_operation", "list_operations"),
        *("shown", "waiting"),
    }
)
"""What changes nothing: to die after one of these is to die after the step before it."""
POLLS = frozenset({"lease_job"})
"""What is asked again and again and may have nothing to give: then it changed nothing, as where nothing was counted."""


@dataclass
class Steps:
    """Counts the steps of this process, and dies after the one that it is told to."""

    deadly: str = ""
    trace: Path | None = None
    seen: Counter[str] = field(default_factory=Counter)

    def took(self, step: str) -> None:
        self.seen[step] += 1
        name = f"{step}#{self.seen[step]}"
        if self.trace is not None:
            with self.trace.open("a", encoding="utf-8") as file:
                file.write(name + "\n")
        if name == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)


class Stepped:
    """A port whose every change is a step."""

    def __init__(self, port: object, name: str, steps: Steps) -> None:
        self._port, self._name, self._steps = port, name, steps

    def __getattr__(self, method):
        call = getattr(self._port, method)
        if method in READINGS:
            return call

        async def stepped(*arguments, **named):
            result = await call(*arguments, **named)
            if result or (result is None and method not in POLLS):
                of = "".join(f"-{one}" for one in arguments if isinstance(one, ArmName))
                self._steps.took(f"{self._name}.{method}{of}")
            return result

        return stepped


@dataclass(slots=True)
class SteppedAssembly(Assembly):
    """The mesh's own composition, with steps around the ledger and every arm."""

    steps: Steps = field(default_factory=Steps)

    async def ledger(self):
        return Stepped(await Assembly.ledger(self), "ledger", self.steps)

    async def arm(self, name, role=Role.MAIN):
        return Stepped(await Assembly.arm(self, name, role), name.value, self.steps)


def settings_of(data: Path):
    return load_settings(
        data=data, reranker={"backend": "none"}, retain={"outbox_poll_s": 0.02}, bank={"watch_interval_s": 0.02}
    )


def items(texts, **more) -> tuple[RetainItem, ...]:
    """Return one item a text; each names the mill, and who did what."""
    return tuple(
        RetainItem(
            (text,), time=NOW, entities=(NamedEntity("Vik", "place"), NamedEntity(text.split()[0], "person")), **more
        )
        for text in texts
    )


def asked(texts, document, request_id="", **more) -> RetainRequest:
    wait = more.pop("wait", True)
    given = items(texts, document_id=document, **more)
    return RetainRequest(REF, given, mode=ExtractionMode.CHUNKS, request_id=request_id, wait=wait)


async def _memory(faces: Client, document="old") -> str:
    page = await faces.admin.list_memories(REF, MemoryFilter(document_id=document), PageRequest(100))
    return next(memory.id for memory in page.rows if memory.text == OLD[1])


async def retain(faces):
    return await faces.retainer.retain(asked(NEW, "new", "r"))


async def replace(faces):
    return await faces.retainer.retain(asked(NEW, "old", "r"))


async def append(faces):
    return await faces.retainer.retain(asked(NEW, "old", "r", update_mode=UpdateMode.APPEND))


async def later(faces):
    answer = await faces.retainer.retain(asked(NEW, "new", "r", wait=False))
    async for operation in faces.admin.watch_operation(REF, answer.operation_id):
        if operation.state in FINISHED:
            return answer
    return answer


async def delete_memory(faces):
    await faces.admin.delete_memory(REF, await _memory(faces))


async def invalidate(faces):
    await faces.admin.invalidate_memory(REF, await _memory(faces))


async def delete_document(faces):
    await faces.admin.delete_document(REF, "old")


async def delete_bank(faces):
    await faces.admin.delete_bank(REF)


async def reprocess(faces):
    operation = await faces.admin.reprocess_document(REF, "old")
    async for seen in faces.admin.watch_operation(REF, operation.id):
        operation = seen
    return operation


async def repair(faces):
    operation = await faces.admin.repair_bank(REF)
    async for seen in faces.admin.watch_operation(REF, operation.id):
        operation = seen
    return operation


CHANGES = (retain, replace, append, later, delete_memory, invalidate, delete_document, delete_bank, reprocess, repair)
DEEDS = {deed.__name__: deed for deed in CHANGES}
"""What is done until the process is killed, by name."""


async def do(data: Path, deed: str, steps: Steps) -> None:
    """Do a deed and wait until the outbox is empty; tells when it was answered."""
    async with AsyncExitStack() as stack:
        assembly = SteppedAssembly(settings_of(data), frozenset(), stack, given_embedder=HashedEmbedder(), steps=steps)
        faces = Client(await assembly.recaller(), await assembly.retainer(), await assembly.admin())
        ledger = await assembly.ledger()
        steps.seen.clear()
        await DEEDS[deed](faces)
        (data / "answered").touch()

        async def delivered():
            # A bank's second removal is not due for a minute.
            return not [age for _, _, age in await ledger.outbox_lag(system_clock()) if age]

        await until(delivered, 60)


def main() -> None:
    set_up_logging(level="error")
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if not pid:
            code = 1
            try:
                trace = Path(order["trace"]) if order.get("trace") else None
                asyncio.run(do(Path(order["data"]), order["deed"], Steps(order.get("deadly", ""), trace)))
                code = 0
            except BaseException:  # noqa: BLE001 - whatever it was, this process must not go on as its parent
                traceback.print_exc()
            os._exit(code)
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(json.dumps({"ended": os.waitstatus_to_exitcode(status)}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
