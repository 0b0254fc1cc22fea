"""A tenant may ask for so much, saved up within bounds, and never for the rest of what there is."""

import pytest

from recallmesh.core.errors import Overloaded, QuotaExceeded
from recallmesh.core.quota import Bucket, Quota
from recallmesh.rpc.allowance import TENANTS, Allowances


def test_a_bucket_gives_what_it_holds_and_fills_with_time():
    bucket = Bucket(2.0, 10.0, 0.0)
    for _ in range(10):
        assert bucket.wait(1, 0.0) == 0
        bucket.take(1, 0.0)
    assert bucket.wait(1, 0.0) > 0
    assert bucket.wait(1, 0.5) == 0
    bucket.take(1, 0.5)
    assert not bucket.is_full(5.0)
    assert bucket.is_full(6.0)


def test_what_is_larger_than_a_bucket_is_had_once_and_owed():
    bucket = Bucket(1.0, 10.0, 0.0)
    bucket.take(100, 0.0)
    assert bucket.wait(1, 0.0) == pytest.approx(91)
    assert bucket.wait(1, 90.0) == pytest.approx(1)
    assert bucket.wait(1, 91.5) == 0


def test_a_clock_that_stands_or_goes_back_gives_nothing():
    bucket = Bucket(1.0, 1.0, 100.0)
    bucket.take(1, 100.0)
    assert bucket.wait(1, 50.0) > 0


class Bed:
    """Allowances with a clock and quotas of a test's own."""

    def __init__(self, quota=Quota(), share=1.0):  # noqa: B008 - frozen
        self.quotas, self.now, self.refused = {}, 0.0, []
        self.allowances = Allowances(
            lambda tenant: self.quotas.get(tenant, quota),
            share=share,
            refused=self.refused.append,
            now=lambda: self.now,
        )

    def admit(self, tenant="acme", *, stream=False, places=10):
        return self.allowances.admit(tenant, stream=stream, places=places)

    def call(self, tenant="acme"):
        with self.admit(tenant):
            pass


def test_calls_are_bounded_by_their_number_a_second_for_each_tenant_alone():
    bed = Bed(Quota(calls_per_s=2))
    for _ in range(10):
        bed.call()
    with pytest.raises(QuotaExceeded, match="2 calls a second") as caught:
        bed.call()
    assert 0 < caught.value.retry_after.total_seconds() <= 0.5
    assert caught.value.metadata == {"quota": "calls_per_s"}
    bed.call("umbrella")
    bed.now = 0.5
    bed.call()
    assert bed.refused == ["calls_per_s"]


def test_calls_in_hand_and_open_streams_are_bounded_apart():
    bed = Bed(Quota(at_once=1))
    with bed.admit():
        with pytest.raises(QuotaExceeded, match="1 calls in hand"):
            bed.call()
        with bed.admit(stream=True), pytest.raises(QuotaExceeded, match="1 streams in hand"), bed.admit(stream=True):
            pass
        bed.call("umbrella")
    bed.call()
    assert bed.refused == ["at_once", "at_once"]


def test_one_tenant_never_has_all_the_places():
    bed = Bed(share=0.5)
    with bed.admit(places=4), bed.admit(places=4):
        with pytest.raises(Overloaded, match="rest is for others") as caught, bed.admit(places=4):
            pass
        assert not isinstance(caught.value, QuotaExceeded)
        with bed.admit("umbrella", places=4):
            pass
    with Bed(share=0.01).admit(places=1):
        pass
    assert bed.refused == ["share"]


def test_a_call_that_fails_gives_its_place_back():
    bed = Bed(Quota(at_once=1))
    with pytest.raises(ZeroDivisionError), bed.admit():
        raise ZeroDivisionError
    bed.call()


def test_what_is_retained_is_bounded_by_its_size_a_minute():
    bed = Bed(Quota(retained_bytes_per_minute=600))
    bed.allowances.retain("acme", 500)
    with pytest.raises(QuotaExceeded, match="600 bytes a minute") as caught:
        bed.allowances.retain("acme", 500)
    assert caught.value.retry_after.total_seconds() == pytest.approx(40)
    bed.allowances.retain("umbrella", 500)
    bed.now = 40.5
    bed.allowances.retain("acme", 500)
    Bed().allowances.retain("acme", 10**9)


def test_another_quota_counts_at_once_and_forgets_nothing_that_is_in_hand():
    bed = Bed(Quota(at_once=5))
    with bed.admit():
        bed.quotas["acme"] = Quota(at_once=1)
        with pytest.raises(QuotaExceeded):
            bed.call()
    bed.call()


def test_tenants_of_whom_there_is_nothing_to_know_are_forgotten():
    bed = Bed(Quota(calls_per_s=1))
    with bed.admit("busy"):
        for number in range(TENANTS - 1):
            bed.call(f"t{number}")
        bed.now = 60.0
        bed.call("spent")
        assert len(bed.allowances._meters) == 2
        bed.call("more")
    assert set(bed.allowances._meters) == {"busy", "spent", "more"}
