"""What a doctor makes of what was seen of stores and services: a row of the table each, and what to do."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from recallmesh.core.store import Inspection

SKEW_S = 2.0
"""How far clocks may be apart, in seconds: some servers tell whole seconds, and what goes by time is leased for 30."""
LAG = timedelta(minutes=1)
"""How old a change that waits for an arm may be: what failed once is delivered within a few seconds."""
SERVERS = frozenset({"qdrant", "opensearch", "neo4j"})
WELL = "well"
TAKEN = "well; not counted, since another process has it open"
HEADINGS = ("part", "store", "where", "schema", "memories", "on the way", "clock", "")


@dataclass(frozen=True, slots=True)
class Lag:
    """What waits for one arm: how many changes, and how old the oldest is."""

    changes: int
    oldest: timedelta


@dataclass(frozen=True, slots=True)
class Row:
    """One part of a mesh: what is known of it, as people read it; ``advice`` is what is wrong and what to do."""

    part: str
    store: str = ""
    where: str = ""
    schema: str = ""
    memories: str = ""
    waiting: str = ""
    clock: str = ""
    note: str = WELL
    advice: tuple[str, ...] = ()

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        told = "; ".join(self.advice) or self.note
        return (self.part, self.store, self.where, self.schema, self.memories, self.waiting, self.clock, told)


@dataclass(frozen=True, slots=True)
class Counted:
    """How many memories the ledger showed before and after the others were looked at."""

    before: int
    after: int


def store_row(part: str, seen: Inspection, *, lag: Lag | None = None, counted: Counted | None = None) -> Row:
    """Judge a store; ``lag`` and ``counted`` are absent where the ledger cannot say."""
    return Row(
        part=part,
        store=f"{seen.store} {seen.version}".strip(),
        where=seen.address,
        schema=_schema(seen),
        memories="" if seen.memories is None else str(seen.memories),
        waiting="" if lag is None else _waiting(lag),
        clock="" if seen.skew_s is None else f"{seen.skew_s:+.1f} s",
        note=WELL if seen.memories is not None else TAKEN,
        advice=(
            *(said.rstrip(".") for said in seen.advice),
            *_silent(seen),
            *_skewed(seen),
            *_late(part, lag),
            *_differing(seen, lag, counted),
        ),
    )


def service_row(part: str, address: str, trouble: str) -> Row:
    """Judge a service elsewhere, which has no trouble if it is ready."""
    if trouble.endswith("not ready"):
        remedy = "its log says why"
    else:
        remedy = f"start it: recallmesh serve {part} --listen {address}; or set its address right"
    return Row(part=part, where=address, advice=(f"{trouble}; {remedy}",) if trouble else ())


def lags_of(rows: tuple[tuple[str, int, timedelta], ...], arms: tuple[str, ...]) -> Mapping[str, Lag]:
    """Return what waits for each arm, also for those for which nothing does."""
    return dict.fromkeys(arms, Lag(0, timedelta())) | {arm: Lag(changes, age) for arm, changes, age in rows}


def _schema(seen: Inspection) -> str:
    # Of one that does not answer nothing is known.
    if not seen.version or not seen.wanted or seen.schema == seen.wanted:
        return seen.schema
    return f"{seen.schema or '-'} (needs {seen.wanted})"


def _waiting(lag: Lag) -> str:
    return f"{lag.changes}, since {age(lag.oldest)}" if lag.changes else "0"


def _silent(seen: Inspection) -> Iterator[str]:
    if seen.advice and not seen.version and seen.store in SERVERS:
        yield "is it running there, and are its settings right? docs/stores.md says how to start it"


def _skewed(seen: Inspection) -> Iterator[str]:
    if seen.skew_s is not None and abs(seen.skew_s) > SKEW_S:
        which = "ahead of" if seen.skew_s > 0 else "behind"
        yield f"its clock is {abs(seen.skew_s):.1f} s {which} this machine's: set both by NTP"


def _late(part: str, lag: Lag | None) -> Iterator[str]:
    if lag is not None and lag.oldest > LAG:
        yield (
            f"{lag.changes} changes wait for the {part} arm, the oldest since {age(lag.oldest)}: is `recallmesh serve "
            "retain` (or all) running, and does the arm answer? its log says why it refuses them"
        )


def _differing(seen: Inspection, lag: Lag | None, counted: Counted | None) -> Iterator[str]:
    if seen.memories is None or counted is None or lag is None or lag.changes:
        return
    if not counted.before <= seen.memories <= counted.after and not counted.after <= seen.memories <= counted.before:
        yield (
            f"it holds {seen.memories} memories, the ledger shows {counted.after}: recallmesh verify says which, "
            "recallmesh repair mends them"
        )


def age(lasting: timedelta) -> str:
    """Return a span of time in the unit that people would say it in."""
    seconds = lasting.total_seconds()
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
