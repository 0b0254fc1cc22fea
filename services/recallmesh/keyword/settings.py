"""What can be set about the keyword arm."""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, Field, SecretStr, model_validator

from recallmesh.keyword.defaults import RANKING, RESIDENT_MEMORIES


class KeywordSettings(BaseModel, extra="forbid", frozen=True):
    """The keyword arm: where it is, where it keeps its words, and how it ranks."""

    address: str | None = None
    """Where the arm is served, as ``host:port``. Absent: in this process."""
    timeout_s: float = Field(default=2.0, gt=0)
    """Seconds that a search may take."""
    path: Path = Path("keyword.db")
    """The file of the embedded store, relative to the data directory."""
    language: str = "english"
    """Whose stems and function words to use for a text whose own language cannot be told, and whose month names, by
    Snowball's name (``english``, ``german``, …); any other word: no stemming. A change analyses the store anew."""
    k1: float = Field(default=RANKING.k1, ge=0, le=10)
    """BM25's k1: how much a word's second occurrence adds."""
    b: float = Field(default=RANKING.b, ge=0, le=1)
    """BM25's b: how much a long memory's words count less, in [0, 1]. Names, labels and dates have none."""
    function_words: float = Field(default=RANKING.function_words, ge=0, le=1)
    """What "the" and "when" count beside other words, in [0, 1]."""
    name_weight: float = Field(default=RANKING.names, ge=0, le=10)
    """What a word of the names of a memory's entities counts against one of its text; 0: not searched."""
    label_weight: float = Field(default=RANKING.labels, ge=0, le=10)
    """What a word of a memory's tags counts against one of its text; 0: not searched."""
    date_weight: float = Field(default=RANKING.dates, ge=0, le=10)
    """What a word of a memory's own date counts against one of its text; 0: not searched."""
    resident_memories: int = Field(default=RESIDENT_MEMORIES, ge=1)
    """Memories whose words are held in memory by the embedded store; about 0.5 KB each, more in small banks."""
    opensearch_url: str | None = Field(default=None, pattern=r"^https?://[^\s/@?#]+/?$")
    """Where an OpenSearch server is: ``https://opensearch:9200``. It keeps the words then, and several processes may
    serve the arm; ``recallmesh migrate`` makes its index. A change of language, k1, b or a weight is another index.
    Absent: the embedded store."""
    opensearch_user: str = ""
    """Who asks the OpenSearch server. Empty: it asks for no credential."""
    opensearch_password: SecretStr = SecretStr("")
    """The password of that user."""
    opensearch_ca: Path | None = None
    """A file or folder of certificates that the OpenSearch server's is believed by. Absent: the system's."""
    opensearch_prefix: str = Field(default="recallmesh", pattern=r"^[a-z0-9][a-z0-9_.-]{0,63}$")
    """What the names of our indexes begin with, so that several meshes may share an OpenSearch server."""

    @model_validator(mode="after")
    def _credential_is_whole(self) -> Self:
        if bool(self.opensearch_user) != bool(self.opensearch_password.get_secret_value()):
            raise ValueError("opensearch_user and opensearch_password go together")
        return self
