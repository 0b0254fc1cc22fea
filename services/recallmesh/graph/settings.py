"""What can be set about the graph arm."""

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, Field, SecretStr, model_validator


class GraphSettings(BaseModel, extra="forbid", frozen=True):
    """The graph arm: where it runs, where it stores, how far it follows links."""

    address: str | None = None
    """Where the arm is served, as host:port. Absent: in this process."""
    timeout_s: float = Field(default=2.0, gt=0)
    """The most seconds one search may take, over 0."""
    path: Path = Path("graph.db")
    """The file of the embedded store, relative to the data directory."""
    strategy: Literal["link_expansion", "bfs", "mpfp"] = "link_expansion"
    """How a search follows links when the query names no strategy."""
    neighbours: int = Field(default=10, ge=0, le=100)
    """The most memories that one memory is linked to for being alike, in [0, 100]."""
    recent: int = Field(default=50, ge=1, le=1000)
    """The most memories followed per entity and fact type, the most recent ones, in [1, 1000]."""
    hub_share: float = Field(default=0.1, gt=0, le=1)
    """The share of a bank's memories, in (0, 1], over which an entity counts only when the query names it."""
    origins: int = Field(default=10, ge=1, le=100)
    """How many of the best seeds links are followed from, in [1, 100]."""
    reached_share: float = Field(default=0.2, ge=0, le=1)
    """The share of the places, in [0, 1], that seeds leave to what was only reached through links."""
    neo4j_url: str | None = Field(default=None, pattern=r"^(bolt|neo4j)(\+s|\+ssc)?://[^\s/@?#]+/?$")
    """Where a Neo4j server is: ``bolt://neo4j:7687``; ``bolt+s`` or ``neo4j+s`` by TLS. It keeps the graph then, and
    several processes may serve the arm; ``recallmesh migrate`` makes its indexes. Absent: the embedded store."""
    neo4j_user: str = ""
    """Who asks the Neo4j server. Empty: it asks for no credential."""
    neo4j_password: SecretStr = SecretStr("")
    """The password of that user."""
    neo4j_ca: Path | None = None
    """A file of certificates that the Neo4j server's is believed by, with ``bolt+s`` or ``neo4j+s``. Absent: the
    system's."""
    neo4j_database: str = Field(default="neo4j", min_length=1)
    """The database on the Neo4j server, which is for one mesh alone."""

    @model_validator(mode="after")
    def _credential_is_whole(self) -> Self:
        if bool(self.neo4j_user) != bool(self.neo4j_password.get_secret_value()):
            raise ValueError("neo4j_user and neo4j_password go together")
        return self
