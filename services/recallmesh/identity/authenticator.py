"""Tells by a credential who calls: a process of the mesh, the owner of an API key, or of a token."""

from collections.abc import Callable

from recallmesh.core.errors import Unauthenticated
from recallmesh.core.principal import Authenticator, Principal, Right
from recallmesh.core.quota import Quota
from recallmesh.core.time import Clock
from recallmesh.identity.api_key import PREFIX, hash_of, id_in, is_of
from recallmesh.identity.key_file import KeyFile
from recallmesh.identity.mesh_key import MeshKeys, is_among

MESH = Principal("mesh", None, frozenset(Right))
"""A process of the mesh: it may do everything, for the tenant that it names."""
NOBODY = hash_of("nobody's")
"""What a key is held against whose id nobody has, so that it takes as long as one that somebody has."""
UNKNOWN = "the credential is not known, or not good any more"
"""All that who is refused learns."""


class Refusal(Exception):
    """Why a credential was refused: for the log of those who run the mesh, and for nobody else."""


class Credentials:
    """Knows the mesh's own keys, those of a file, and tokens, if somebody reads them."""

    def __init__(
        self,
        *,
        mesh: Callable[[], MeshKeys],
        keys: Callable[[], KeyFile],
        tokens: Authenticator | None,
        quota: Quota,
        clock: Clock,
    ) -> None:
        """Ask what is good now with every call: files change. ``quota`` is of tenants that the file does not name."""
        self._mesh = mesh
        self._keys = keys
        self._tokens = tokens
        self._quota = quota
        self._clock = clock

    async def authenticate(self, credential: str) -> Principal:
        """Return whose credential this is."""
        if credential.startswith(PREFIX):
            return self._by_key(credential)
        if is_among(credential, self._mesh()):
            return MESH
        if self._tokens is None:
            raise Unauthenticated(UNKNOWN) from Refusal("no key of the mesh, and no API key")
        return await self._tokens.authenticate(credential)

    def quota_of(self, tenant: str) -> Quota:
        """Return what a tenant may ask."""
        return self._keys().quotas.get(tenant, self._quota)

    def _by_key(self, key: str) -> Principal:
        row = self._keys().rows.get(id_in(key))
        matches = is_of(key, row.hash if row is not None else NOBODY)
        if row is None or not matches:
            raise Unauthenticated(UNKNOWN) from Refusal("no API key that is known")
        if not row.is_good(self._clock()):
            raise Unauthenticated(UNKNOWN) from Refusal(
                f"the key {row.id} is {'revoked' if row.revoked else 'expired'}"
            )
        return row.principal
