"""The LLM extractor: a language model reads the passages, and what it says of them is checked (docs/adr/0020-…)."""

import asyncio
import hashlib
import json
from collections.abc import Iterator, Sequence

from recallmesh.core.bank import ExtractionMode, RetainTuning
from recallmesh.core.errors import NotReady
from recallmesh.retain import prompt
from recallmesh.retain.account import Descriptions, Facts, shape_of
from recallmesh.retain.asking import CutOff, ask
from recallmesh.retain.extraction import Fact, Passage
from recallmesh.retain.judgement import facts_told
from recallmesh.retain.language import LanguageModel, Message, Prompt, Role
from recallmesh.retain.purse import Purse

GROUP_BYTES = 8_192
"""UTF-8 bytes of text asked about at once: some 2,000 tokens, as many as the rules. More at once is told less fully."""
GROUP_PASSAGES = 12
"""The most passages asked about at once."""
FACTS = shape_of(Facts, "facts")
DESCRIPTIONS = shape_of(Descriptions, "descriptions")
_RULES = (
    prompt.RULES,
    prompt.FACTS,
    prompt.DESCRIPTIONS,
    prompt.NO_LABELS,
    prompt.LABELS,
    prompt.CONCISE,
    prompt.VERBOSE,
    prompt.CUSTOM,
    prompt.MISSION,
    prompt.AGENT,
)
_JUDGEMENT = 1
"""Raised whenever an answer is judged otherwise than before."""


class LlmExtractor:
    """Has a language model make the facts; stores nothing that it could not check, and says so by an error."""

    modes = frozenset(ExtractionMode) - {ExtractionMode.CHUNKS}

    def __init__(self, model: LanguageModel, *, call_tokens: int) -> None:
        """Ask ``model``; a call may cost ``call_tokens`` at most."""
        self._model = model
        self._call_tokens = call_tokens
        shaping = json.dumps([_RULES, FACTS.schema, DESCRIPTIONS.schema, _JUDGEMENT], sort_keys=True)
        self.fingerprint = f"llm-{model.name}-{hashlib.sha256(shaping.encode()).hexdigest()[:12]}"
        self.vision = model.vision

    async def extract(
        self, passages: tuple[Passage, ...], mode: ExtractionMode, tuning: RetainTuning
    ) -> tuple[tuple[Fact, ...], ...]:
        """Return each passage's facts; all passages' or none."""
        if mode not in self.modes:
            raise NotReady(f"extraction mode {mode} is not for a language model")
        purse = Purse(self._call_tokens)
        try:
            async with asyncio.TaskGroup() as asking:
                tasks = [asking.create_task(self._read(group, mode, tuning, purse)) for group in _groups(passages)]
        except ExceptionGroup as failed:
            # The first failure ended the others: what it was is the answer.
            raise failed.exceptions[0] from failed
        return tuple(facts for task in tasks for facts in task.result())

    async def _read(
        self, passages: Sequence[Passage], mode: ExtractionMode, tuning: RetainTuning, purse: Purse
    ) -> tuple[tuple[Fact, ...], ...]:
        fence = prompt.fence_of(passages)
        question = Prompt(
            prompt.instructions(mode, tuning, passages[0].labels, fence),
            (Message(Role.ASKER, prompt.material(passages, fence)),),
            DESCRIPTIONS if mode is ExtractionMode.VERBATIM else FACTS,
        )
        try:
            return await ask(
                self._model,
                question,
                lambda answer: facts_told(answer, passages, mode, tuning),
                purse,
                divisible=len(passages) > 1,
            )
        except CutOff:
            half = len(passages) // 2
            first = await self._read(passages[:half], mode, tuning, purse)
            return first + await self._read(passages[half:], mode, tuning, purse)


def _groups(passages: Sequence[Passage]) -> Iterator[Sequence[Passage]]:
    """Yield passages in order, as many at once as are asked about together; one with images is alone."""
    begin = size = 0
    for index, passage in enumerate(passages):
        own = len(passage.text.encode())
        full = index - begin == GROUP_PASSAGES or size + own > GROUP_BYTES
        if index > begin and (full or passage.images or passages[index - 1].images):
            yield passages[begin:index]
            begin, size = index, 0
        size += own
    if passages:
        yield passages[begin:]
