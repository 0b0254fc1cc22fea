"""The few places where SQL differs between SQLite and PostgreSQL, each said once."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Connection, Select, Table, Text, bindparam, func, literal, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class _Listed(FunctionElement[Any]):
    """The strings of a JSON array, as a subquery."""

    name = "listed"
    inherit_cache = True


@compiles(_Listed, "sqlite")
def _listed_sqlite(element: _Listed, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401 (SQLAlchemy's signature)
    return f"(SELECT value FROM json_each({compiler.process(element.clauses, **kw)}))"  # noqa: S608 (a bound parameter)


@compiles(_Listed, "postgresql")
def _listed_postgresql(element: _Listed, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401 (the same)
    return f"(SELECT jsonb_array_elements_text(CAST({compiler.process(element.clauses, **kw)} AS jsonb)))"


class _Numbered(_Listed):
    """The numbers of a JSON array, as a subquery."""

    name = "numbered"
    inherit_cache = True


@compiles(_Numbered, "postgresql")
def _numbered_postgresql(element: _Numbered, compiler: SQLCompiler, **kw: Any) -> str:  # noqa: ANN401 (the same)
    array = f"jsonb_array_elements_text(CAST({compiler.process(element.clauses, **kw)} AS jsonb))"
    return f"(SELECT CAST({array} AS bigint))"


def among(column: ColumnElement[Any], values: Iterable[str] | Iterable[int]) -> ColumnElement[bool]:
    """Test that a column has one of the values.

    One bound JSON array instead of one parameter a value: the statement stays the same for any number of values, so
    neither SQLAlchemy nor the driver compiles it again, and no limit on parameters applies.
    """
    held = list(values)
    array = literal(json.dumps(held))
    return _is_in(column, _Numbered(array) if held and isinstance(held[0], int) else _Listed(array))


def among_bound(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """Test that a column has one of the strings of a JSON array that is bound under a name when the statement runs.

    For statements made once: to make one costs as much as a tenth of reading what it finds.
    """
    return _is_in(column, _Listed(bindparam(name, type_=Text())))


def among_bound_numbers(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """Test the same of the numbers of a JSON array."""
    return _is_in(column, _Numbered(bindparam(name, type_=Text())))


def bound(values: Iterable[str] | Iterable[int]) -> str:
    """Return the JSON array to bind."""
    return json.dumps(list(values))


def _is_in(column: ColumnElement[Any], listed: _Listed) -> ColumnElement[bool]:
    return column.op("IN", is_comparison=True, return_type=Boolean())(listed)


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
