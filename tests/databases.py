"""PostgreSQL databases of a test's own, on the server that ``make servers`` starts or the environment names."""

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count

import psycopg
from servers import address
from sqlalchemy import make_url

from recallmesh.ledger.database import backend_of
from recallmesh.ledger.migration import migrate_now

_number = count()


@contextmanager
def database(*, migrated: bool = True) -> Iterator[str]:
    """A database without rows: the run's own with the ledger's schema, or a new one without. Its URL."""
    server = address("postgres")
    if migrated:
        name = _shared(server)
        yield _url(server, name)
        for table in ("banks", "outbox", "answers", "embedding_models"):  # all else goes with its bank
            _execute(_url(server, name), f"DELETE FROM {table}")  # noqa: S608 - names of ours
        return
    name = f"recallmesh_test_{os.getpid()}_{next(_number)}"
    _create(server, name)
    try:
        yield _url(server, name)
    finally:
        _drop(server, name)


@cache
def _shared(server: str) -> str:
    name = f"recallmesh_test_{os.getpid()}"
    _create(server, name)
    atexit.register(_drop, server, name)
    migrate_now(backend_of(_url(server, name)))
    return name


def _create(server: str, name: str) -> None:
    # In an order that is not that of bytes, as an operator's may be: what the ledger orders must not depend on it.
    made = f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en'"
    _execute(server, made)


def _drop(server: str, name: str) -> None:
    _execute(server, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _execute(server: str, statement: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(statement)


def _url(server: str, name: str) -> str:
    return make_url(server).set(database=name).render_as_string(hide_password=False)
