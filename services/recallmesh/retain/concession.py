"""Concessions: what of the protocol an endpoint turned out not to know, and what is asked instead."""

import json
from enum import IntEnum

from recallmesh.retain.language import Prompt

_SHAPE_WORDS = ("response_format", "json_schema", "json_object", "structured", "schema", "grammar", "guided")
_LIMIT_WORDS = ("max_completion_tokens", "max_tokens")


class Form(IntEnum):
    """How the shape of an answer is asked for, best last."""

    WORDS = 0
    """In the instructions alone."""
    JSON = 1
    """As any JSON, and in the instructions."""
    SCHEMA = 2
    """By the schema, which the endpoint enforces."""


class Concessions:
    """Asks for the best first, and remembers what was refused: ``asked`` is how it asks now."""

    def __init__(self, reply_tokens: int) -> None:
        """Let a reply have this many tokens."""
        self._reply_tokens = reply_tokens
        self.asked = (Form.SCHEMA, _LIMIT_WORDS[0], True)

    def concede(self, refusal: str) -> bool:
        """Give up what a refusal seems to be about; tells whether there was anything to give up."""
        form, limit, steady = self.asked
        said = refusal.casefold()
        if limit == _LIMIT_WORDS[0] and limit in said:
            self.asked = (form, _LIMIT_WORDS[1], steady)
        elif steady and "temperature" in said:
            self.asked = (form, limit, False)
        elif form > Form.WORDS and any(word in said for word in _SHAPE_WORDS):
            self.asked = (Form(form - 1), limit, steady)
        else:
            return False
        return True

    def parameters(self, prompt: Prompt) -> dict[str, object]:
        """Return what is asked besides the messages."""
        form, limit, steady = self.asked
        asked: dict[str, object] = {limit: self._reply_tokens}
        if steady:
            # The same text should give the same facts, as far as a model can.
            asked["temperature"] = 0
        if form is Form.JSON:
            asked["response_format"] = {"type": "json_object"}
        elif form is Form.SCHEMA:
            shape = {"name": prompt.shape.name, "schema": prompt.shape.schema, "strict": True}
            asked["response_format"] = {"type": "json_schema", "json_schema": shape}
        return asked

    def instructions(self, prompt: Prompt) -> str:
        """Return the instructions, with the schema where the endpoint does not enforce it."""
        if self.asked[0] is Form.SCHEMA:
            return prompt.instructions
        return f"{prompt.instructions}\n\n{in_words(prompt)}"


def in_words(prompt: Prompt) -> str:
    """Say in words what shape the answer must have."""
    schema = json.dumps(prompt.shape.schema, ensure_ascii=False)
    return f"Answer with one JSON object and nothing else. It must fit this JSON Schema:\n{schema}"
