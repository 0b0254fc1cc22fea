"""What processes use under load: CPU and memory from /proc, and what they say of themselves to Prometheus."""

import re
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from bench.usage import cpu_s, resident_mib

LAG = "recallmesh_event_loop_lag_seconds"
WAIT = "recallmesh_model_wait_seconds"
SAMPLE = re.compile(r"^(\w+)(?:\{([^}]*)\})? (\S+)$", re.MULTILINE)


def tree(pid: int) -> list[int]:
    """Return a process and all that it started, and they."""
    found = [pid]
    for one in found:
        for path in Path(f"/proc/{one}/task").glob("*/children"):
            found += [int(word) for word in path.read_text(encoding="ascii").split()]
    return found


def scraped(port: int) -> dict[str, float]:
    """Return the samples that a process offers, by name and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    return {f"{name}{{{labels}}}" if labels else name: float(value) for name, labels, value in SAMPLE.findall(text)}


@dataclass(slots=True)
class Watched:
    """One process, and what it had used when the time began; ``port`` is where it tells Prometheus, 0: it does not."""

    pid: int
    port: int
    began: float = 0.0
    cpu: dict[int, float] = field(default_factory=dict)
    samples: dict[str, float] = field(default_factory=dict)

    def begin(self) -> None:
        """Take note of what there is."""
        self.began = perf_counter()
        self.cpu = {pid: cpu_s(pid) for pid in tree(self.pid)}
        self.samples = scraped(self.port) if self.port else {}

    def end(self) -> dict[str, float]:
        """Return what was used since: cores kept busy, by the process and by those that it started, and the rest."""
        seconds = perf_counter() - self.began
        used = {pid: cpu_s(pid) - self.cpu.get(pid, 0.0) for pid in tree(self.pid)}
        own = used.pop(self.pid)
        found = {"cores": round(own / seconds, 2)}
        if not self.port:
            return found
        now = scraped(self.port)
        since = {name: value - self.samples.get(name, 0.0) for name, value in now.items()}
        return found | {
            "workers' cores": round(sum(used.values()) / seconds, 2),
            "loop lag, ms": round(1000 * mean(since, LAG), 1),
            "wait for the reranker, ms": round(1000 * mean(since, WAIT, 'part="reranker"'), 1),
            "wait for the embedder, ms": round(1000 * mean(since, WAIT, 'part="embedder"'), 1),
            "resident, MiB": resident_mib(self.pid)["resident"],
        }


def mean(samples: Mapping[str, float], name: str, labels: str = "") -> float:
    """Return the mean of what a histogram took in."""
    mark = f"{{{labels}}}" if labels else ""
    count = samples.get(f"{name}_count{mark}", 0.0)
    return samples.get(f"{name}_sum{mark}", 0.0) / count if count else 0.0
