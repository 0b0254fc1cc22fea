"""The tool that deletes what it is told to, and nothing else."""

from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from recallmesh.core.admin import Admin
from recallmesh.core.bank import BankRef
from recallmesh.core.errors import FieldViolation, InvalidArgument, MemoryNotFound, MeshError
from recallmesh.core.memory import Memory
from recallmesh.tools.shown import counted
from recallmesh.tools.tool import Asked, Hints, Ports, Progress, Reply, Told, Tool

MOST = 50
"""Memories that one call may forget."""


class AskedForget(Asked):
    """What to delete."""

    memory_ids: Annotated[list[str], Field(max_length=MOST)] = Field(
        default_factory=list, description="The memories to delete, by the ids that recall or list gave."
    )
    document_id: str = Field(
        default="", description="In place of memory_ids: the document to delete with all its memories."
    )


class Forgotten(BaseModel):
    """A memory that is no more."""

    id: str
    text: str = Field(description="What it said.")


class ToldForget(Told):
    """What was deleted."""

    notes: list[str] = Field(description="What was not deleted, and why. Empty: all was deleted as asked.")
    memory_count: int = Field(description="How many memories were deleted.")
    forgotten: list[Forgotten] = Field(default_factory=list, description="The memories that were named and deleted.")
    document_id: str = Field(default="", description="The document that was deleted.")


class ForgetTool(Tool[AskedForget]):
    """Deletes by id, and says what each said, so that it can be told again."""

    name: ClassVar = "forget"
    title: ClassVar = "Forget memories"
    about: ClassVar = (
        "Delete memories for good, by their ids, or a whole document with all its memories. Use it when your user "
        "wants something forgotten, or for a memory that is wrong or out of date after you have retained what is "
        "right. Recall or list first: it takes ids of their answers alone, deletes nothing by likeness, and cannot be "
        "undone. The answer says what was deleted."
    )
    hints: ClassVar = Hints(destructive=True, idempotent=True)
    asked: ClassVar = AskedForget
    told: ClassVar = ToldForget

    async def run(self, ports: Ports, bank: BankRef, asked: AskedForget, progress: Progress | None) -> Reply:
        """Delete it.

        Raises:
            InvalidArgument: neither memories nor a document are named, or both.
            MemoryNotFound: none of the memories is there.
            DocumentNotFound: there is no such document.

        """
        if bool(asked.memory_ids) == bool(asked.document_id):
            raise InvalidArgument(FieldViolation("memory_ids", "is required, or document_id in its place; not both"))
        if asked.document_id:
            return await _forget_document(ports.admin, bank, asked.document_id)
        return await _forget_memories(ports.admin, bank, list(dict.fromkeys(asked.memory_ids)), progress)


async def _forget_document(admin: Admin, bank: BankRef, document_id: str) -> Reply:
    count = await admin.delete_document(bank, document_id)
    text = f"Deleted document {document_id} and its {counted(count, 'memory', 'memories')}."
    return Reply(text, ToldForget(notes=[], memory_count=count, document_id=document_id))


async def _forget_memories(admin: Admin, bank: BankRef, ids: list[str], progress: Progress | None) -> Reply:
    """Delete one after the other; what fails half way is told with what is gone by then."""
    gone: list[Forgotten] = []
    strange: list[str] = []
    notes: list[str] = []
    for place, one in enumerate(ids):
        try:
            memory = await admin.get_memory(bank, one)
            await admin.delete_memory(bank, one)
        except MemoryNotFound:
            strange.append(one)
        except MeshError as error:
            if not gone:
                raise
            left = ", ".join(ids[place:])
            notes.append(
                f"Then it failed: {error.message}. Not deleted, or not known to be: {left}; ask for them again."
            )
            break
        else:
            gone.append(_forgotten(memory))
        if progress is not None:
            await progress(place + 1.0, float(len(ids)), f"{len(gone)} deleted")
    if not gone:
        raise MemoryNotFound(", ".join(strange))
    if strange:
        notes.insert(0, f"Not there, so not deleted: {', '.join(strange)}.")
    rows = [f"- {one.text} (id {one.id})" for one in gone]
    head = f"Deleted {counted(len(gone), 'memory', 'memories')}:"
    return Reply("\n".join([head, *rows, *notes]), ToldForget(notes=notes, memory_count=len(gone), forgotten=gone))


def _forgotten(memory: Memory) -> Forgotten:
    return Forgotten(id=memory.id, text=memory.text)
