"""The few places where SQL differs between SQLite and PostgreSQL, each said once."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Dialect,
    Engine,
    Integer,
    Select,
    String,
    Table,
    Text,
    TypeDecorator,
    bindparam,
    func,
    literal,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql.base import PGDDLCompiler
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

from recallmesh.core.text import NUL


class _Many(TypeDecorator[Any]):
    """Strings or numbers bound as one value: a JSON array for SQLite, an array for PostgreSQL."""

    impl = Text
    cache_ok = True

    def __init__(self, kind: Literal["text", "number"]) -> None:
        """Hold values of a kind."""
        super().__init__()
        self.kind = kind

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type that the database knows."""
        if dialect.name != "postgresql":
            return dialect.type_descriptor(Text())
        return dialect.type_descriptor(postgresql.ARRAY(Text() if self.kind == "text" else BigInteger()))

    def process_bind_param(self, value: Any, dialect: Dialect) -> object:  # noqa: ANN401 (SQLAlchemy's signature)
        """Return the value as the driver takes it; what PostgreSQL's texts cannot hold is no row's, and left out."""
        if dialect.name != "postgresql":
            return json.dumps(value)
        return [one for one in value if NUL not in one] if self.kind == "text" else value


_TEXTS, _NUMBERS = _Many("text"), _Many("number")


class _Listed(FunctionElement[Any]):
    """The values of a ``_Many``, as a subquery."""

    name = "listed"
    inherit_cache = True


@compiles(_Listed, "sqlite")
def _listed_sqlite(element: _Listed, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401 (SQLAlchemy's signature)
    return f"(SELECT value FROM json_each({compiler.process(element.clauses, **kw)}))"  # noqa: S608 (a bound parameter)


@compiles(_Listed, "postgresql")
def _listed_postgresql(element: _Listed, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401 (the same)
    return f"(SELECT unnest({compiler.process(element.clauses, **kw)}))"


def among(column: ColumnElement[Any], values: Iterable[str] | Iterable[int]) -> ColumnElement[bool]:
    """Test that a column has one of the values.

    One bound array instead of one parameter a value: the statement stays the same for any number of values, so
    neither SQLAlchemy nor the driver compiles it again, and no limit on parameters applies.
    """
    return _is_in(column, _Listed(literal(list(values), _many_of(column))))


def among_bound(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """Test that a column has one of the values of a list that is bound under a name when the statement runs.

    For statements made once: to make one costs as much as a tenth of reading what it finds.
    """
    return _is_in(column, _Listed(bindparam(name, type_=_many_of(column))))


def _many_of(column: ColumnElement[Any]) -> _Many:
    return _NUMBERS if isinstance(column.type, Integer) else _TEXTS


def _is_in(column: ColumnElement[Any], listed: _Listed) -> ColumnElement[bool]:
    return column.op("IN", is_comparison=True, return_type=Boolean())(listed)


class _Held(FunctionElement[bool]):
    """That a column is one of those that a query locks."""

    name = "held"
    type = Boolean()
    inherit_cache = True


@compiles(_Held, "sqlite")
def _held_sqlite(element: _Held, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401 (the same)
    column, query = (compiler.process(one, **kw) for one in element.clauses)
    return f"{column} IN {query}"


@compiles(_Held, "postgresql")
def _held_postgresql(element: _Held, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401 (the same)
    column, query = (compiler.process(one, **kw) for one in element.clauses)
    return f"{column} = ANY(ARRAY{query})"  # not IN: that may run the query, and lock, once for each row


def held_in_order(column: Column[Any], which: ColumnElement[bool]) -> ColumnElement[bool]:
    """Test that a row is one of those of which a condition is true, and lock all these first, in the column's order.

    Two who change many of the same rows then wait for each other, but never in a ring.
    """
    locking = select(column).where(which).order_by(column).with_for_update()
    return _Held(column, locking.correlate(None).scalar_subquery())


def insert_new(connection: Connection, table: Table, rows: list[dict[str, object]]) -> None:
    """Insert rows, passing over those whose key is there already."""
    if not rows:
        return
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    connection.execute(insert(table).on_conflict_do_nothing(), rows)


def insert_from(connection: Connection, table: Table, columns: Sequence[str], query: Select[Any]) -> None:
    """Insert what a query finds, passing over rows whose key is there already."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    connection.execute(insert(table).from_select(list(columns), query).on_conflict_do_nothing())


def in_one_row(query: Select[Any]) -> Select[Any]:
    """Return the query that gives all rows of another, of plain columns, as one JSON array of arrays; for SQLite.

    Its driver lets go of Python's lock and takes it again for each row: beside one busy thread 600 rows take 24 ms,
    and in one row 2.
    """
    rows = query.subquery()
    return select(func.json_group_array(func.json_array(*rows.c)))


class _BytewiseColumns(PGDDLCompiler):
    """Makes columns of text as SQLite has them: of any length, and in the order of their bytes."""

    def get_column_specification(self, column: Column[Any], **kw: Any) -> str:  # noqa: ANN401 (SQLAlchemy's signature)
        """Return the column as it is made."""
        if isinstance(column.type, String) and column.type.collation is None:
            column.type = type(column.type)(collation="C")
        return str(super().get_column_specification(column, **kw))  # type: ignore[no-untyped-call]


def order_text_bytewise(engine: Engine) -> None:
    """Let columns of text that this engine makes on PostgreSQL be ordered and compared as in SQLite."""
    engine.dialect.ddl_compiler = _BytewiseColumns
