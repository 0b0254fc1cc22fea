"""How much one tenant may ask of one process: buckets that fill with time."""

from dataclasses import dataclass

BURST_S = 5.0
"""How long calls that were not made may be made later: a client that begins makes several at once."""
MINUTE_S = 60.0
SOON_S = 0.001
"""The least time that is told to be waited for: what lacks may be a rounding error."""


@dataclass(frozen=True, slots=True)
class Quota:
    """What one tenant may ask of each process; what is absent is not bounded.

    ``calls_per_s`` counts calls and streams as they begin; ``retained_bytes_per_minute`` the messages that fill banks;
    ``at_once`` bounds the calls in hand and, apart from them, the open streams. All greater than 0.
    """

    calls_per_s: float | None = None
    retained_bytes_per_minute: float | None = None
    at_once: int | None = None


class Bucket:
    """Holds what may be taken now: so much a second flows in, up to a bound.

    What is more than it can ever hold is had once it is full, and the rest is owed: nothing more can be had until that
    has flowed in. So the largest message is let through sometime, and the rate is kept all the same.
    """

    def __init__(self, rate: float, bound: float, now: float) -> None:
        """Begin full; ``now`` is a time in seconds, here and with every call."""
        self._rate = rate
        self._bound = bound
        self._held = bound
        self._seen = now

    def wait(self, amount: float, now: float) -> float:
        """Return in how many seconds so much can be had; 0: now."""
        self._fill(now)
        lacking = min(amount, self._bound) - self._held
        return 0.0 if lacking <= 0 else max(lacking / self._rate, SOON_S)

    def take(self, amount: float, now: float) -> None:
        """Take so much, or owe it."""
        self._fill(now)
        self._held -= amount

    def is_full(self, now: float) -> bool:
        """Tell whether it holds as much as it can."""
        self._fill(now)
        return self._held >= self._bound

    def _fill(self, now: float) -> None:
        self._held = min(self._bound, self._held + max(0.0, now - self._seen) * self._rate)
        self._seen = now


class Meter:
    """What one tenant has asked of this process."""

    def __init__(self, quota: Quota, now: float) -> None:
        """Begin with all that it may have."""
        self.quota = quota
        self.inside = {False: 0, True: 0}
        """Calls in hand, and open streams."""
        calls, retained = quota.calls_per_s, quota.retained_bytes_per_minute
        self.calls = None if calls is None else Bucket(calls, max(1.0, calls * BURST_S), now)
        self.retained = None if retained is None else Bucket(retained / MINUTE_S, retained, now)

    def with_quota(self, quota: Quota, now: float) -> "Meter":
        """Return one with the same in hand and another quota, all of which may be had."""
        other = Meter(quota, now)
        other.inside = self.inside
        return other

    def is_idle(self, now: float) -> bool:
        """Tell whether nothing is known of the tenant that a new meter would not know."""
        buckets = (bucket for bucket in (self.calls, self.retained) if bucket is not None)
        return not any(self.inside.values()) and all(bucket.is_full(now) for bucket in buckets)
