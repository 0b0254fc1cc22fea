"""Opens what tells by a credential who calls, as the settings have it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.principal import Authenticator
from recallmesh.core.quota import Quota
from recallmesh.core.time import system_clock
from recallmesh.extra import needing
from recallmesh.identity.authenticator import Credentials
from recallmesh.identity.jwks import open_jwks
from recallmesh.identity.key_file import KeyFile, read_keys
from recallmesh.identity.mesh_key import MeshKeys, check_mesh_key, read_mesh_keys
from recallmesh.identity.settings import AuthSettings, JwtSettings
from recallmesh.identity.watched import LOOK_EVERY_S, open_watched

SECTION = "RECALLMESH_AUTH__"


@asynccontextmanager
async def open_mesh_keys(auth: AuthSettings) -> AsyncIterator[Callable[[], MeshKeys]]:
    """Open the mesh's own keys; none where authentication is off.

    Raises:
        InvalidArgument: it is said twice, or cannot be one.

    """
    given = auth.mesh_key.get_secret_value() if auth.mesh_key is not None else ""
    if auth.mode == "off":
        yield tuple
    elif auth.mesh_key_file is not None:
        if given:
            raise InvalidArgument(
                FieldViolation(f"{SECTION}MESH_KEY", "is said twice: there is …MESH_KEY_FILE as well")
            )
        async with open_watched(auth.mesh_key_file, read_mesh_keys) as watched:
            yield lambda: watched.value
    elif given:
        check_mesh_key(given, f"{SECTION}MESH_KEY")
        yield lambda: (given,)
    else:
        yield tuple


@asynccontextmanager
async def open_authenticator(
    auth: AuthSettings, mesh: Callable[[], MeshKeys], *, public: bool, look_every_s: float = LOOK_EVERY_S
) -> AsyncIterator[Credentials | None]:
    """Open what asks callers who they are; nothing where authentication is off.

    ``public``: there are services for callers from outside the mesh; else the mesh's own processes alone may call.

    Raises:
        InvalidArgument: nobody could call, or a file is wrong.

    """
    if auth.mode == "off":
        yield None
        return
    if public and auth.keys is None and auth.jwt.jwks is None:
        description = (
            "nobody could call: authentication is on, and there is neither a file of keys "
            f"(recallmesh key new --help) nor the keys of an issuer of tokens ({SECTION}JWT__JWKS)"
        )
        raise InvalidArgument(FieldViolation(f"{SECTION}KEYS", description))
    if not public and not mesh():
        description = (
            "nobody could call: authentication is on, and what is served here takes the mesh's own key alone "
            "(recallmesh key new --mesh)"
        )
        raise InvalidArgument(FieldViolation(f"{SECTION}MESH_KEY", description))
    async with AsyncExitStack() as stack:
        keys: Callable[[], KeyFile] = KeyFile
        tokens: Authenticator | None = None
        if public and auth.keys is not None:
            watched = await stack.enter_async_context(open_watched(auth.keys, read_keys, every_s=look_every_s))
            keys = partial(getattr, watched, "value")
        if public and auth.jwt.jwks is not None:
            tokens = await stack.enter_async_context(_open_tokens(auth.jwt, auth.jwt.jwks))
        own = auth.quotas
        quota = Quota(own.calls_per_s, own.retained_bytes_per_minute, own.at_once)
        yield Credentials(mesh=mesh, keys=keys, tokens=tokens, quota=quota, clock=system_clock)


@asynccontextmanager
async def _open_tokens(own: JwtSettings, jwks: str) -> AsyncIterator[Authenticator]:
    with needing("jwt", f"{SECTION}JWT__JWKS", "PyJWT"):
        from recallmesh.identity import pyjwt  # noqa: PLC0415 - of an extra
    if not own.issuer or not own.audience:
        missing = [name for name in ("issuer", "audience") if not getattr(own, name)]
        description = "is required with …JWT__JWKS: without it a token made for somebody else would do"
        raise InvalidArgument(*(FieldViolation(f"{SECTION}JWT__{name.upper()}", description) for name in missing))
    expected = pyjwt.Expected(own.issuer, own.audience, own.tenant_claim, own.rights_claim, own.banks_claim)
    async with open_jwks(jwks, pyjwt.read_jwks) as keys:
        yield pyjwt.Tokens(keys, expected, system_clock)
