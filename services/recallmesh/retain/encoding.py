"""The embedding models that retain writes: the one in use, and another beside it while models are changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from recallmesh.core.arm import Arm, ArmName
from recallmesh.core.encoder import Embedder


@dataclass(frozen=True, slots=True)
class Encoding:
    """An embedding model: who makes its vectors, and the arms that keep or search them."""

    embedder: Embedder
    arms: Mapping[ArmName, Arm] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Written:
    """The model whose vectors answer, and the one that is written beside it as well as it goes."""

    in_use: Encoding
    beside: Encoding | None = None


class Encodings(Protocol):
    """Which models are written now."""

    async def written(self) -> Written:
        """Return them.

        Raises:
            StoreUnavailable: which they are is not known.
            NotReady: this process does not have the one in use.

        """
        ...


@dataclass(frozen=True, slots=True)
class OneEncoding:
    """``Encodings`` where no model is ever changed."""

    encoding: Encoding

    async def written(self) -> Written:
        """Return it."""
        return Written(self.encoding)
