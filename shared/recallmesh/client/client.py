"""The client: the three ports of a mesh, wherever it runs, and one bank of it at a time."""

from dataclasses import dataclass

from recallmesh.client.bank import BankClient
from recallmesh.core.admin import Admin
from recallmesh.core.bank import DEFAULT_TENANT, BankRef
from recallmesh.core.recall import Recaller
from recallmesh.core.retain import Retainer


@dataclass(frozen=True, slots=True)
class Client:
    """What callers of a mesh talk to; the same for one in this process and for one elsewhere.

    Every call has a deadline: its port's, or what ``core.deadline.within`` leaves, whichever is sooner. Errors are
    those of ``core.errors``.
    """

    recaller: Recaller
    retainer: Retainer
    admin: Admin
    tenant: str = DEFAULT_TENANT
    """Whose banks; a mesh refuses one that the key is not of."""

    def bank(self, bank_id: str) -> BankClient:
        """Return a bank to work with; nothing is called."""
        return BankClient(BankRef(bank_id, self.tenant), self.recaller, self.retainer, self.admin)
