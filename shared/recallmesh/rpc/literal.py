"""JSON text read as the standard means it: each name once in an object, and numbers that are numbers."""

import json
from typing import Any, NoReturn

from recallmesh.core.errors import FieldViolation, InvalidArgument


def strict(text: str) -> Any:  # noqa: ANN401 - any JSON
    """Read JSON.

    Raises:
        InvalidArgument: a name comes twice in an object, or there is a NaN or an infinity.
        JSONDecodeError: it is no JSON.
        ValueError: a number has too many digits for Python to read.
        RecursionError: it is nested too deeply.

    """
    return json.loads(text, object_pairs_hook=_once_each, parse_constant=_refuse)


def is_unicode(text: str) -> bool:
    r"""Tell whether a text can be written: half of a surrogate pair (``"\\ud83d"``) can not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise InvalidArgument(FieldViolation(name, "comes twice in one object"))
            seen.add(name)
    return read


def _refuse(constant: str) -> NoReturn:
    raise InvalidArgument(FieldViolation("request", f'holds {constant}, which is no JSON: write "{constant}"'))
