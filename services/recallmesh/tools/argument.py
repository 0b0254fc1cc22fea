"""Arguments of tools: read leniently where no harm is in it, and refused in words that a model can act upon."""

from collections.abc import Mapping
from datetime import datetime
from difflib import get_close_matches
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ValidationError, WithJsonSchema

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.time import as_utc

A = TypeVar("A", bound=BaseModel)

KINDS = {
    "string_type": "must be a string",
    "list_type": "must be a list",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "missing": "is required",
    "too_long": "has {actual_length} entries; at most {max_length} are taken",
    "string_too_short": "is empty",
    "string_too_long": "has more than {max_length} characters",
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "literal_error": "must be {expected}",
}
"""What pydantic says of wrong values, in our words."""
SHOWN_CHARS = 60
"""The most of a wrong value that is shown."""


def _moment(value: object) -> datetime:
    """Read an ISO 8601 time; one without an offset is UTC. Numbers are none: 2026 would be a moment of 1970."""
    if not isinstance(value, str):
        raise ValueError("must be a string with an ISO 8601 time")  # noqa: TRY004 - pydantic wants it so
    try:
        read = datetime.fromisoformat(value)
    except ValueError as error:
        shown = value[:SHOWN_CHARS]
        raise ValueError(f"{shown!r} is not an ISO 8601 time such as 2026-03-21T10:05:00+01:00") from error
    return as_utc(read) if read.tzinfo is None else read


Moment = Annotated[datetime | None, BeforeValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})]
"""An optional time."""


def read(model: type[A], arguments: Mapping[str, Any]) -> A:
    """Read a tool's arguments; one that is null is one that was not given.

    Raises:
        InvalidArgument: names each that is wrong, and how it is right.

    """
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        return model.model_validate(given)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=True)
        raise InvalidArgument(*(_violation(model, dict(problem)) for problem in found)) from error


def _violation(model: type[BaseModel], problem: dict[str, Any]) -> FieldViolation:
    name = ".".join(str(part) for part in problem["loc"]) or "arguments"
    kind = problem["type"]
    if kind == "extra_forbidden":
        close = get_close_matches(name, model.model_fields, n=1)
        meant = f"did you mean {close[0]}?" if close else f"there are {', '.join(model.model_fields)}"
        return FieldViolation(name, f"is no argument; {meant}")
    if kind == "value_error":
        return FieldViolation(name, str(problem["ctx"]["error"]))
    return FieldViolation(name, KINDS.get(kind, problem["msg"]).format(**problem.get("ctx", {})))


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return a model's JSON schema, without titles made of names and defaults that say nothing: words are paid for."""
    made = _plain(model.model_json_schema())
    made.pop("description", None)
    return made


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if (key == "title" and isinstance(value, str)) or (key == "default" and not value and value is not False):
            continue
        if key in {"properties", "$defs"}:
            kept[key] = {name: _plain(one) for name, one in value.items()}
        elif isinstance(value, dict):
            kept[key] = _plain(value)
        elif isinstance(value, list):
            kept[key] = [_plain(one) if isinstance(one, dict) else one for one in value]
        else:
            kept[key] = value
    return kept
