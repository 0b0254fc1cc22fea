"""The language model as a port: instructions and material in, one JSON object in text out."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from recallmesh.core.retain import ContentBlock


class Role(StrEnum):
    """Whose message it is."""

    ASKER = "asker"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Message:
    """What one side said, in words and images."""

    role: Role
    parts: tuple[ContentBlock, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """What an answer must look like: a JSON Schema of an object, under a name of letters, digits and underscores."""

    name: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked: how to answer, the conversation so far (the last word is the asker's), and the shape.

    Only ``instructions`` is ours; the messages may hold anybody's words, as material.
    """

    instructions: str
    messages: tuple[Message, ...]
    shape: Shape


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said.

    ``text`` should be the JSON object, and may be anything. ``refusal`` is why it would not answer, empty if it did.
    ``cut`` tells that the answer ended because it became too long. ``tokens`` is what asking and answering cost.
    """

    text: str
    refusal: str = ""
    cut: bool = False
    tokens: int = 0


class LanguageModel(Protocol):
    """Answers prompts; how well is for the asker to check."""

    @property
    def name(self) -> str:
        """Name the model as its endpoint knows it."""
        ...

    @property
    def vision(self) -> bool:
        """Tell whether it may be sent images."""
        ...

    async def answer(self, prompt: Prompt) -> Reply:
        """Return what the model says; failures in passing are tried again while there is time.

        Raises:
            StoreUnavailable: it does not answer, or not in time, or what came is no answer of a model.
            Overloaded: it answers too many already; says when to come again.
            NotReady: it refuses us or the request for good: the credential, the model's name, the size.

        """
        ...
