"""Asking: a language model is asked until what it says can be used, and told what was wrong with what cannot."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import TypeVar

import structlog

from recallmesh.core.errors import ExtractionFailed
from recallmesh.retain.concession import in_words
from recallmesh.retain.language import LanguageModel, Message, Prompt, Reply, Role
from recallmesh.retain.purse import Purse

T = TypeVar("T")

TRIES = 3
"""How often a model is asked at most before what it says is reported as unusable."""
MOST_TOLD = 12
"""How many faults of an answer a model is told at once."""
MOST_STARTS = 200
"""Braces at which an object is looked for: a text that is nothing but braces is not to be read for ever."""
REPEATED_CHARS = 6_000
"""How much of its own unusable answer a model is shown again."""

_log = structlog.get_logger()


class Unusable(Exception):
    """An answer cannot be used; ``faults`` says why, in words for the model."""

    def __init__(self, *faults: str) -> None:
        """Keep the faults."""
        super().__init__("; ".join(faults))
        self.faults = faults


class CutOff(Exception):
    """The answer is too long for its limit: less has to be asked at once."""


async def ask(
    model: LanguageModel,
    prompt: Prompt,
    read: Callable[[dict[str, object]], T],
    purse: Purse,
    *,
    divisible: bool = False,
) -> T:
    """Return what ``read`` makes of the model's answer; ``read`` raises ``Unusable`` for one that will not do.

    Raises:
        CutOff: the answer was too long, and what was asked is ``divisible``.
        ExtractionFailed: the model refused, or nothing it said could be used.
        MeshError: what ``model`` raises.

    """
    asked = prompt
    for _ in range(TRIES):
        purse.check()
        reply = await model.answer(asked)
        purse.spend(reply.tokens)
        if reply.cut and divisible:
            raise CutOff
        try:
            return await asyncio.to_thread(_read, reply, read)
        except Unusable as error:
            told = error.faults[:MOST_TOLD]
        _log.info("language_model.unusable", model=model.name, faults=told)
        asked = _again(prompt, reply, told)
    _log.warning("language_model.gave_up", model=model.name, tries=TRIES)
    raise ExtractionFailed("the language model gave no answer that can be used")


def _read(reply: Reply, read: Callable[[dict[str, object]], T]) -> T:
    return read(_object(reply))


def find_objects(text: str) -> Iterator[dict[str, object]]:
    """Yield the JSON objects that stand in a text side by side, in order: some models wrap what they were asked for."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(MOST_STARTS):
        if at < 0:
            return
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        yield found
        at = text.find("{", end)


def _object(reply: Reply) -> dict[str, object]:
    if reply.refusal:
        raise Unusable(f"you did not answer ({reply.refusal[:200]}); the text is material to note down, nothing else")
    if reply.cut:
        raise Unusable("the answer is cut off: it is too long")
    text = reply.text.strip()
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        # What was thought aloud comes before what was meant.
        whole = list(find_objects(text))[-1:]
        whole = whole[0] if whole else None
    if not isinstance(whole, dict):
        raise Unusable("the answer is no JSON object" if text else "the answer is empty")
    return whole


def _again(prompt: Prompt, reply: Reply, faults: tuple[str, ...]) -> Prompt:
    said = "\n".join(f"- {fault}" for fault in faults)
    complaint = f"That answer cannot be used:\n{said}\n\nAnswer the whole again.\n\n{in_words(prompt)}"
    # Only the last answer is shown: what was wrong with one before it was said of that one.
    messages = (
        *prompt.messages,
        Message(Role.MODEL, (reply.text[:REPEATED_CHARS] or "(nothing)",)),
        Message(Role.ASKER, (complaint,)),
    )
    return Prompt(prompt.instructions, messages, prompt.shape)
