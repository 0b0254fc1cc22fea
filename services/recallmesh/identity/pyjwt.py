"""Tokens of an issuer (JWT): who has signed them, for whom, and for how long they are good."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import jwt

from recallmesh.core.errors import FieldViolation, InvalidArgument, StoreUnavailable, Unauthenticated
from recallmesh.core.principal import CALLERS_RIGHTS, TENANT, Principal
from recallmesh.core.time import Clock
from recallmesh.identity.authenticator import UNKNOWN, Refusal
from recallmesh.identity.jwks import Keys

ALGORITHMS = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "ES256K", "EdDSA")
)
"""Those of key pairs alone: with a shared secret whoever can check a token could make one; ``none`` signs nothing."""
LEEWAY_S = 30.0
"""How far the issuer's clock and ours may differ."""
TOKEN_CHARS = 8_192
KEPT = 4_096
"""Tokens whose signature was found right and need not be checked again; some 2 MB."""

KeySet = Mapping[str, jwt.PyJWK]
"""An issuer's keys by their ids; a single one without an id is under the empty one."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Who issues the tokens that are good here, for whom, and which claims say what their bearers may do."""

    issuer: str
    audience: str
    tenant_claim: str
    rights_claim: str
    banks_claim: str


def read_jwks(written: bytes) -> KeySet:
    """Read a set of keys; what is not for signatures by key pairs is left out.

    Raises:
        InvalidArgument: it is none, or no key is left.

    """
    try:
        rows = [row for row in json.loads(written)["keys"] if row.get("use", "sig") == "sig"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgument(FieldViolation("jwks", "is no set of keys (RFC 7517)")) from error
    found = {key.key_id or "": key for key in map(_key_of, rows) if key is not None}
    if not found:
        raise InvalidArgument(FieldViolation("jwks", "holds no public key that signatures can be checked by"))
    return found


def _key_of(row: dict[str, Any]) -> jwt.PyJWK | None:
    """Return a key of a set; nothing for one of a kind that is not for us: sets may hold others."""
    try:
        key = jwt.PyJWK(row)
    except jwt.PyJWTError:
        return None
    return key if key.algorithm_name in ALGORITHMS else None


class Tokens:
    """Knows callers by their tokens."""

    def __init__(self, keys: Keys[KeySet], expected: Expected, clock: Clock) -> None:
        """Check tokens by these keys."""
        self._keys = keys
        self._expected = expected
        self._clock = clock
        self._right: dict[bytes, Mapping[str, Any]] = {}
        self._right_by: KeySet | None = None

    async def authenticate(self, credential: str) -> Principal:
        """Return whose token this is."""
        claims = await self._claims(credential)
        now = self._clock()
        expires = _moment(claims, "exp")
        if (expires - now).total_seconds() <= -LEEWAY_S:
            raise Unauthenticated(UNKNOWN) from Refusal("expired")
        if "nbf" in claims and (_moment(claims, "nbf") - now).total_seconds() > LEEWAY_S:
            raise Unauthenticated(UNKNOWN) from Refusal("not good yet")
        return self._principal(claims, expires)

    async def _claims(self, token: str) -> Mapping[str, Any]:
        """Return what a token says whose signature, issuer and audience are right."""
        if len(token) > TOKEN_CHARS:
            raise Unauthenticated(UNKNOWN) from Refusal("too long")
        keys = self._keys.value
        digest = hashlib.sha256(token.encode()).digest()
        if keys is not None and keys is self._right_by and digest in self._right:
            return self._right[digest]
        key = await self._key(token)
        try:
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key,
                # The key says which, never the token: a token that calls a public key a shared secret is forged.
                algorithms=[key.algorithm_name],
                issuer=self._expected.issuer,
                audience=self._expected.audience,
                # By our own clock, and anew with every call.
                options={
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                    "require": ["exp", "iss", "aud"],
                },
            )
        except jwt.PyJWTError as error:
            raise Unauthenticated(UNKNOWN) from Refusal(type(error).__name__)
        self._keep(digest, claims)
        return claims

    async def _key(self, token: str) -> jwt.PyJWK:
        """Return the key that a token names; one that is new is asked for."""
        try:
            named = jwt.get_unverified_header(token).get("kid", "")
        except jwt.PyJWTError:
            raise Unauthenticated(UNKNOWN) from Refusal("no token")
        found = self._named(named)
        if found is None:
            await self._keys.renew()
            found = self._named(named)
        if self._keys.value is None:
            raise StoreUnavailable("the keys of the tokens' issuer cannot be had now")
        if found is None:
            raise Unauthenticated(UNKNOWN) from Refusal("signed by a key that the issuer does not have")
        return found

    def _named(self, name: object) -> jwt.PyJWK | None:
        keys = self._keys.value or {}
        if not name and len(keys) == 1:
            return next(iter(keys.values()))
        return keys.get(name) if isinstance(name, str) and name else None

    def _keep(self, digest: bytes, claims: Mapping[str, Any]) -> None:
        if self._right_by is not self._keys.value or len(self._right) >= KEPT:
            self._right.clear()
            self._right_by = self._keys.value
        self._right[digest] = claims

    def _principal(self, claims: Mapping[str, Any], expires: datetime) -> Principal:
        expected = self._expected
        tenant = claims.get(expected.tenant_claim)
        if not isinstance(tenant, str) or not TENANT.fullmatch(tenant):
            raise Unauthenticated(UNKNOWN) from Refusal(f"no tenant in {expected.tenant_claim!r}")
        said = set(_words(claims, expected.rights_claim))
        rights = frozenset(right for right in CALLERS_RIGHTS if right in said)
        banks = _words(claims, expected.banks_claim) if expected.banks_claim in claims else None
        subject = str(claims.get("sub", ""))[:100]
        name = subject if subject.isprintable() else ""
        return Principal(f"token:{name}", tenant, rights, banks, expires)


def _words(claims: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the words of a claim: of a list, or of a text with spaces, as OAuth writes scopes."""
    said = claims.get(name, ())
    words = said.split() if isinstance(said, str) else said
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise Unauthenticated(UNKNOWN) from Refusal(f"no words in {name!r}")
    return tuple(words)


def _moment(claims: Mapping[str, Any], name: str) -> datetime:
    try:
        return datetime.fromtimestamp(float(claims[name]), UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        raise Unauthenticated(UNKNOWN) from Refusal(f"no time in {name!r}")
