"""Which banks have a place in memory."""

from recallmesh.vectors.residence import ASKED_AGAIN, Residence
from recallmesh.vectors.resident import ResidentBank


class Sized(ResidentBank):
    def __init__(self, size):
        super().__init__(1)
        self.size = size

    def __len__(self):
        return self.size


def enter(residence, bank_uid, size):
    bank = Sized(size)
    if not residence.admit(bank_uid, bank, size):
        return None
    residence.complete(bank_uid)
    return bank


def test_where_there_is_room_the_first_search_is_enough():
    residence = Residence(10)
    assert residence.search("a") is None
    assert residence.is_due("a")
    bank = enter(residence, "a", 10)
    assert residence.search("a") is bank
    assert not residence.is_due("a")


def test_a_bank_is_not_searched_before_it_is_whole():
    residence = Residence(10)
    bank = Sized(3)
    assert residence.admit("a", bank, 4)
    assert residence.search("a") is None
    assert residence.bank("a") is bank
    residence.complete("a")
    assert residence.search("a") is bank


def test_a_bank_of_nothing_has_no_place():
    residence = Residence(10)
    bank = enter(residence, "a", 4)
    bank.size = 0
    residence.resized("a")
    assert residence.bank("a") is None


def test_a_bank_of_more_than_all_is_refused_and_asks_again_after_some_searches():
    residence = Residence(10)
    residence.search("a")
    assert enter(residence, "a", 11) is None
    for _ in range(ASKED_AGAIN - 1):
        residence.search("a")
    assert not residence.is_due("a")
    residence.search("a")
    assert residence.is_due("a")


def test_banks_that_nobody_searches_make_room_those_in_use_do_not():
    residence = Residence(10)
    kept, idle = enter(residence, "kept", 5), enter(residence, "idle", 5)
    assert enter(residence, "new", 5) is None
    for _ in range(ASKED_AGAIN):
        assert residence.search("kept") is kept
        residence.search("new")
    assert residence.is_due("new")
    new = enter(residence, "new", 5)
    assert [residence.bank(name) for name in ("kept", "idle", "new")] == [kept, None, new]
    assert idle is not None


def test_of_more_banks_than_there_is_room_for_asked_in_turn_some_stay():
    residence = Residence(10)
    entered = [
        name
        for _ in range(5 * ASKED_AGAIN)
        for name in "abcd"
        if residence.search(name) is None and residence.is_due(name) and enter(residence, name, 4) is not None
    ]
    assert entered == ["a", "b"]


def test_a_bank_that_grows_sends_the_others_away_and_then_has_to_go_itself():
    residence = Residence(10)
    small, large = enter(residence, "small", 5), enter(residence, "large", 5)
    large.size = 6
    residence.resized("large")
    assert [residence.bank(name) for name in ("small", "large")] == [None, large]
    large.size = 11
    residence.resized("large")
    assert residence.bank("large") is None
    assert enter(residence, "small", 10) is not None
    assert small is not None
    residence.clear()
    residence.leave("small")
    assert enter(residence, "other", 10) is not None
