"""An API key: how it is made and written, and what is kept of it.

``rm_<id>_<secret>``: the prefix is for those who scan texts for secrets, the id finds the row, the secret proves it.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from recallmesh.core.principal import Principal, Right

PREFIX = "rm_"
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ID_CHARS = 12
SECRET_CHARS = 43
"""Of 62 each: 256 bits."""
KEY = re.compile(rf"rm_([0-9A-Za-z]{{{ID_CHARS}}})_([0-9A-Za-z]{{{SECRET_CHARS}}})")
HASH = re.compile(r"sha256:[0-9a-f]{64}")

Choose = Callable[[str], str]
"""Chooses one of some characters, so that nobody can guess which."""


@dataclass(frozen=True, slots=True)
class KeyRow:
    """What is kept of a key: whose it is and what it is good for, and how to know it again.

    ``revoked`` and ``expires`` are when it stopped or stops to be good; absent: it was not, it does not.
    """

    id: str
    name: str
    tenant: str
    rights: frozenset[Right]
    hash: str
    created: datetime
    banks: tuple[str, ...] | None = None
    expires: datetime | None = None
    revoked: datetime | None = None

    def is_good(self, now: datetime) -> bool:
        """Tell whether it may be used at this time."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    @property
    def principal(self) -> Principal:
        """Who calls with it."""
        return Principal(self.name, self.tenant, self.rights, self.banks, self.expires)


def new_key(choose: Choose = secrets.choice) -> tuple[str, str]:
    """Make a key; returns its id and all of it."""
    key_id = "".join(choose(ALPHABET) for _ in range(ID_CHARS))
    secret = "".join(choose(ALPHABET) for _ in range(SECRET_CHARS))
    return key_id, f"{PREFIX}{key_id}_{secret}"


def new_mesh_key(choose: Choose = secrets.choice) -> str:
    """Make a key for the processes of a mesh."""
    return "rmmesh_" + "".join(choose(ALPHABET) for _ in range(SECRET_CHARS))


def hash_of(key: str) -> str:
    """Return what is kept of a key.

    A fast hash is right here: nobody can guess 256 random bits, however fast each guess is. Slow hashes are for
    passwords, which people choose, and would let anybody make a server work by calling it with nonsense.
    """
    return f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"


def id_in(key: str) -> str:
    """Return the id that a key says; empty: it is no key."""
    found = KEY.fullmatch(key)
    return found[1] if found else ""


def is_of(key: str, kept: str) -> bool:
    """Tell whether a hash is that of a key, in a time that says nothing of either."""
    return hmac.compare_digest(hash_of(key), kept)
