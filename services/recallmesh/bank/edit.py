"""Edits under memory defense: what a bank keeps out comes in by no hand."""

from collections.abc import Iterable
from datetime import datetime

from recallmesh.core.bank import Bank
from recallmesh.core.defense import DefenseTuning, SecurityEvent
from recallmesh.core.errors import DefenseBlocked, FieldViolation, NotReady
from recallmesh.core.ledger import MemoryEdit
from recallmesh.core.screening import EditScreening, ScreenedEdit


async def screened_edit(
    screening: EditScreening | None, bank: Bank, memory_id: str, edit: MemoryEdit, at: datetime
) -> ScreenedEdit:
    """Return what is left of an edit.

    Raises:
        NotReady: the bank keeps something out, and nothing here can look for it.

    """
    if bank.config.defense == DefenseTuning():
        return ScreenedEdit(edit)
    if screening is None:
        raise NotReady("the bank keeps something out, and what looks for it is not here")
    return await screening.screen_edit(bank, memory_id, edit, at)


def refusal(decisions: Iterable[SecurityEvent]) -> DefenseBlocked:
    """Return the error that says why an edit is refused."""
    found = (decision.violation for decision in decisions)
    return DefenseBlocked(
        *(FieldViolation("memory", f"{one.message} ({one.detector}, {one.severity})") for one in found)
    )
