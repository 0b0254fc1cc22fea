"""What can be set about the semantic arm and the vectors it owns."""

from pathlib import Path

from pydantic import BaseModel, Field, SecretStr, field_validator

from recallmesh.vectors.embedded import INDEX_FROM, RESIDENT_MEMORIES
from recallmesh.vectors.qdrant_address import address_of


class SemanticSettings(BaseModel, extra="forbid", frozen=True):
    """The semantic arm: where it is, and where the vectors are."""

    address: str | None = None
    """Where the arm is served, as ``host:port``; its vectors are asked there too, unless a Qdrant server has them.
    Absent: in this process."""
    timeout_s: float = Field(default=2.0, gt=0)
    """Seconds that a search may take."""
    path: Path = Path("vectors")
    """The directory of the embedded vector index, relative to the data directory. One process at a time opens it."""
    index_from: int = Field(default=INDEX_FROM, ge=1000)
    """Memories without an HNSW graph from which one is built; fewer are compared exactly, one by one. A Qdrant
    server is told when its collection is made."""
    resident_memories: int = Field(default=RESIDENT_MEMORIES, ge=0)
    """Memories whose vectors the embedded index also holds in memory, in all banks together, so that they are searched
    there; about 3.4 KB each. A bank of more, or one without room, is searched on disk. 0: none."""
    qdrant_url: str | None = None
    """Where a Qdrant server's gRPC interface is: ``http://qdrant:6334``, or ``https://…``. It has the vectors then, and
    the semantic, temporal and graph arms each ask it themselves. Absent: the embedded index."""
    qdrant_api_key: SecretStr = SecretStr("")
    """The key that the Qdrant server asks for. Empty: none."""
    qdrant_prefix: str = Field(default="recallmesh", pattern="^[A-Za-z0-9_.-]{1,64}$")
    """What the names of our collections begin with, so that several meshes may share a Qdrant server."""

    @field_validator("qdrant_url")
    @classmethod
    def _readable(cls, url: str | None) -> str | None:
        if url is not None:
            address_of(url)
        return url
