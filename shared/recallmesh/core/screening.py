"""The port of memory defense over what is changed by hand: the same rules as for what is retained."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from recallmesh.core.bank import Bank
from recallmesh.core.defense import SecurityEvent
from recallmesh.core.ledger import MemoryEdit


@dataclass(frozen=True, slots=True)
class ScreenedEdit:
    """What is left of an edit (nothing: it is refused), and what was decided about it, for the ledger."""

    edit: MemoryEdit | None
    decisions: tuple[SecurityEvent, ...] = ()


class EditScreening(Protocol):
    """Takes out of edits what their banks keep out."""

    async def screen_edit(self, bank: Bank, memory_id: str, edit: MemoryEdit, at: datetime) -> ScreenedEdit:
        """Judge an edit; a bank without rules costs nothing.

        Raises:
            NotReady: what the bank asks for cannot be looked for here.

        """
        ...
