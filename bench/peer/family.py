"""What processes use together: one and all that it started. From /proc."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from bench.usage import TICKS


def family(pid: int) -> Iterator[int]:
    """Yield a process and all that came of it and still run."""
    yield pid
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):
            for child in path.read_text(encoding="ascii").split():
                yield from family(int(child))


def cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process and its family have used; of those that ended, too, once waited for."""
    return sum(ticks for each in family(pid) for ticks in _ticks(each)) / TICKS


def _ticks(pid: int) -> list[int]:
    with suppress(FileNotFoundError, ProcessLookupError):
        # Fields 14 to 17 of the line, counted after the name in brackets: its own user and system time, and that of
        # the children it has waited for.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return [int(field) for field in fields[11:15]]
    return []


def memory_mib(pids: Iterable[int]) -> dict[str, float]:
    """Return the memory of families: resident as ``ps`` adds it up, in proportion to who shares a page, and private.

    A page that ten processes share is ten pages of ``resident`` and one of ``proportional``.
    """
    wanted = {"Rss:": "resident", "Pss:": "proportional", "Pss_Anon:": "anonymous"}
    found = dict.fromkeys(wanted.values(), 0.0)
    for pid in pids:
        for each in family(pid):
            with suppress(FileNotFoundError, ProcessLookupError):
                for line in Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii").splitlines():
                    words = line.split()
                    if words[0] in wanted:
                        found[wanted[words[0]]] += int(words[1]) / 1024
    return {name: round(size, 1) for name, size in found.items()}
