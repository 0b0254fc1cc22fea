"""Which banks an agent may use, and which one a call means."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from recallmesh.core.admin import Banks
from recallmesh.core.bank import DEFAULT_TENANT, BankRef
from recallmesh.core.errors import BankExists, FieldViolation, InvalidArgument
from recallmesh.core.page import PageRequest

BANK = "bank"
"""The argument that names a bank."""
SHOWN = 20
"""The most banks that are named to who has named none."""


@dataclass(frozen=True, slots=True)
class BankChoice:
    """The banks that an agent may use: none named: any, which each call has to say; else those alone.

    The first of them is meant where a call says nothing. Of a single one no call says anything. ``create``: one that
    is not there is made with the first thing that is retained in it.
    """

    names: tuple[str, ...] = ()
    create: bool = False

    def __post_init__(self) -> None:
        """Refuse a name that is none, which no call could ever mean."""
        if "" in self.names:
            raise InvalidArgument(FieldViolation(BANK, "is empty"))

    def offered(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return a tool's input schema with the argument that names the bank, if a call can name one."""
        if len(self.names) == 1:
            return dict(schema)
        properties, required = dict(schema["properties"]), list(schema.get("required", []))
        properties[BANK] = self._argument()
        return {**schema, "properties": properties, "required": [*required, *([] if self.names else [BANK])]}

    def _argument(self) -> dict[str, Any]:
        about = "Which memory: banks are kept apart, and nothing of one is found in another."
        if self.names:
            return {"type": "string", "enum": list(self.names), "default": self.names[0], "description": about}
        return {"type": "string", "minLength": 1, "description": f"{about} Use the same one all along."}

    async def taken(self, arguments: Mapping[str, Any], banks: Banks) -> tuple[BankRef, dict[str, Any]]:
        """Return the bank that a call means, and its other arguments.

        Raises:
            InvalidArgument: it names none, or one that is not allowed; says which there are.

        """
        rest = dict(arguments)
        if len(self.names) == 1:
            return BankRef(self.names[0]), rest
        name = rest.pop(BANK, None) or (self.names[0] if self.names else "")
        if not name:
            raise InvalidArgument(FieldViolation(BANK, f"is required: {await _known(banks)}"))
        if not isinstance(name, str):
            raise InvalidArgument(FieldViolation(BANK, "must be a string"))
        if self.names and name not in self.names:
            raise InvalidArgument(FieldViolation(BANK, f"{name!r} is not among {', '.join(self.names)}"))
        return BankRef(name), rest

    async def made(self, bank: BankRef, banks: Banks) -> None:
        """Make a bank that is not there; one that was made meanwhile is as good.

        Raises:
            InvalidArgument: it cannot be the name of a bank.

        """
        try:
            await banks.create_bank(bank)
        except BankExists:
            return


ANY = BankChoice()
"""Any bank that is there."""


async def _known(banks: Banks) -> str:
    page = await banks.list_banks(DEFAULT_TENANT, PageRequest(SHOWN))
    names = [bank.ref.bank_id for bank in page.rows]
    more = " and more" if page.next_after else ""
    return f"the banks are {', '.join(names)}{more}" if names else "there is no bank yet"


async def likely(bank: BankRef, banks: Banks) -> str:
    """Return the name that was probably meant for one that is not there; empty: none is like it."""
    page = await banks.list_banks(DEFAULT_TENANT, PageRequest(size=1000))
    close = get_close_matches(bank.bank_id, [one.ref.bank_id for one in page.rows], n=1)
    return close[0] if close else ""
