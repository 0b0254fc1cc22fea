"""What was read of a database and has not changed since: kept for as long as nothing is written.

Of a file as a whole, which tells of every commit; of a server bank by bank, since each bank's row tells when the bank
was written last.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from recallmesh.core.bank import Bank, BankRef
from recallmesh.core.memory import Memory, Outline

MEMORIES_KEPT = 20_000
"""About 1 KB each; as many as vectors are held of (``semantic.resident_memories``), so that a bank is held whole."""
OUTLINES_KEPT = 20_000
"""About 0.3 KB each."""
BANKS_KEPT = 1_000
BANKS_AT_HAND = 100
"""Banks of a server of which something is kept."""

Known = TypeVar("Known", Memory, Outline)


class Witness(Protocol):
    """Tells whether anybody has written to a database: asked on the event loop, so it waits for nothing."""

    def state(self) -> int | None:
        """Return a number that is another one after every commit; absent: it cannot be told now."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...


@dataclass(slots=True)
class Shelf:
    """What was read in one state of a database or bank, or after it: the next state has a shelf of its own.

    A reading that began in this state and ended in a later one may put what it found here: it is newer than it need
    be, and gone with the state. ``memories`` are without mentions.
    """

    state: int | str | None
    banks: dict[BankRef, Bank] = field(default_factory=dict)
    memories: dict[str, dict[str, Memory]] = field(default_factory=lambda: defaultdict(dict))
    outlines: dict[str, dict[str, Outline]] = field(default_factory=lambda: defaultdict(dict))
    room: dict[type[Memory | Outline], int] = field(
        default_factory=lambda: {Memory: MEMORIES_KEPT, Outline: OUTLINES_KEPT}
    )

    def put_bank(self, bank: Bank) -> None:
        """Keep a bank, if there is room."""
        if len(self.banks) < BANKS_KEPT:
            self.banks[bank.ref] = bank

    def put(self, kind: type[Known], held: dict[str, Known], read: Iterable[Known]) -> None:
        """Keep what was read, as far as there is room."""
        for one in read:
            if one.id not in held and self.room[kind] > 0:
                self.room[kind] -= 1
                held[one.id] = one


class Keeping:
    """Has the shelf of the present state; used on the event loop only, hence no locks."""

    def __init__(self, witness: Witness) -> None:
        """Ask this witness."""
        self._witness = witness
        self._shelf = Shelf(None)

    def now(self) -> Shelf | None:
        """Return the shelf of the state that the database is in; nothing where that cannot be told."""
        state = self._witness.state()
        if state != self._shelf.state:
            self._shelf = Shelf(state)
        return None if state is None else self._shelf

    def close(self) -> None:
        """Let go of the database."""
        self._witness.close()


class Revisions:
    """Has a shelf for the last state in which each bank was seen; used on the event loop only, hence no locks.

    What is read of a bank is at least as new as the bank was when it was last asked for. A late answer that brings an
    older state back finds an empty shelf, on which comes what is read after it.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._shelves: OrderedDict[str, Shelf] = OrderedDict()

    def seen(self, bank_uid: str, revision: str) -> None:
        """Take note of the state that a bank is in; what was kept of others goes where there is too much."""
        shelf = self._shelves.get(bank_uid)
        if shelf is None or shelf.state != revision:
            self._shelves[bank_uid] = Shelf(revision)
        self._shelves.move_to_end(bank_uid)
        while len(self._shelves) > 1 and self._is_full():
            self._shelves.popitem(last=False)

    def of(self, bank_uid: str) -> Shelf | None:
        """Return the shelf of a bank; nothing where it was not asked for yet."""
        return self._shelves.get(bank_uid)

    def forget(self) -> None:
        """Keep nothing that was read until now; from any thread."""
        self._shelves = OrderedDict()

    def _is_full(self) -> bool:
        shelves = self._shelves.values()
        return (
            len(shelves) > BANKS_AT_HAND
            or sum(MEMORIES_KEPT - shelf.room[Memory] for shelf in shelves) > MEMORIES_KEPT
            or sum(OUTLINES_KEPT - shelf.room[Outline] for shelf in shelves) > OUTLINES_KEPT
        )


def parted(held: dict[str, Known], ids: Sequence[str]) -> tuple[list[Known], tuple[str, ...]]:
    """Return what is held of these ids, and the ids that are to be read."""
    found = [held[one] for one in ids if one in held]
    return found, () if len(found) == len(ids) else tuple(one for one in ids if one not in held)
