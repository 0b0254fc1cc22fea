"""Reading a ledger's file again: only what is not known, and only while nothing was written."""

import sqlite3
from pathlib import Path

from recallmesh.core.memory import FactType, MemoryState, Outline
from recallmesh.ledger import kept
from recallmesh.ledger.kept import Keeping, Revisions, Shelf, parted
from recallmesh.ledger.sqlite import FileWitness


class Telling:
    """A witness that says what it is told to say."""

    def __init__(self) -> None:
        self.says: int | None = 1

    def state(self) -> int | None:
        return self.says

    def close(self) -> None:
        pass


def outline(memory_id: str) -> Outline:
    return Outline(memory_id, FactType.WORLD, (), (), 3, MemoryState.ACTIVE)


def test_a_shelf_is_there_until_something_is_written():
    witness = Telling()
    keeping = Keeping(witness)
    shelf = keeping.now()
    assert shelf is keeping.now() is not None
    witness.says = 2
    assert keeping.now() is not shelf


def test_nothing_is_kept_over_a_time_of_which_nobody_can_tell():
    witness = Telling()
    keeping = Keeping(witness)
    shelf = keeping.now()
    witness.says = None
    assert keeping.now() is None
    witness.says = 1
    assert keeping.now() is not shelf


def test_what_was_found_late_is_put_on_the_shelf_it_was_asked_of_and_on_no_later_one():
    witness = Telling()
    keeping = Keeping(witness)
    shelf = keeping.now()
    witness.says = 2
    later = keeping.now()
    shelf.put(Outline, shelf.outlines["bank"], [outline("a")])
    assert not later.outlines["bank"]


def test_a_shelf_has_an_end(monkeypatch):
    monkeypatch.setattr(kept, "OUTLINES_KEPT", 2)
    shelf = Shelf(1)
    held = shelf.outlines["bank"]
    shelf.put(Outline, held, [outline(name) for name in ("a", "b", "b", "c")])
    assert list(held) == ["a", "b"]
    assert parted(held, ("c", "b")) == ([held["b"]], ("c",))


def test_a_bank_has_its_shelf_until_it_is_seen_in_another_state():
    revisions = Revisions()
    assert revisions.of("bank") is None
    revisions.seen("bank", "1")
    revisions.seen("other", "1")
    shelf = revisions.of("bank")
    revisions.seen("bank", "1")
    assert revisions.of("bank") is shelf is not None
    revisions.seen("bank", "2")
    assert revisions.of("bank") is not shelf
    assert revisions.of("other") is not None
    revisions.forget()
    assert revisions.of("other") is None


def test_a_state_that_comes_back_finds_nothing_of_what_was_kept_of_it():
    revisions = Revisions()
    revisions.seen("bank", "1")
    shelf = revisions.of("bank")
    shelf.put(Outline, shelf.outlines["bank"], [outline("a")])
    revisions.seen("bank", "2")
    revisions.seen("bank", "1")
    assert not revisions.of("bank").outlines["bank"]


def test_what_is_too_much_goes_of_the_bank_that_was_not_asked_for_longest(monkeypatch):
    monkeypatch.setattr(kept, "OUTLINES_KEPT", 2)
    revisions = Revisions()
    for bank, name in (("first", "a"), ("second", "b"), ("third", "c")):
        revisions.seen(bank, "1")
        shelf = revisions.of(bank)
        shelf.put(Outline, shelf.outlines[bank], [outline(name)])
    revisions.seen("second", "1")
    assert [bank for bank in ("first", "second", "third") if revisions.of(bank)] == ["second", "third"]
    monkeypatch.setattr(kept, "BANKS_AT_HAND", 1)
    revisions.seen("second", "1")
    assert [bank for bank in ("second", "third") if revisions.of(bank)] == ["second"]


def test_a_file_tells_of_each_commit_of_others_and_of_nothing_else(tmp_path: Path):
    path = tmp_path / "odd ?name.db"
    witness = FileWitness(str(path))
    assert witness.state() is None
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE said (word TEXT)")
    first = witness.state()
    assert first == witness.state() is not None
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("ROLLBACK")
    assert witness.state() == first
    writer.execute("INSERT INTO said VALUES ('yes')")
    second = witness.state()
    assert second != first
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    writer.execute("INSERT INTO said VALUES ('again')")
    assert witness.state() not in (first, second)
    witness.close()
    writer.close()
