"""Banks in the ledger: made, changed, counted, and removed with all they hold."""

import json
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, func, insert, literal_column, select, update

from recallmesh.core.arm import ArmName
from recallmesh.core.bank import Bank, BankConfig, BankRef, BankStats
from recallmesh.core.errors import BankExists, BankNotFound, ConflictingWrite
from recallmesh.core.page import Page, PageRequest
from recallmesh.core.write import OutboxAction
from recallmesh.ledger.config import config_from_plain, config_to_plain
from recallmesh.ledger.database import Database
from recallmesh.ledger.moment import from_us, to_us
from recallmesh.ledger.outbox import Due, forget_bank, put_rows
from recallmesh.ledger.paging import cut
from recallmesh.ledger.schema import banks, chunks, documents, entities, is_live, memories, memory_tags, outbox

_OF_REF = select(banks).where(banks.c.tenant == bindparam("tenant"), banks.c.bank_id == bindparam("bank_id"))
_OF_REF_LOCKED = _OF_REF.with_for_update()
_UID = select(banks.c.uid).where(banks.c.uid == bindparam("bank"))
_LOCK = _UID.with_for_update(key_share=True)
_WRITE = update(banks).where(banks.c.uid == bindparam("bank")).values(version=banks.c.version).returning(banks.c.uid)
"""Locks the row as ``_LOCK`` does, and makes another of it: so it tells that the bank was written."""
LAST_WORDS = 2
"""So many times as long as a retain's rows are its own, and nothing from before a bank's deletion still writes."""


class SqlBanks:
    """``BankLedger`` on SQL."""

    _database: Database
    _own_for: timedelta

    async def create_bank(self, bank: Bank) -> Bank:
        """Store a bank; raises ``BankExists``."""

        def work(connection: Connection) -> Bank:
            if connection.execute(_OF_REF, _named(bank.ref)).first():
                raise BankExists(f"bank {bank.ref.bank_id!r} exists already", metadata={"bank": bank.ref.bank_id})
            row = {
                "uid": bank.uid,
                "tenant": bank.ref.tenant,
                "bank_id": bank.ref.bank_id,
                "name": bank.name,
                "config": _dumped(bank.config),
                "version": bank.version,
                "created": to_us(bank.created),
            }
            connection.execute(insert(banks).values(row))
            return bank

        return await self._database.write(work)

    async def get_bank(self, ref: BankRef) -> Bank:
        """Return a bank."""
        shelf = self._database.kept()
        if shelf and ref in shelf.banks:
            return shelf.banks[ref]
        told = self._database.revision
        bank, revision = await self._database.glance(lambda connection: _bank_and_revision(connection, ref, told))
        if revision:
            self._database.seen(bank.uid, revision)
        if shelf:
            shelf.put_bank(bank)
        return bank

    async def list_banks(self, tenant: str, page: PageRequest) -> Page[Bank]:
        """List a tenant's banks by id."""
        query = (
            select(banks)
            .where(banks.c.tenant == tenant, banks.c.bank_id > page.after)
            .order_by(banks.c.bank_id)
            .limit(page.size + 1)
        )

        def work(connection: Connection) -> Page[Bank]:
            found = [bank_of(row) for row in connection.execute(query)]
            return cut(found, page.size, lambda bank: bank.ref.bank_id)

        return await self._database.read(work)

    async def every_bank(self, page: PageRequest) -> Page[Bank]:
        """List the banks of all tenants by uid."""
        query = select(banks).where(banks.c.uid > page.after).order_by(banks.c.uid).limit(page.size + 1)

        def work(connection: Connection) -> Page[Bank]:
            found = [bank_of(row) for row in connection.execute(query)]
            return cut(found, page.size, lambda bank: bank.uid)

        return await self._database.read(work)

    async def update_bank(self, ref: BankRef, *, name: str | None, config: BankConfig | None, version: int) -> Bank:
        """Change a bank; ``version`` 0 takes any, another must be the bank's, else ``ConflictingWrite``."""

        def work(connection: Connection) -> Bank:
            bank = get_bank(connection, ref, lock=True)
            if version not in (0, bank.version):
                raise ConflictingWrite(f"bank {ref.bank_id!r} has version {bank.version}, not {version}")
            changes: dict[str, object] = {"version": bank.version + 1}
            if name is not None:
                changes["name"] = name
            if config is not None:
                changes["config"] = _dumped(config)
            connection.execute(update(banks).where(banks.c.uid == bank.uid).values(changes))
            return get_bank(connection, ref)

        return await self._database.write(work)

    async def delete_bank(self, ref: BankRef, arms: tuple[ArmName, ...], at: datetime) -> None:
        """Delete a bank with all it holds; what waited for its indexes gives way to its removal from them."""

        def work(connection: Connection) -> None:
            bank = get_bank(connection, ref, lock=True)
            forget_bank(connection, bank.uid)
            connection.execute(delete(banks).where(banks.c.uid == bank.uid))
            for due in (at, at + LAST_WORDS * self._own_for):
                put_rows(connection, bank.uid, OutboxAction.DROP_BANK, [("", 0)], arms, Due(due))

        await self._database.write(work)

    async def bank_stats(self, bank_uid: str) -> BankStats:
        """Count what a bank holds; what retires is not counted any more."""
        return await self._database.read(lambda connection: _stats(connection, bank_uid))


