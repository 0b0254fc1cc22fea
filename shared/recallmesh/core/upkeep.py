"""What the operator of a mesh asks of the ledger: all banks, whoever's they are."""

from typing import Protocol

from recallmesh.core.bank import Bank
from recallmesh.core.page import Page, PageRequest


class UpkeepLedger(Protocol):
    """The operator's view: no service answers by it, since it knows no tenant."""

    async def every_bank(self, page: PageRequest) -> Page[Bank]:
        """List the banks of all tenants by uid."""
        ...
