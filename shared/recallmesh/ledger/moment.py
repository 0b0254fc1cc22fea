"""Moments as the ledger stores them: whole microseconds since 1970 in UTC, and the offset they were told in beside."""

from datetime import UTC, datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)


def to_us(moment: datetime) -> int:
    """Return a moment's microseconds, by which it is ordered and compared; a naive one is taken to be UTC."""
    return (_aware(moment) - _EPOCH) // _MICROSECOND


def offset_of(moment: datetime) -> int:
    """Return a moment's UTC offset in seconds: it says which day the moment was where it was told."""
    offset = _aware(moment).utcoffset()
    return offset // _SECOND if offset else 0


def from_us(microseconds: int, offset: int = 0) -> datetime:
    """Return the moment of that many microseconds, as a clock with this offset shows it."""
    return Moments(offset)[microseconds]


def from_us_in_utc(microseconds: int) -> datetime:
    """Return a moment as UTC shows it, whatever clock it was told in; nearest to it where UTC's years 1 to 9999 end."""
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    return from_us(min(max(microseconds, to_us(first)), to_us(last)))


class Moments(dict[int, datetime]):
    """Moments of one offset already decoded: the memories of one read share few (the chunk's time, the write's)."""

    def __init__(self, offset: int) -> None:
        """Start with nothing decoded."""
        super().__init__()
        # The offset is added here, not by ``astimezone``: that cannot pass through years that only exist in this clock.
        self._zero = _EPOCH.replace(tzinfo=timezone(timedelta(seconds=offset))) if offset else _EPOCH
        self._shift = offset * 1_000_000

    def __missing__(self, microseconds: int) -> datetime:
        """Decode a moment seen for the first time."""
        moment = self[microseconds] = self._zero + timedelta(0, 0, microseconds + self._shift)
        return moment


class Clocks(dict[int, Moments]):
    """The decoded moments of one read by their offset."""

    def __missing__(self, offset: int) -> Moments:
        """Begin with an offset seen for the first time."""
        moments = self[offset] = Moments(offset)
        return moments


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
