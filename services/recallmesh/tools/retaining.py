"""The tool that tells a bank something."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import ClassVar
from uuid import uuid4

from pydantic import Field

from recallmesh.core.bank import BankRef
from recallmesh.core.defense import DefenseAction
from recallmesh.core.errors import FieldViolation, InvalidArgument, MeshError
from recallmesh.core.limits import REQUEST_ID_BYTES
from recallmesh.core.retain import (
    DeliveryState,
    RetainAnswer,
    RetainItem,
    RetainRequest,
    UpdateMode,
)
from recallmesh.core.time import Clock
from recallmesh.tools.argument import Moment
from recallmesh.tools.missing import ARMS
from recallmesh.tools.recalling import Tags
from recallmesh.tools.shown import counted, is_made_up
from recallmesh.tools.tool import Asked, Hints, Ports, Progress, Reply, Told, Tool

ITEM = "items[0]."
"""What the mesh calls the one item of a call; the tool's arguments are that item's."""
UNSURE = frozenset({"STORE_UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL"})
"""Errors after which a call may have been carried out all the same."""


class AskedRetain(Asked):
    """Something to keep."""

    content: str = Field(
        min_length=1,
        description="What to remember, in full sentences that are understood alone later: names instead of "
        '"he" or "it". A conversation has a line for each turn: "Nadia: I start on 11 May."',
    )
    context: str = Field(
        default="", description='Who speaks to whom or what this is: "Leo is speaking to Nadia", "deploy log of web-3".'
    )
    time: Moment = Field(
        default=None,
        description='When it was said, with UTC offset; "yesterday" in content is counted from it. Default: now.',
    )
    tags: Tags = Field(default_factory=list, description="Words to find it by and to keep topics apart.")
    document_id: str = Field(
        default="",
        description="A name of your own for what belongs together, such as a file or a conversation. What was "
        "retained under it before stays; forget takes all of it away.",
    )
    request_id: str = Field(
        default="",
        max_length=REQUEST_ID_BYTES,
        description="Only to repeat a call that failed without a clear outcome: the id that its error gave.",
    )


class ToldRetain(Told):
    """What was kept."""

    notes: list[str] = Field(description="What to know: what was left out, what cannot be found yet. Empty: nothing.")
    memory_ids: list[str] = Field(description="The memories made of it. None: nothing in it was a fact.")
    document_id: str = Field(default="", description="The document that they are of; forget takes it.")


class RetainTool(Tool[AskedRetain]):
    """Keeps, only ever adding: what was kept before stays."""

    name: ClassVar = "retain"
    title: ClassVar = "Remember something"
    about: ClassVar = (
        "Keep something in long-term memory, for you and for later conversations. Use it as soon as you learn what may "
        "matter again: facts about people, preferences, plans, decisions and their reasons, what you did and what came "
        "of it. Not for small talk, for what is in memory already (recall first if unsure) or for secrets such as "
        "passwords. Text is split into facts; names and dates in it are understood. It can be recalled at once. "
        "Retaining the same again keeps it twice. To correct something, retain what is right and forget what was wrong."
    )
    hints: ClassVar = Hints()
    asked: ClassVar = AskedRetain
    told: ClassVar = ToldRetain

    def __init__(self, now: Clock, new_request_id: Callable[[], str] = lambda: uuid4().hex) -> None:
        """Keep as said at this clock's time, the speaker's, with the speaker's UTC offset."""
        self._now = now
        self._new_request_id = new_request_id

    async def run(self, ports: Ports, bank: BankRef, asked: AskedRetain, progress: Progress | None) -> Reply:
        """Keep it; an error whose outcome is unclear says how to repeat the call safely."""
        if progress is not None:
            await progress(0.0, 1.0, "reading it and keeping what it says")
        item = _item(asked, asked.time or self._now())
        request = RetainRequest(bank, (item,), asked.request_id or self._new_request_id())
        try:
            answer = await ports.retainer.retain(request)
        except InvalidArgument as error:
            raise InvalidArgument(*map(_renamed, error.violations)) from error
        except MeshError as error:
            if error.reason in UNSURE:
                error.add_note(
                    "It may have been kept. To repeat it safely, call retain with the same arguments, "
                    f"time {item.time} and request_id {request.request_id}: then it counts once."
                )
            raise
        if progress is not None:
            await progress(1.0, 1.0, "kept")
        return reply_of(answer)


def _item(asked: AskedRetain, time: datetime) -> RetainItem:
    return RetainItem(
        (asked.content,),
        time=time,
        context=asked.context,
        document_id=asked.document_id,
        tags=tuple(asked.tags),
        update_mode=UpdateMode.APPEND if asked.document_id else UpdateMode.REPLACE,
    )


def _renamed(violation: FieldViolation) -> FieldViolation:
    return FieldViolation(violation.field.removeprefix(ITEM), violation.description)


def reply_of(answer: RetainAnswer) -> Reply:
    """Write what was kept for a model."""
    ids = [one for item in answer.items for one in item.memory_ids]
    document = next((item.document_id for item in answer.items if not is_made_up(item.document_id)), "")
    notes = list(_notes(answer, kept=bool(ids)))
    if ids:
        within = f" of document {document}" if document else ""
        head = f"Kept as {counted(len(ids), 'memory', 'memories')}{within}: {', '.join(ids)}."
    else:
        head = "Nothing was kept."
    return Reply("\n".join([head, *notes]), ToldRetain(notes=notes, memory_ids=ids, document_id=document))


def _notes(answer: RetainAnswer, *, kept: bool) -> Iterator[str]:
    found = [one for item in answer.items for one in item.violations]
    yield from (
        f"{'Refused' if one.action is DefenseAction.BLOCK else 'Taken out'}, as this bank wants it: {one.message}."
        for one in found
    )
    if not kept and not found:
        yield (
            "Nothing in it was a fact that can stand alone (greetings and fillers are not kept). Say it as a full "
            "statement with names and dates, if it matters."
        )
    if answer.replayed:
        yield "It had been kept by an earlier call with this request_id; nothing was kept twice."
    pending = [ARMS[one.arm][0] for one in answer.deliveries if one.state is DeliveryState.PENDING]
    if pending and kept:
        yield f"It is safe; {_joined(pending)} will find it a little later."


def _joined(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
