"""Moments, stretches of time and durations on the wire."""

from datetime import UTC, datetime, timedelta, timezone

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.time import Occurrence, Window
from recallmesh.rpc.codec.enums import PRECISION
from recallmesh.v1 import time_pb2

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_S = 86_400
MICROSECOND = timedelta(microseconds=1)


def moment_to_pb(moment: datetime) -> Timestamp:
    """Write a moment to the microsecond; a naive one is taken to be UTC."""
    message = Timestamp()
    write_moment(moment, message)
    return message


def write_moment(moment: datetime, message: Timestamp) -> None:
    """Write a moment where it belongs; set there, a message costs a third of one that is made and copied."""
    since = (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment) - EPOCH
    # Its own parts, of which only the days have a sign: a tenth of the time of dividing, for hundreds in an answer.
    message.seconds = since.days * DAY_S + since.seconds
    message.nanos = since.microseconds * 1000


def moment_from_pb(message: Timestamp, field: str) -> datetime:
    """Read a moment in UTC, truncated to the microsecond."""
    try:
        return EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)
    except OverflowError as error:
        raise InvalidArgument(FieldViolation(field, "is not within the years 1 to 9999")) from error


def micros_to_pb(moment: datetime) -> int:
    """Write a moment as microseconds since 1970 in UTC, where a message for each would cost too much."""
    since = moment - EPOCH
    return (since.days * DAY_S + since.seconds) * 1_000_000 + since.microseconds


def micros_from_pb(micros: int) -> datetime:
    """Read a moment out of an answer, in UTC."""
    return EPOCH + timedelta(microseconds=micros)


def offset_to_pb(moment: datetime | None) -> Duration | None:
    """Write the offset from UTC of the one who named a moment; nothing when it is UTC."""
    offset = None if moment is None else moment.utcoffset()
    return duration_to_pb(offset) if offset else None


def local_moment_from_pb(moment: Timestamp, offset: Duration, field: str) -> datetime:
    """Read a moment in the offset from UTC of the one who named it."""
    seconds = offset.seconds
    if not seconds:
        return moment_from_pb(moment, field)
    try:
        # Not by ``astimezone``: the moment may be in the calendar of this clock alone, and not in that of UTC.
        zero = EPOCH.replace(tzinfo=timezone(timedelta(seconds=seconds)))
        return zero + timedelta(seconds=moment.seconds + seconds, microseconds=moment.nanos // 1000)
    except (ValueError, OverflowError) as error:
        raise InvalidArgument(
            FieldViolation(field, "has an offset of a day or more, or leaves the calendar")
        ) from error


def duration_to_pb(duration: timedelta) -> Duration:
    """Write a duration to the microsecond; both parts have its sign, as the wire wants it."""
    micros = duration // MICROSECOND
    seconds, rest = divmod(abs(micros), 1_000_000)
    sign = -1 if micros < 0 else 1
    return Duration(seconds=sign * seconds, nanos=sign * rest * 1000)


def duration_from_pb(message: Duration) -> timedelta:
    """Read a duration, truncated to the microsecond; one that is longer than any here is the longest."""
    nanos = message.nanos
    micros = nanos // 1000 if nanos >= 0 else -(-nanos // 1000)
    try:
        return timedelta(seconds=message.seconds, microseconds=micros)
    except OverflowError:
        return timedelta.max if message.seconds > 0 else timedelta.min


def window_to_pb(window: Window) -> time_pb2.Window:
    """Write a stretch of time; the offset of its end only where it is another than that of its start."""
    message = time_pb2.Window()
    write_window(window, message)
    return message


def write_window(window: Window, message: time_pb2.Window) -> None:
    """Write a stretch of time where it belongs."""
    start, end = window.start, window.end
    write_moment(start, message.start)
    write_moment(end, message.end)
    offset, end_offset = start.utcoffset(), end.utcoffset()
    if offset:
        message.utc_offset.CopyFrom(duration_to_pb(offset))
    if end_offset != offset:
        message.end_utc_offset.CopyFrom(duration_to_pb(end_offset or timedelta()))


def window_from_pb(message: time_pb2.Window, field: str = "window") -> Window:
    """Read a stretch of time.

    Raises:
        InvalidArgument: an end is missing, or the start is after the end.

    """
    for name in ("start", "end"):
        if not message.HasField(name):
            raise InvalidArgument(FieldViolation(f"{field}.{name}", "is required"))
    offset = message.utc_offset
    end_offset = message.end_utc_offset if message.HasField("end_utc_offset") else offset
    start = local_moment_from_pb(message.start, offset, f"{field}.start")
    end = local_moment_from_pb(message.end, end_offset, f"{field}.end")
    if start > end:
        raise InvalidArgument(FieldViolation(f"{field}.start", f"is after {field}.end"))
    return Window(start, end)


def occurrence_to_pb(occurrence: Occurrence) -> time_pb2.Occurrence:
    """Write when a fact happened."""
    message = time_pb2.Occurrence()
    write_occurrence(occurrence, message)
    return message


def write_occurrence(occurrence: Occurrence, message: time_pb2.Occurrence) -> None:
    """Write when a fact happened where it belongs."""
    write_window(occurrence.window, message.window)
    message.precision = PRECISION.to_pb(occurrence.precision)


def occurrence_from_pb(message: time_pb2.Occurrence, field: str, *, door: bool) -> Occurrence:
    """Read when a fact happened."""
    return Occurrence(
        window_from_pb(message.window, f"{field}.window"),
        PRECISION.read(message.precision, f"{field}.precision", door=door),
    )
