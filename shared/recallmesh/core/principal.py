"""Who makes the call in hand, and what it may do: read off its credential, and off nothing else."""

import re
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Protocol

from recallmesh.core.bank import DEFAULT_TENANT
from recallmesh.core.errors import Forbidden

TENANT = re.compile(r"[!-~]{1,128}")
"""What a tenant's name may be: it goes in a header, so printable ASCII without spaces, of 1 to 128 characters."""


class Right(StrEnum):
    """What a credential may be good for; no right brings another with it."""

    RECALL = "recall"
    """To read: recall, and whatever shows what banks hold and how they are set up."""
    RETAIN = "retain"
    """To write: retain, change, invalidate and delete what is in a bank, and follow the work that comes of it."""
    ADMIN = "admin"
    """To make, set up, move, mend and delete banks, and to say where their events are posted."""
    MESH = "mesh"
    """To call what is the mesh's own: arms, vectors and models. No key and no token of a caller has it."""


CALLERS_RIGHTS = (Right.RECALL, Right.RETAIN, Right.ADMIN)
"""Those that a caller from outside the mesh can have."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who a credential says that the caller is.

    ``name`` is for logs and never a secret: a key's name, a token's subject. ``banks`` are patterns (``*`` stands for
    anything, ``?`` for one character) of the banks that it may use; absent: all of its tenant. ``tenant`` absent: that
    which the call names, which only a process of the mesh may. ``expires``: when the credential does; absent: never.
    """

    name: str
    tenant: str | None
    rights: frozenset[Right]
    banks: tuple[str, ...] | None = None
    expires: datetime | None = None

    def tenant_for(self, said: str) -> str:
        """Return whose banks a call is about that says it is this tenant; empty: it says nothing.

        Raises:
            Forbidden: it takes itself for another than the credential's.

        """
        if self.tenant is None:
            if said and not TENANT.fullmatch(said):
                raise Forbidden("what the call names is no tenant")
            return said or DEFAULT_TENANT
        if said not in ("", self.tenant):
            raise Forbidden("the call's credential is not of the tenant that it names")
        return self.tenant

    def may_use(self, bank_id: str) -> bool:
        """Tell whether it may use a bank of its tenant."""
        return self.banks is None or any(fnmatchcase(bank_id, pattern) for pattern in self.banks)

    def check(self, right: Right) -> None:
        """Return if it has a right.

        Raises:
            Forbidden: it has not. Says which it is: the caller can ask for it.

        """
        if right is Right.MESH and right not in self.rights:
            raise Forbidden("the call is for processes of the mesh alone")
        if right not in self.rights:
            raise Forbidden(f"the credential does not have the right {right.value!r}", metadata={"right": right.value})


class Authenticator(Protocol):
    """Tells by a credential who calls. Safe for use by many calls at once, and fast: every call asks."""

    async def authenticate(self, credential: str) -> Principal:
        """Return whose credential this is, as of now; asked again while a stream lasts.

        Raises:
            Unauthenticated: nobody's: not known, expired, revoked or forged. Says no more than that.
            StoreUnavailable: it cannot be told now.

        """
        ...


ANYBODY = Principal("", DEFAULT_TENANT, frozenset(Right))
"""Who calls where nobody is asked: in process, and where authentication is off."""

_in_hand: ContextVar[Principal] = ContextVar("recallmesh_principal", default=ANYBODY)


def current_principal() -> Principal:
    """Return who makes the call in hand."""
    return _in_hand.get()


def enter_principal(principal: Principal) -> None:
    """Let this task work for a caller from now on."""
    _in_hand.set(principal)


def check_bank(bank_id: str) -> None:
    """Return if the caller in hand may use a bank of its tenant; whether there is one is not asked.

    Raises:
        Forbidden: its credential is for other banks.

    """
    if not current_principal().may_use(bank_id):
        raise Forbidden("the credential is not for this bank")
