"""The screening of a request: each item judged by its bank's rules, before anything of it is kept, sent or logged."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol
from uuid import NAMESPACE_OID, uuid5

from recallmesh.core.bank import Bank
from recallmesh.core.defense import DefenseDetector, DefenseTuning, DefenseViolation, SecurityEvent
from recallmesh.core.errors import DefenseBlocked, FieldViolation
from recallmesh.core.ledger import MemoryEdit
from recallmesh.core.once import once_in_hand
from recallmesh.core.retain import RetainAnswer, RetainedItem, RetainItem, RetainRequest
from recallmesh.core.screening import ScreenedEdit
from recallmesh.retain.defense.finding import Scan
from recallmesh.retain.defense.item import Rule, Verdict, judge
from recallmesh.retain.defense.loading import load

Load = Callable[[DefenseDetector, str], tuple[Scan, ...]]


@dataclass(frozen=True, slots=True)
class Screened:
    """A request without what its bank keeps out.

    ``request`` has the items that are left, ``places`` says of each where it was in the call. ``violations`` are of
    every item of the call, ``decisions`` what is to be kept about them.
    """

    request: RetainRequest
    places: tuple[int, ...]
    violations: tuple[tuple[DefenseViolation, ...], ...] = ()
    decisions: tuple[SecurityEvent, ...] = ()
    document_ids: tuple[str, ...] = ()

    @property
    def is_blocked(self) -> bool:
        """Whether nothing is left."""
        return not self.places

    def refusal(self) -> DefenseBlocked:
        """Return the error that says of each refused item why."""
        kept = frozenset(self.places)
        return DefenseBlocked(
            *(
                FieldViolation(f"items[{place}]", f"{one.message} ({one.detector}, {one.severity})")
                for place, found in enumerate(self.violations)
                if place not in kept
                for one in found
            )
        )

    def answer(self, answer: RetainAnswer) -> RetainAnswer:
        """Put the answer's items where they were in the call, each with what was found in it."""
        if not self.violations or not answer.items:
            return answer
        items = [RetainedItem(document_id, violations=found) for document_id, found in self._refused()]
        for place, item in zip(self.places, answer.items, strict=True):
            items[place] = replace(item, violations=self.violations[place])
        return replace(answer, items=tuple(items))

    def _refused(self) -> list[tuple[str, tuple[DefenseViolation, ...]]]:
        return list(zip(self.document_ids, self.violations, strict=True))


class Screening(Protocol):
    """Takes out of requests what their banks keep out."""

    async def screen(self, bank: Bank, request: RetainRequest, at: datetime) -> Screened:
        """Judge every item; a bank without rules costs nothing.

        Raises:
            NotReady: what the bank asks for cannot be looked for here.

        """
        ...


class RuleScreening:
    """``Screening`` and ``EditScreening`` by scans, in a thread.

    ``new_id`` names the decisions about calls that have no request id.
    """

    def __init__(self, new_id: Callable[[], str], load: Load = load) -> None:
        """Load scans by ``load`` when a bank asks for them."""
        self._new_id = new_id
        self._load = load

    async def screen(self, bank: Bank, request: RetainRequest, at: datetime) -> Screened:
        """Judge every item."""
        if bank.config.defense == DefenseTuning():
            return Screened(request, tuple(range(len(request.items))))
        return await asyncio.to_thread(self._screen, bank, request, at)

    async def screen_edit(self, bank: Bank, memory_id: str, edit: MemoryEdit, at: datetime) -> ScreenedEdit:
        """Judge what a memory is to say; fulfils ``EditScreening``."""
        content = () if edit.text is None else (edit.text,)
        said = RetainItem(content, context=edit.context or "", tags=edit.tags or ())
        once = once_in_hand()
        call = f"{memory_id}/{once.request_id if once else self._new_id()}"
        screened = await self.screen(bank, RetainRequest(bank.ref, (said,), request_id=call), at)
        if screened.is_blocked or not screened.decisions:
            return ScreenedEdit(None if screened.is_blocked else edit, screened.decisions)
        [left] = screened.request.items
        changed = replace(
            edit,
            text=None if edit.text is None else str(left.content[0]),
            context=None if edit.context is None else left.context,
            tags=None if edit.tags is None else left.tags,
        )
        return ScreenedEdit(changed, screened.decisions)

    def _screen(self, bank: Bank, request: RetainRequest, at: datetime) -> Screened:
        rules = rules_of(bank, self._load)
        verdicts = [judge(_with_tags(item, request.tags), rules) for item in request.items]
        places = tuple(place for place, verdict in enumerate(verdicts) if verdict.item is not None)
        items = tuple(verdict.item for verdict in verdicts if verdict.item is not None)
        found = any(verdict.violations for verdict in verdicts)
        return Screened(
            # The call's own tags are with the items now.
            replace(request, items=items, tags=()) if found else request,
            places,
            tuple(verdict.violations for verdict in verdicts) if found else (),
            self._decisions(bank, request, verdicts, at),
            tuple(verdict.document_id for verdict in verdicts),
        )

    def _decisions(
        self, bank: Bank, request: RetainRequest, verdicts: Sequence[Verdict], at: datetime
    ) -> tuple[SecurityEvent, ...]:
        # Made again under its request id, a call decides the same under the same ids.
        call = request.request_id or self._new_id()
        return tuple(
            SecurityEvent(
                id=str(uuid5(NAMESPACE_OID, f"{bank.uid}/{call}/{place}/{one.detector}/{one.action}/{one.message}")),
                time=at,
                violation=one,
                document_id=verdict.document_id,
                item_index=place,
                receipt_uri=item.receipt_uri,
            )
            for place, (item, verdict) in enumerate(zip(request.items, verdicts, strict=True))
            for one in verdict.violations
        )


def rules_of(bank: Bank, load: Load) -> tuple[Rule, ...]:
    """Return a bank's rules; raises ``NotReady``."""
    tuning, language = bank.config.defense, bank.config.retain.language
    actions = ((detector, getattr(tuning, detector.value)) for detector in DefenseDetector)
    return tuple(Rule(action, load(detector, language)) for detector, action in actions if action is not None)


def _with_tags(item: RetainItem, tags: tuple[str, ...]) -> RetainItem:
    return replace(item, tags=tuple(dict.fromkeys((*tags, *item.tags)))) if tags else item
