"""The observed extractor: each extraction is counted, timed and traced, and nothing but mesh errors leaves it."""

from recallmesh.core.bank import ExtractionMode, RetainTuning
from recallmesh.retain.extraction import Extractor, Fact, Passage
from recallmesh.telemetry.guard import Guard


class ObservedExtractor:
    """Does what the extractor within does, through a guard."""

    def __init__(self, extractor: Extractor, guard: Guard) -> None:
        """Observe ``extractor``."""
        self._extractor = extractor
        self._guard = guard
        self.fingerprint = extractor.fingerprint
        self.modes = extractor.modes
        self.vision = extractor.vision

    async def extract(
        self, passages: tuple[Passage, ...], mode: ExtractionMode, tuning: RetainTuning
    ) -> tuple[tuple[Fact, ...], ...]:
        """Return each passage's facts."""
        return await self._guard.run("extract", self._extractor.extract(passages, mode, tuning))
