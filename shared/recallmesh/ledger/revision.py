"""Which schemas a version of the code can use: its own, and later ones that only add to it.

A migration that only adds what older code leaves alone (a table, an index, a column with a default of the server's)
is named ``0006_fits_0004``: the sixth, which code for the fourth and the fifth can use as well. One that does not say
so is for code that knows it. So the processes of an older version go on while those of a mesh are replaced.
"""

import re

_NAME = re.compile(r"(\d{4})(?:_fits_(\d{4}))?")


def number_of(revision: str) -> str:
    """Return which migration it is, as four digits; empty: it is none of ours."""
    found = _NAME.fullmatch(revision)
    return found[1] if found else ""


def is_newer(found: str, ours: str) -> bool:
    """Tell whether a database has had migrations that code for ``ours`` does not know; empty: it has had none."""
    return bool(found) and (not number_of(found) or number_of(found) > number_of(ours))


def is_usable(found: str, ours: str) -> bool:
    """Tell whether code for ``ours`` can work on a database that has had ``found`` last."""
    if found == ours:
        return True
    name = _NAME.fullmatch(found)
    return name is not None and is_newer(found, ours) and name[2] is not None and name[2] <= number_of(ours)
