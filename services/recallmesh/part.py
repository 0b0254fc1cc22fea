"""The parts of the mesh, by name, and what of their settings the composition root asks."""

from enum import StrEnum
from typing import Protocol

from recallmesh.core.arm import ArmName


class Part(StrEnum):
    """The services of the mesh; any set of them can run in one process."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    GRAPH = "graph"
    TEMPORAL = "temporal"
    RECALL = "recall"
    RERANKER = "reranker"
    EMBEDDER = "embedder"
    RETAIN = "retain"
    BANK = "bank"


ALL_PARTS = frozenset(Part)
MODEL_ARMS = frozenset({ArmName.SEMANTIC, ArmName.GRAPH, ArmName.TEMPORAL})
"""The arms that search by vectors: there is one for each embedding model."""
PUBLIC = (Part.RECALL, Part.RETAIN, Part.BANK)
"""The parts whose services are for callers from outside the mesh."""


class Placed(Protocol):
    """The settings of a part: where it runs, if not here, and how long a call may take."""

    @property
    def address(self) -> str | None:
        """Where the part runs; absent: in this process."""
        ...

    @property
    def timeout_s(self) -> float:
        """The most seconds a call may take."""
        ...
