"""What calls with a request id were answered: kept in the transaction of their effect, so that it happens once.

Kept is what the answer names, not what it says: a memory that was deleted since is in no answer given again.
"""

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from operator import attrgetter
from typing import Any, TypeVar, cast

from sqlalchemy import BigInteger, Column, Connection, Index, Table, Text, bindparam, delete, insert, select, tuple_

from recallmesh.core.bank import Bank
from recallmesh.core.entity import Entity
from recallmesh.core.errors import BankNotFound, InternalFault, MemoryNotFound, RequestIdReused
from recallmesh.core.event import Webhook
from recallmesh.core.memory import Memory
from recallmesh.core.once import Once, once_in_hand
from recallmesh.core.operation import Operation
from recallmesh.core.write import Submission
from recallmesh.ledger.banks import get_bank
from recallmesh.ledger.entities import get_entity
from recallmesh.ledger.moment import to_us
from recallmesh.ledger.operations import get_operation
from recallmesh.ledger.reading import read_memories
from recallmesh.ledger.schema import metadata
from recallmesh.ledger.webhooks import get_webhook

T = TypeVar("T")

KEPT_FOR = timedelta(days=1)
"""How long a call is known by its request id: far longer than anyone tries again."""

NAMED: Mapping[str, tuple[type, Callable[[Any], str]]] = {
    "bank": (Bank, attrgetter("uid")),
    "memory": (Memory, attrgetter("id")),
    "entity": (Entity, attrgetter("id")),
    "operation": (Operation, attrgetter("id")),
    "submission": (Submission, attrgetter("operation.id")),
    "webhook": (Webhook, attrgetter("id")),
}
"""What an answer may be, besides numbers and nothing, and by what it is found again."""

answers = Table(
    "answers",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("request_id", Text, primary_key=True),
    Column("content_hash", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Index("answers_created", "created"),
)

_OLD = select(answers.c.tenant, answers.c.request_id).where(answers.c.created < bindparam("before"))
_FORGET = delete(answers).where(
    tuple_(answers.c.tenant, answers.c.request_id).in_(_OLD.with_for_update(skip_locked=True))
)


def once(work: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """Return the work, done once for the request id of the call in hand; as it is where there is none."""
    call = once_in_hand()
    if call is None:
        return work
    call.spent = True
    return lambda connection: _done_once(connection, call, work)


def _done_once(connection: Connection, call: Once, work: Callable[[Connection], T]) -> T:
    """Do the work and keep what it answered, or answer as before.

    Raises:
        RequestIdReused: the id came with another call.

    """
    which = (answers.c.tenant == call.ref.tenant) & (answers.c.request_id == call.request_id)
    known = connection.execute(select(answers.c.content_hash, answers.c.answer).where(which)).first()
    if known is not None:
        if known.content_hash != call.content_hash:
            said = f"request id {call.request_id!r} came before with another call"
            raise RequestIdReused(said, metadata={"request_id": call.request_id})
        return cast("T", _read(connection, call, json.loads(known.answer)))
    result = work(connection)
    connection.execute(_FORGET, {"before": to_us(call.at - KEPT_FOR)})
    row = {
        "tenant": call.ref.tenant,
        "request_id": call.request_id,
        "content_hash": call.content_hash,
        "answer": json.dumps(_told(result)),
        "created": to_us(call.at),
    }
    connection.execute(insert(answers).values(row))
    return result


def _told(result: object) -> Any:  # noqa: ANN401 -- JSON
    if result is None or isinstance(result, int):
        return result
    if isinstance(result, tuple):
        return [_told(part) for part in result]
    for kind, (known, name_of) in NAMED.items():
        if isinstance(result, known):
            return {kind: name_of(result)}
    raise InternalFault(f"an answer of kind {type(result).__name__} cannot be given again")


def _read(connection: Connection, call: Once, told: Any) -> object:  # noqa: ANN401 -- JSON
    if isinstance(told, list):
        return tuple(_read(connection, call, part) for part in told)
    if not isinstance(told, dict):
        return cast("int | None", told)
    [(kind, name)] = told.items()
    bank = get_bank(connection, call.ref)
    match kind:
        case "bank":
            if bank.uid != name:  # deleted since, and another made under its id
                raise BankNotFound(call.ref.bank_id)
            return bank
        case "memory":
            found = read_memories(connection, bank.uid, [name])
            if not found:
                raise MemoryNotFound(name)
            return found[0]
        case "entity" | "webhook":
            return (
                get_entity(connection, bank.uid, name) if kind == "entity" else get_webhook(connection, bank.uid, name)
            )
        case _:
            operation = get_operation(connection, bank.uid, name)
            return operation if kind == "operation" else Submission(operation, replayed=True)