def lock_bank(connection: Connection, bank_uid: str) -> None:
    """See that a bank is there, and keep other writes of it out until the transaction ends; raises ``BankNotFound``."""
    if not hold_bank(connection, bank_uid):
        raise BankNotFound(bank_uid)


def hold_bank(connection: Connection, bank_uid: str) -> bool:
    """Keep other writes of a bank out until the transaction ends; tells whether there is one of this id.

    Every write of what a bank holds begins with this, before it reads what it goes by: so it sees all that others wrote
    in the bank, and nothing of it changes meanwhile. That is what SQLite's one writer gives by itself. Leases do not:
    they skip rows that others hold, and wait for no bank. On PostgreSQL the bank's row is written, so that it tells.
    """
    statement = _WRITE if connection.dialect.name == "postgresql" else _LOCK
    return connection.execute(statement, {"bank": bank_uid}).first() is not None


def check_bank(connection: Connection, bank_uid: str) -> None:
    """Return if a bank is there, without holding it; raises ``BankNotFound``."""
    if connection.execute(_UID, {"bank": bank_uid}).first() is None:
        raise BankNotFound(bank_uid)


def bank_of(row: Row[Any]) -> Bank:
    """Return a row's bank."""
    return Bank(
        ref=BankRef(row.bank_id, row.tenant),
        uid=row.uid,
        created=from_us(row.created),
        name=row.name,
        config=config_from_plain(json.loads(row.config)),
        version=row.version,
    )


def _dumped(config: BankConfig) -> str:
    return json.dumps(config_to_plain(config), ensure_ascii=False)


def _named(ref: BankRef) -> dict[str, str]:
    return {"tenant": ref.tenant, "bank_id": ref.bank_id}


def get_bank(connection: Connection, ref: BankRef, *, lock: bool = False) -> Bank:
    """Return a bank; ``lock`` keeps it as it is until the transaction ends; raises ``BankNotFound``."""
    row = connection.execute(_OF_REF_LOCKED if lock else _OF_REF, _named(ref)).first()
    if row is None:
        raise BankNotFound(ref.bank_id)
    return bank_of(row)


@cache
def _of_ref_told(revision: str) -> Select[Any]:
    return _OF_REF.add_columns(literal_column(revision or "''").label("revision"))


def _bank_and_revision(connection: Connection, ref: BankRef, revision: str) -> tuple[Bank, str]:
    row = connection.execute(_of_ref_told(revision), _named(ref)).first()
    if row is None:
        raise BankNotFound(ref.bank_id)
    return bank_of(row), row.revision


def _stats(connection: Connection, bank_uid: str) -> BankStats:
    check_bank(connection, bank_uid)

    def count(query: Select[Any]) -> int:
        return int(connection.execute(query).scalar_one())

    by_type = connection.execute(
        select(memories.c.fact_type, func.count())
        .where(memories.c.bank_uid == bank_uid, is_live)
        .group_by(memories.c.fact_type)
        .order_by(memories.c.fact_type)
    ).all()
    return BankStats(
        memories=sum(number for _, number in by_type),
        memories_by_type=tuple((kind, number) for kind, number in by_type),
        documents=count(select(func.count()).select_from(documents).where(documents.c.bank_uid == bank_uid)),
        chunks=count(
            select(func.count()).select_from(chunks).where(chunks.c.bank_uid == bank_uid, chunks.c.retiring_write == "")
        ),
        entities=count(select(func.count()).select_from(entities).where(entities.c.bank_uid == bank_uid)),
        tags=count(select(func.count(memory_tags.c.tag.distinct())).where(memory_tags.c.bank_uid == bank_uid)),
        pending=count(select(func.count()).select_from(outbox).where(outbox.c.bank_uid == bank_uid)),
    )
