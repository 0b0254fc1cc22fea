"""What can be set about the semantic arm and the vectors it owns."""

from pathlib import Path

from pydantic import BaseModel, Field

from recallmesh.vectors.embedded import INDEX_FROM


class SemanticSettings(BaseModel, extra="forbid", frozen=True):
    """The semantic arm: where it is, and where the vectors are."""

    address: str | None = None
    """Where the arm is served, as ``host:port``; its vectors are asked there too. Absent: in this process."""
    timeout_s: float = Field(default=2.0, gt=0)
    """Seconds that a search may take."""
    path: Path = Path("vectors")
    """The directory of the embedded vector index, relative to the data directory. One process at a time opens it."""
    index_from: int = Field(default=INDEX_FROM, ge=1000)
    """Memories without an HNSW graph from which one is built; fewer are compared exactly, one by one."""
