"""Moments as the ledger stores them: whole microseconds since 1970 in UTC."""

from datetime import UTC, datetime, timedelta

from recallmesh.core.time import as_utc

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_us(moment: datetime) -> int:
    """Return a moment's microseconds; its UTC offset is not kept."""
    return (as_utc(moment) - _EPOCH) // _MICROSECOND


def from_us(microseconds: int) -> datetime:
    """Return the moment of that many microseconds."""
    return _EPOCH + timedelta(microseconds=microseconds)


class Moments(dict[int, datetime]):
    """Moments already decoded: the memories of one read share few (the chunk's time, the write's)."""

    def __missing__(self, microseconds: int) -> datetime:
        """Decode a moment seen for the first time."""
        moment = self[microseconds] = from_us(microseconds)
        return moment
