"""Which embedding model of the mesh answers, and which other one is written beside it while models are changed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Model:
    """An embedding model as the ledger remembers it; the fingerprint is the identity, the rest is for people."""

    fingerprint: str
    name: str = ""
    dimensions: int = 0


@dataclass(frozen=True, slots=True)
class ModelUse:
    """The models that the mesh has.

    Recalls ask the vectors of the one ``in_use``; what is retained is written to it and, as well as it goes, to the one
    ``beside``. ``since`` is when this began to be so.
    """

    in_use: Model
    since: datetime
    beside: Model | None = None

    def is_in_use(self, fingerprint: str) -> bool:
        """Tell whether a model answers."""
        return self.in_use.fingerprint == fingerprint

    def is_beside(self, fingerprint: str) -> bool:
        """Tell whether a model is written beside."""
        return self.beside is not None and self.beside.fingerprint == fingerprint

    def knows(self, fingerprint: str) -> bool:
        """Tell whether a model is one of the two."""
        return self.is_in_use(fingerprint) or self.is_beside(fingerprint)


class ModelLedger(Protocol):
    """What of the ledger says which models there are."""

    async def model_use(self) -> ModelUse | None:
        """Return which model answers; nothing: no change was ever begun, and each process has the one of its settings.

        Raises:
            StoreUnavailable: the ledger does not answer.

        """
        ...

    async def set_model_use(self, before: ModelUse | None, after: ModelUse) -> ModelUse:
        """Put ``after`` in the place of ``before``.

        Raises:
            ConflictingWrite: it is not as it was before; look again.

        """
        ...
