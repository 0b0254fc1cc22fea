"""The key by which processes of one mesh know each other."""

import hmac
from collections.abc import Callable, Sequence

from recallmesh.core.credential import KEY, KEY_CHARS
from recallmesh.core.errors import FieldViolation, InvalidArgument

LEAST_CHARS = 32
"""Of a mesh key: with the characters that a key may have, random ones of this number have over 190 bits."""

MeshKeys = Sequence[str]
"""The keys that are good: the first is the process's own, the others are those that it still, or already, knows."""


def read_mesh_keys(written: bytes) -> MeshKeys:
    """Read the keys of a file, one a line; blank lines do not count.

    Raises:
        InvalidArgument: there is none, or one that can be none; says nothing of it.

    """
    keys = tuple(line.strip() for line in written.decode("ascii", "replace").splitlines() if line.strip())
    if not keys:
        raise InvalidArgument(FieldViolation("mesh key", "the file has none"))
    for key in keys:
        check_mesh_key(key, "mesh key")
    return keys


def check_mesh_key(key: str, field: str) -> None:
    """Refuse what is too weak for a mesh key, or cannot be sent.

    Raises:
        InvalidArgument: it is. Says nothing of it.

    """
    if not LEAST_CHARS <= len(key) <= KEY_CHARS or not KEY.fullmatch(key):
        raise InvalidArgument(FieldViolation(field, _WRONG))


_WRONG = f"must have at least {LEAST_CHARS} characters, random ones of letters, digits and - . _ ~ + / alone"


def own_key(keys: Callable[[], MeshKeys]) -> Callable[[], str]:
    """Return how to get the key that a process calls with; empty: it has none."""
    return lambda: next(iter(keys()), "")


def is_among(key: str, keys: MeshKeys) -> bool:
    """Tell whether a key is one of the mesh's, in a time that says nothing of them."""
    given = key.encode()
    return sum(hmac.compare_digest(given, one.encode()) for one in keys) > 0
