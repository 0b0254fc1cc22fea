"""What can be set about who may call."""

import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, SecretStr, field_validator

ADDRESS = re.compile(r"https://[^\s/@?#]+(/[^\s@]*)?")


class JwtSettings(BaseModel, extra="forbid", frozen=True):
    """Callers' tokens (JWT) of an issuer, signed by a key pair; needs the extra ``jwt``."""

    jwks: str | None = None
    """The issuer's public keys: the path of a file, which is read again when it changes, or an https:// address, which
    is asked anew every ten minutes and for a key that is not known yet. Absent: no token is known."""
    issuer: str | None = None
    """What a token's ``iss`` has to be; required with ``jwks``."""
    audience: str | None = None
    """What a token's ``aud`` has to be, or to hold; required with ``jwks``."""
    tenant_claim: str = "tenant"
    """The claim that says whose banks a token is for; a token without it is refused."""
    rights_claim: str = "rights"
    """The claim that says what a token is good for: a list, or a text with spaces such as ``scope``. Its words
    ``recall``, ``retain`` and ``admin`` count, others do not."""
    banks_claim: str = "banks"
    """The claim that says which banks of the tenant a token is for, as patterns (``*`` stands for anything): a list, or
    a text with spaces. A token without it is for all."""

    @field_validator("jwks")
    @classmethod
    def _without_credential(cls, jwks: str | None) -> str | None:
        if jwks is not None and "://" in jwks and not ADDRESS.fullmatch(jwks):
            raise ValueError("must be the path of a file, or an address that begins https:// and holds no credential")
        return jwks


class QuotaSettings(BaseModel, extra="forbid", frozen=True):
    """What each tenant may ask of one process, while authentication is on: of three of a kind it may ask thrice that.

    The file of keys may say otherwise for single tenants.
    """

    calls_per_s: float | None = Field(default=None, gt=0)
    """The most calls a second, streams counted as they begin; five seconds' worth may come at once. Absent: no
    bound."""
    retained_bytes_per_minute: float | None = Field(default=None, gt=0)
    """The most bytes a minute of messages that write to banks (retain, import). What comes by a stream waits, other
    calls are refused. Absent: no bound."""
    at_once: int | None = Field(default=None, gt=0)
    """The most calls in hand and, apart from them, open streams. Absent: no bound but the next."""
    share: float = Field(default=0.8, gt=0, le=1)
    """The part of ``serve.in_flight``, and of ``serve.streams``, that one tenant may have: the rest is for others. 1:
    all. The file of keys cannot change it."""


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
    jwt: JwtSettings = Field(default_factory=JwtSettings)
    """Callers' tokens of an issuer."""
    quotas: QuotaSettings = Field(default_factory=QuotaSettings)
    """What each tenant may ask."""
