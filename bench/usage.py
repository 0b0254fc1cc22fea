"""What this process and its children use of the machine: CPU seconds and resident memory, from /proc."""

import os
from pathlib import Path
from statistics import median
from time import process_time

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def children() -> list[int]:
    """Return the processes that this one started and that still run."""
    lists = Path("/proc/self/task").glob("*/children")
    return [int(pid) for each in lists for pid in each.read_text(encoding="ascii").split()]


def cpu_s(pid: int | str = "self") -> float:
    """Return the CPU seconds a process has used."""
    # After the name in brackets, which may hold spaces: user and system time are fields 14 and 15 of the whole line.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def workers_cpu_s() -> float:
    """Return the CPU seconds of the children."""
    return sum(cpu_s(pid) for pid in children())


def resident_mib(pid: int | str = "self") -> dict[str, int]:
    """Return a process's resident memory: all of it, and the part that is its own (not pages of files)."""
    pages = [int(number) for number in Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()]
    return {"resident": pages[1] * PAGE >> 20, "anonymous": (pages[1] - pages[2]) * PAGE >> 20}


def pace_ms() -> float:
    """Return the CPU milliseconds of a fixed piece of Python: what they are above those of an idle run is the load's.

    A neighbour on the same core makes CPU time longer too, not only waiting.
    """
    runs = []
    for _ in range(21):
        begun = process_time()
        total = 0
        for number in range(200_000):
            total += number % 7
        runs.append(process_time() - begun)
    return round(median(runs) * 1000, 1)
