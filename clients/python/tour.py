# ruff: noqa: INP001, T201 - a programme of its own, which prints
"""A tour of a mesh, for reading: a bank from its making to its end, by the client.

Asks the mesh at RECALLMESH_ADDRESS (127.0.0.1:7070), with the key RECALLMESH_KEY if there is one, and by TLS if
RECALLMESH_CA is the file of the authority that its certificate is of.
"""

import asyncio
import os
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

from recallmesh.client import BankClient, Client, MeshError, RetainItem, Tls, open_client, within
from recallmesh.core.bank import ExtractionMode
from recallmesh.core.errors import ArmTimeout, BankNotFound, StoreUnavailable

ADDRESS = os.environ.get("RECALLMESH_ADDRESS") or "127.0.0.1:7070"
KEY = os.environ.get("RECALLMESH_KEY", "")
CA = os.environ.get("RECALLMESH_CA")

TOLD = (
    RetainItem(
        content=("Leo: I adopted a dog yesterday! She is a greyhound called Pixel.",),
        time=datetime(2026, 3, 21, 9, 5, tzinfo=UTC),
        context="Leo is speaking to Nadia",
        document_id="chat-1",
    ),
    RetainItem(
        content=("Nadia: I start in the bakery on 11 May.",),
        time=datetime(2026, 3, 21, 9, 7, tzinfo=UTC),
        document_id="chat-2",
        tags=("work",),
    ),
)
MORE = ("Pixel refuses the stairs.", "The bakery is in Asker.")


async def tour(mesh: Client) -> None:
    """Make a bank, do everything with it, and delete it, whatever happens between."""
    bank = mesh.bank(f"tour-python-{secrets.token_hex(3)}")
    await bank.create()
    print("bank:", bank.ref.bank_id)
    try:
        await look_around(mesh, bank)
    finally:
        await bank.delete()
    print("deleted:", bank.ref.bank_id)


async def look_around(mesh: Client, bank: BankClient) -> None:
    """Retain, ask, stream, and meet two errors."""
    # With a request id of your own, a call that you make again (after a crash, say) counts once.
    kept = await bank.retain(*TOLD, request_id="tour-1", mode=ExtractionMode.VERBATIM)
    print(f"retained: {len(kept.items)} items, {kept.memory_count} memories")

    answer = await bank.recall("Which dog does Leo have?", max_tokens=200, trace=True)
    print("recalled:", answer.memories[0].memory.text)
    if answer.trace is not None:
        print(f"trace: {len(answer.trace.candidates)} candidates, {len(answer.trace.phases)} phases")

    # The fused answer comes at once, the reranked one takes its place.
    stages = [progress.stage async for progress in bank.recall_stream("When does Nadia start?")]
    print("streamed:", ", ".join(stages))

    # Any iterable, as long as you like; under the same name it goes on where it stopped.
    loaded = await bank.load(MORE, name="tour-2", batch_size=1, mode=ExtractionMode.VERBATIM)
    print(f"bulk: {loaded.batches} of {len(MORE)} batches kept")

    try:
        await mesh.bank("tour-nobody").recall("Is anybody there?")
    except BankNotFound as error:
        print("error:", error.code, error.reason)

    # Every call has a deadline; this one has no chance.
    try:
        with within(0.001):
            await bank.recall("Who is late?")
    except ArmTimeout as error:
        print("deadline:", error.code)


async def main() -> int:
    """Take the tour, and say in a sentence what went wrong."""
    try:
        async with open_client(ADDRESS, key=KEY, tls=Tls(ca=Path(CA)) if CA else None) as mesh:
            await tour(mesh)
    except StoreUnavailable as error:
        print(f"{error.code}: no mesh answers at {ADDRESS}; start one: recallmesh serve all", file=sys.stderr)
        return 1
    except MeshError as error:
        request_id = error.metadata.get("request_id", "unknown")
        print(f"{error.code} {error.reason}: {error.message} (request id {request_id})", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
