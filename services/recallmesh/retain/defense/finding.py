"""Findings: where in a text something lies that is to be kept out, and what it is."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from recallmesh.core.defense import DefenseDetector, Severity


@dataclass(frozen=True, slots=True)
class Kind:
    """What was found: its name for people, which stands in the mark that takes its place, and how bad it is."""

    name: str
    detector: DefenseDetector
    severity: Severity

    @property
    def mark(self) -> str:
        """What takes its place in a text."""
        return f"[redacted: {self.name}]"


@dataclass(frozen=True, slots=True)
class Finding:
    """A stretch of a text, from ``start`` to before ``end``, that is of a kind."""

    start: int
    end: int
    kind: Kind


Scan = Callable[[str], Iterable[Finding]]
"""Finds one kind of thing in a text, in any order; findings may overlap. Takes time in proportion to the text."""

PIECE = 2_000
"""Characters of a piece: a search that is quadratic in a piece stays linear in the text."""
OVERLAP = 250
"""What two pieces share: longer than all that is looked for in pieces."""


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """Cut a text into overlapping pieces, each with where it begins."""
    start = 0
    while True:
        yield start, text[start : start + PIECE]
        if start + PIECE >= len(text):
            return
        start += PIECE - OVERLAP


def united(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in order, overlapping ones as one: the longer one's kind stands for both."""
    made: list[Finding] = []
    for found in sorted(findings, key=lambda one: (one.start, -one.end)):
        last = made[-1] if made else None
        if last is None or found.start >= last.end:
            made.append(found)
        elif found.end > last.end:
            kind = last.kind if last.end - last.start >= found.end - found.start else found.kind
            made[-1] = Finding(last.start, found.end, kind)
    return made
