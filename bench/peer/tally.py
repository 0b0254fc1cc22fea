"""What a comparison adds up, and the figures it comes to; pure."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import mean, median

from bench.measure import Quality
from bench.peer.system import MODELS

KINDS = {"recall_10": "evidence @10", "recall_20": "evidence @20", "pack_4096": "evidence in the pack", "mrr": "MRR"}


@dataclass(slots=True)
class Tally:
    """Calls of one kind to one system: their times, the CPU time by part of all, how good the answers were."""

    walls: list[float] = field(default_factory=list)
    cpu_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    lasted_s: float = 0.0
    items: int = 0
    quality: list[Quality] = field(default_factory=list)

    def spent(self, before: Mapping[str, float], after: Mapping[str, float], lasted_s: float) -> None:
        """Count CPU seconds, and how long it took until they were counted."""
        for part, seconds in after.items():
            self.cpu_s[part] += seconds - before[part]
        self.lasted_s += lasted_s

    def without(self, idle: "Tally") -> "Tally":
        """Return this without what would have been used in the same time if nothing had been asked."""
        usual = idle.idle_ms()
        own = {part: max(0.0, s - usual[part] / 1000 * self.lasted_s) for part, s in self.cpu_s.items()}
        return replace(self, cpu_s=own)

    def idle_ms(self) -> dict[str, float]:
        """Return the CPU milliseconds of each part in a second."""
        return {part: seconds * 1000 / self.lasted_s for part, seconds in self.cpu_s.items()}

    def recalled(self) -> dict[str, float]:
        """Return the figures of recalls."""
        calls = len(self.walls)
        cpu = {f"CPU ms a query: {part}": round(s * 1000 / calls, 2) for part, s in self.cpu_s.items()}
        good = {name: round(mean(getattr(each, key) for each in self.quality), 4) for key, name in KINDS.items()}
        return {
            "questions": calls,
            "p50 ms": round(median(self.walls), 2),
            "p95 ms": round(sorted(self.walls)[int(0.95 * (calls - 1))], 2),
            "CPU ms a query": round(sum(self.cpu_s.values()) * 1000 / calls, 2),
            **cpu,
            **good,
        }

    def retained(self) -> dict[str, float]:
        """Return the figures of retains."""
        own = {part: seconds for part, seconds in self.cpu_s.items() if part != MODELS}
        return {
            "memories": self.items,
            "memories/s": round(self.items / sum(self.walls) * 1000, 1),
            "call, p50 ms": round(median(self.walls), 2),
            "CPU ms a memory, models aside": round(sum(own.values()) * 1000 / self.items, 2),
            **{f"CPU ms a memory: {part}": round(s * 1000 / self.items, 2) for part, s in self.cpu_s.items()},
        }


@dataclass(frozen=True, slots=True)
class Goal:
    """A ratio that is to be reached: ours to the peer's, at most; figures are named by section and name."""

    said: str
    ours: tuple[str, str]
    theirs: tuple[str, str]
    most: float


Sections = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Figures by section, system and name."""


def ratios(found: Sections, goals: tuple[Goal, ...], ours: str, theirs: str) -> list[dict[str, object]]:
    """Hold the goals against the figures; a section that was not measured has none."""
    rows: list[dict[str, object]] = []
    for goal in goals:
        mine = found.get(goal.ours[0], {}).get(ours, {}).get(goal.ours[1])
        other = found.get(goal.theirs[0], {}).get(theirs, {}).get(goal.theirs[1])
        if mine is None or other is None:
            continue
        ratio = mine / other
        row = {"ours": mine, "peer": other, "ratio": round(ratio, 3), "at most": goal.most, "met": ratio <= goal.most}
        rows.append({"what": goal.said, **row})
    return rows
