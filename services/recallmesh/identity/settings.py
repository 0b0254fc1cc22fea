"""What can be set about who may call."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, SecretStr


class AuthSettings(BaseModel, extra="forbid", frozen=True):
    """Who may call: docs/security.md tells it all."""

    mode: Literal["off", "on"] = "off"
    """``on``: every call bears a credential, an API key or a token. ``off``: nobody is asked, and a process listens on
    loopback addresses alone."""
    keys: Path | None = None
    """The file of API keys' hashes, which ``recallmesh key`` edits; read again when it changes. Absent: no API key is
    known."""
    mesh_key: SecretStr | None = None
    """What the processes of one mesh know each other by, the same for all: at least 32 random characters. Arms, vectors
    and models take it and nothing else. Absent: see the next."""
    mesh_key_file: Path | None = None
    """A file with the mesh's key instead, read again when it changes: the first line is what this process calls with;
    those of further lines it takes as well, so that a key can be changed while the mesh runs."""
