"""What a tool is: how a model sees it, and what it does."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from recallmesh.core.admin import Admin
from recallmesh.core.bank import BankRef
from recallmesh.core.recall import Recaller
from recallmesh.core.retain import Retainer

Progress = Callable[[float, float, str], Awaitable[None]]
"""Tells who waits how far the work is: steps done, of how many, and what comes next in words."""


class Asked(BaseModel):
    """The arguments of a tool; a name that is none of them is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Told(BaseModel):
    """What a tool answers, for programmes, and for models whose agent shows them this in place of the text.

    What is empty is left out, but for what every answer has.
    """

    model_config = ConfigDict(frozen=True)

    notes: list[str]
    """What to know before relying on the answer."""


A_contra = TypeVar("A_contra", bound=Asked, contravariant=True)


@dataclass(frozen=True, slots=True)
class Ports:
    """What the tools work on."""

    recaller: Recaller
    retainer: Retainer
    admin: Admin


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer twice: as text that a model reads, and as data of the tool's output schema."""

    text: str
    data: Told

    def plain(self) -> dict[str, Any]:
        """Return the data as JSON's own types, without what is empty or as it is by default."""
        return self.data.model_dump(mode="json", exclude_defaults=True)


@dataclass(frozen=True, slots=True)
class Hints:
    """What an agent may take for granted when it decides whether to ask its user first."""

    read_only: bool = False
    """It changes nothing."""
    destructive: bool = False
    """It may take something away; else it only adds."""
    idempotent: bool = False
    """The same call again changes nothing more."""


class Tool(Generic[A_contra]):
    """One thing that an agent can do with a bank.

    ``name`` is what it is called by, ``title`` what people see, ``about`` what tells a model when to use it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    hints: ClassVar[Hints]
    asked: ClassVar[type[Asked]]
    told: ClassVar[type[Told]]

    async def run(self, ports: Ports, bank: BankRef, asked: A_contra, progress: Progress | None) -> Reply:
        """Do it; ``progress`` is absent where nobody asked to be told.

        Raises:
            MeshError: what the mesh raises; fields are named as they are in the tool's arguments.

        """
        raise NotImplementedError
