"""Sentences whose names were marked by hand, and how many of them the local extractor finds."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from recallmesh.core.bank import ExtractionMode, RetainTuning
from recallmesh.core.key import fold
from recallmesh.retain.extraction import Extractor, FoundName, Passage
from recallmesh.retain.speaker import split_turns

SENTENCES = Path(__file__).parent / "names.txt"
EITHER = "?"
NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)
_MARKED = re.compile(r"\{(?P<name>[^{}/]+)/(?P<kind>[a-z]+|\?)\}")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A sentence, its register, and its names; of kind ``?`` are those that may be found or not."""

    register: str
    text: str
    names: tuple[FoundName, ...]


def load_labelled(path: Path = SENTENCES) -> tuple[Labelled, ...]:
    """Read the marked sentences."""
    register, found = "", []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            register = line.removeprefix("## ")
        elif line and not line.startswith("#"):
            names = tuple(FoundName(match["name"], match["kind"]) for match in _MARKED.finditer(line))
            found.append(Labelled(register, _MARKED.sub(lambda match: match["name"], line), names))
    return tuple(found)


@dataclass(slots=True)
class Tally:
    """How many names were found rightly, wrongly, not at all, and of the right ones how many of the right kind."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    kinds: int = 0
    slips: tuple[str, ...] = ()

    def add(self, labelled: Labelled, found: Sequence[FoundName]) -> None:
        """Count one sentence."""
        wanted = {fold(name.name): name.kind for name in labelled.names}
        given = {fold(name.name): name.kind for name in found}
        for key, kind in given.items():
            if key not in wanted:
                self.wrong += 1
                self.slips += (f"+{key} | {labelled.text}",)
            elif wanted[key] != EITHER:
                self.right += 1
                self.kinds += kind == wanted[key]
                if kind != wanted[key]:
                    self.slips += (f"~{key} {kind}, not {wanted[key]} | {labelled.text}",)
        missed = [key for key, kind in wanted.items() if kind != EITHER and key not in given]
        self.missed += len(missed)
        self.slips += tuple(f"-{key} | {labelled.text}" for key in missed)

    def figures(self) -> dict[str, float]:
        """Return precision, recall, and the share of found names with the marked kind."""
        return {
            "precision": round(self.right / max(1, self.right + self.wrong), 3),
            "recall": round(self.right / max(1, self.right + self.missed), 3),
            "right kind": round(self.kinds / max(1, self.right), 3),
        }


async def tally_names(sentences: Sequence[Labelled], extractor: Extractor) -> dict[str, Tally]:
    """Extract every sentence and count, by part ("read" and "held") and in all.

    Each sentence is a call of its own, without a bank that knows names.
    """
    tallies: dict[str, Tally] = defaultdict(Tally)
    for one in sentences:
        (facts,) = await extractor.extract((Passage(one.text, now=NOW),), ExtractionMode.VERBOSE, RetainTuning())
        # Who speaks is told by the form of the line; only what is in the words counts.
        speakers = {fold(turn.speaker) for turn in split_turns(one.text)}
        found = [name for fact in facts for name in fact.names if fold(name.name) not in speakers]
        for part in ("all", one.register.rpartition(", ")[2]):
            tallies[part].add(one, found)
    return tallies
