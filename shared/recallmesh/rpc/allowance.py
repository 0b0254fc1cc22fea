"""What each tenant may ask of this process: its quota, and no more than its share of the places."""

import asyncio
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from recallmesh.core.errors import MeshError, Overloaded, QuotaExceeded
from recallmesh.core.quota import Bucket, Meter, Quota

TENANTS = 10_000
"""With more than so many tenants known, those of which there is nothing to know are forgotten."""
RETRY_S = 0.5
"""What is told who has as much in hand as may be: when some of it will be done, nobody knows."""

QuotaOf = Callable[[str], Quota]
"""Returns the quota of a tenant as it is now."""
Refused = Callable[[str], None]
"""Told of each call that was refused: which bound it met."""


class Allowances:
    """Counts what tenants ask for. ``share`` is the part of all places that one of them may have, in (0, 1]."""

    def __init__(
        self, quota_of: QuotaOf, *, share: float, refused: Refused, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Bound tenants by these quotas; ``now`` is a clock in seconds that never goes back."""
        self._quota_of = quota_of
        self._share = share
        self._refused = refused
        self._now = now
        self._meters: dict[str, Meter] = {}

    @contextmanager
    def admit(self, tenant: str, *, stream: bool, places: int) -> Iterator[None]:
        """Hold a place for a tenant's call; ``places`` is how many there are of its kind, for all.

        Raises:
            QuotaExceeded: it has made as many calls as it may, or has as many in hand.
            Overloaded: it has its share of the places.

        """
        meter = self._meter(tenant)
        quota, what = meter.quota, "streams" if stream else "calls"
        if quota.at_once is not None and meter.inside[stream] >= quota.at_once:
            raise self._exceeded("at_once", f"has {quota.at_once} {what} in hand, which is its most", RETRY_S)
        if meter.inside[stream] >= math.ceil(places * self._share):
            self._refused("share")
            message = f"the tenant has as many {what} in hand as one may: the rest is for others"
            raise Overloaded(message, retry_after=timedelta(seconds=RETRY_S))
        if meter.calls is not None:
            if wait := meter.calls.wait(1, self._now()):
                raise self._exceeded("calls_per_s", f"may make {quota.calls_per_s:g} calls a second", wait)
            meter.calls.take(1, self._now())
        inside = meter.inside
        inside[stream] += 1
        try:
            yield
        finally:
            inside[stream] -= 1

    def retain(self, tenant: str, size: int) -> None:
        """Take so many bytes of what a tenant may retain.

        Raises:
            QuotaExceeded: it has retained as much as it may for now.

        """
        bucket = self._retained(tenant)
        if bucket is None:
            return
        if wait := bucket.wait(size, self._now()):
            allowed = self._meter(tenant).quota.retained_bytes_per_minute
            raise self._exceeded("retained_bytes_per_minute", f"may retain {allowed:g} bytes a minute", wait)
        bucket.take(size, self._now())

    async def retain_next(self, tenant: str, size: int) -> None:
        """Take so many bytes once they may be had: what comes by a stream waits, and so does who sends it."""
        wait = self._lacking(tenant, size)
        while wait:
            await asyncio.sleep(wait)
            wait = self._lacking(tenant, size)
        self.retain(tenant, size)

    def _lacking(self, tenant: str, size: int) -> float:
        bucket = self._retained(tenant)
        return 0.0 if bucket is None else bucket.wait(size, self._now())

    def _retained(self, tenant: str) -> Bucket | None:
        return self._meter(tenant).retained

    def _meter(self, tenant: str) -> Meter:
        quota, meter = self._quota_of(tenant), self._meters.get(tenant)
        if meter is None:
            if len(self._meters) >= TENANTS:
                self._forget()
            meter = self._meters[tenant] = Meter(quota, self._now())
        elif meter.quota != quota:
            meter = self._meters[tenant] = meter.with_quota(quota, self._now())
        return meter

    def _forget(self) -> None:
        now = self._now()
        self._meters = {tenant: meter for tenant, meter in self._meters.items() if not meter.is_idle(now)}

    def _exceeded(self, quota: str, what: str, wait: float) -> MeshError:
        self._refused(quota)
        return QuotaExceeded(f"the tenant {what}", retry_after=timedelta(seconds=wait), quota=quota)
