"""Extractor and language model again, each call of which is counted, timed and traced; only mesh errors leave them."""

from recallmesh.core.bank import ExtractionMode, RetainTuning
from recallmesh.retain.extraction import Extractor, Fact, Passage
from recallmesh.retain.language import LanguageModel, Prompt, Reply
from recallmesh.telemetry.guard import Guard
from recallmesh.telemetry.metrics import Metrics


class ObservedExtractor:
    """Does what the extractor within does, through a guard."""

    def __init__(self, extractor: Extractor, metrics: Metrics) -> None:
        """Observe ``extractor``."""
        self._extractor = extractor
        self._guard = Guard("extractor", timeout_s=None, metrics=metrics)
        self.fingerprint = extractor.fingerprint
        self.modes = extractor.modes
        self.vision = extractor.vision

    async def extract(
        self, passages: tuple[Passage, ...], mode: ExtractionMode, tuning: RetainTuning
    ) -> tuple[tuple[Fact, ...], ...]:
        """Return each passage's facts."""
        return await self._guard.run("extract", self._extractor.extract(passages, mode, tuning))


class ObservedLanguageModel:
    """Answers as the model within does, through a guard, and counts what it costs."""

    def __init__(self, model: LanguageModel, metrics: Metrics) -> None:
        """Observe ``model``."""
        self._model = model
        self._guard = Guard("language_model", timeout_s=None, metrics=metrics)
        self._tokens = metrics.model_tokens.labels(model.name)
        self.name = model.name
        self.vision = model.vision

    async def answer(self, prompt: Prompt) -> Reply:
        """Return what the model says."""
        reply = await self._guard.run("answer", self._model.answer(prompt))
        self._tokens.inc(reply.tokens)
        return reply
