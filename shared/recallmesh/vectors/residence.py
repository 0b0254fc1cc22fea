"""Which banks are held in memory: those searched lately, and no bank displaces one that is in use."""

from collections import OrderedDict
from dataclasses import dataclass

from recallmesh.vectors.resident import ResidentBank

ASKED_AGAIN = 32
"""Searches after which a bank that had no place asks for one again: what they would have saved pays for reading it, at
some hundreds of memories."""
REFUSED_KEPT = 1_000
NEVER = -1


@dataclass(slots=True)
class _Stay:
    bank: ResidentBank
    size: int
    searched: int
    whole: bool = False


@dataclass(slots=True)
class _Refusal:
    at: int
    searches: int = 0


class Residence:
    """Holds ``most`` memories in all; where there is no room, the banks searched longest ago make it.

    But only those that nobody searched while the new one waited, for many searches of its own: of more banks in use
    than there is room for some stay, and the others are not read in vain.
    """

    def __init__(self, most: int) -> None:
        """Start empty."""
        self._most = most
        self._held = 0
        self._number = 0
        self._stays: OrderedDict[str, _Stay] = OrderedDict()  # the one searched longest ago first
        self._refused: OrderedDict[str, _Refusal] = OrderedDict()

    def search(self, bank_uid: str) -> ResidentBank | None:
        """Note a search; returns the bank if all of it is here."""
        self._number += 1
        stay = self._stays.get(bank_uid)
        if stay is not None:
            stay.searched = self._number
            self._stays.move_to_end(bank_uid)
            return self.whole(bank_uid)
        refusal = self._refused.get(bank_uid)
        if refusal is not None:
            refusal.searches += 1
        return None

    def is_due(self, bank_uid: str) -> bool:
        """Tell whether a bank may ask to be let in: it is not here, and was not sent away of late."""
        if bank_uid in self._stays or not self._most:
            return False
        refusal = self._refused.get(bank_uid)
        return refusal is None or refusal.searches >= ASKED_AGAIN

    def admit(self, bank_uid: str, bank: ResidentBank, size: int) -> bool:
        """Let a bank of this size in, not whole yet, if there is a place for it."""
        refusal = self._refused.get(bank_uid)
        if size > self._most or not self._clear(size, unsearched_since=NEVER if refusal is None else refusal.at):
            self.refuse(bank_uid)
            return False
        self._refused.pop(bank_uid, None)
        self._stays[bank_uid] = _Stay(bank, size, self._number)
        self._held += size
        return True

    def refuse(self, bank_uid: str) -> None:
        """Send a bank away for some searches."""
        self._refused[bank_uid] = _Refusal(self._number)
        self._refused.move_to_end(bank_uid)
        if len(self._refused) > REFUSED_KEPT:
            self._refused.popitem(last=False)

    def bank(self, bank_uid: str) -> ResidentBank | None:
        """Return a bank that is here, whole or not."""
        stay = self._stays.get(bank_uid)
        return None if stay is None else stay.bank

    def whole(self, bank_uid: str) -> ResidentBank | None:
        """Return a bank if all of it is here."""
        stay = self._stays.get(bank_uid)
        return stay.bank if stay is not None and stay.whole else None

    def complete(self, bank_uid: str) -> None:
        """Note that all of a bank is here now."""
        self._stays[bank_uid].whole = True
        self.resized(bank_uid)

    def resized(self, bank_uid: str) -> None:
        """Note that a bank has changed: too large or empty, it goes; else those searched longest ago make room."""
        stay = self._stays.get(bank_uid)
        if stay is None:
            return
        size = len(stay.bank) if stay.whole else max(stay.size, len(stay.bank))
        self._held += size - stay.size
        stay.size = size
        if size > self._most or not size:  # anyone can name thousands of banks that hold nothing
            self.leave(bank_uid)
            return
        while self._held > self._most:
            self.leave(next(other for other in self._stays if other != bank_uid))

    def leave(self, bank_uid: str) -> None:
        """Let a bank go; one that is not here is no error."""
        stay = self._stays.pop(bank_uid, None)
        if stay is not None:
            self._held -= stay.size

    def clear(self) -> None:
        """Let all banks go."""
        self._stays.clear()
        self._held = 0

    def _clear(self, size: int, *, unsearched_since: int) -> bool:
        going: list[str] = []
        room = self._most - self._held
        for bank_uid, stay in self._stays.items():
            if room >= size or stay.searched > unsearched_since:
                break
            going.append(bank_uid)
            room += stay.size
        if room < size:
            return False
        for bank_uid in going:
            self.leave(bank_uid)
        return True
