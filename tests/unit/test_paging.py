"""Pages by key: what a list goes on from is a number of its own, or refused."""

import pytest

from recallmesh.core.errors import InvalidArgument
from recallmesh.ledger.paging import cut, number_after


def test_a_list_goes_on_after_its_last_row():
    assert cut([1, 2, 3], 2, str).next_after == "2"
    assert cut([1, 2], 2, str).next_after == ""
    assert [number_after(key) for key in ("", "0", "12", "9" * 18)] == [-1, 0, 12, 10**18 - 1]


@pytest.mark.parametrize("key", ["-1", "x", "1_0", " 1", "+1", "\u0661", "\u00b2", "1.5", "9" * 19, "9" * 5_000])
def test_a_key_that_is_no_number_of_a_list_is_refused(key):
    with pytest.raises(InvalidArgument, match="page_token"):
        number_after(key)
