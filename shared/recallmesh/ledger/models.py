"""Which embedding model answers, kept where all who make vectors look."""

from sqlalchemy import Connection, delete, insert, select, text

from recallmesh.core.errors import ConflictingWrite
from recallmesh.core.models import Model, ModelUse
from recallmesh.ledger.database import Database
from recallmesh.ledger.moment import from_us, to_us
from recallmesh.ledger.schema import embedding_models

IN_USE, BESIDE = "in_use", "beside"
_ALL = select(embedding_models)
_ALONE = text("SELECT pg_advisory_xact_lock(hashtextextended('recallmesh embedding models', 0))")


class SqlModels:
    """``ModelLedger`` on SQL."""

    _database: Database

    async def model_use(self) -> ModelUse | None:
        """Return which model answers; nothing where no change was ever begun."""
        return await self._database.glance(_read)

    async def set_model_use(self, before: ModelUse | None, after: ModelUse) -> ModelUse:
        """Put ``after`` in the place of ``before``; raises ``ConflictingWrite``."""

        def work(connection: Connection) -> ModelUse:
            if connection.dialect.name == "postgresql":
                connection.execute(_ALONE)
            if _read(connection) != before:
                raise ConflictingWrite("the models were changed meanwhile; look again")
            connection.execute(delete(embedding_models))
            roles = ((IN_USE, after.in_use), (BESIDE, after.beside))
            rows = [_row(role, model, after) for role, model in roles if model is not None]
            connection.execute(insert(embedding_models), rows)
            return after

        return await self._database.write(work)


def _read(connection: Connection) -> ModelUse | None:
    # One statement: both rows are of one moment.
    rows = {row.role: row for row in connection.execute(_ALL)}
    if IN_USE not in rows:
        return None
    models = {role: Model(row.fingerprint, row.name, row.dimensions) for role, row in rows.items()}
    return ModelUse(models[IN_USE], from_us(rows[IN_USE].since), models.get(BESIDE))


def _row(role: str, model: Model, use: ModelUse) -> dict[str, object]:
    return {
        "role": role,
        "fingerprint": model.fingerprint,
        "name": model.name,
        "dimensions": model.dimensions,
        "since": to_us(use.since),
    }
