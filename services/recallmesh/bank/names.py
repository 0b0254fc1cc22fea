"""Which names callers may give to banks."""

import re

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.limits import BANK_ID_CHARS, BANK_NAME_BYTES
from recallmesh.core.text import name_violations

_BANK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]*")


def checked_bank_id(bank_id: str) -> str:
    """Return a bank id that may be used for a new bank.

    Raises:
        InvalidArgument: it is empty, too long or holds other characters.

    """
    if not bank_id:
        raise InvalidArgument(FieldViolation("bank_id", "is required"))
    if len(bank_id) > BANK_ID_CHARS:
        raise InvalidArgument(FieldViolation("bank_id", f"has more than {BANK_ID_CHARS} characters"))
    if not _BANK_ID.fullmatch(bank_id):
        description = "may hold letters, digits and . _ : @ - and begins with a letter or digit"
        raise InvalidArgument(FieldViolation("bank_id", description))
    return bank_id


def checked_bank_name(name: str) -> str:
    """Return a bank's name for people; it may be empty.

    Raises:
        InvalidArgument: it is too long, holds a NUL or is not valid Unicode.

    """
    violations = tuple(name_violations("name", name, BANK_NAME_BYTES))
    if violations:
        raise InvalidArgument(*violations)
    return name
