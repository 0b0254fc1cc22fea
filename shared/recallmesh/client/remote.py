"""A mesh elsewhere."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, fields

from recallmesh.client.client import Client
from recallmesh.core.bank import DEFAULT_TENANT
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.port import is_target
from recallmesh.core.tls import Tls
from recallmesh.rpc.admin import RemoteAdmin
from recallmesh.rpc.caller import caller_channel
from recallmesh.rpc.channel import Credentials, open_channel
from recallmesh.rpc.recaller import RemoteRecaller
from recallmesh.rpc.retainer import RemoteRetainer
from recallmesh.rpc.tls import open_tls

MOST_S = 1e9
"""Some thirty years. gRPC counts nanoseconds in 64 bits, and takes what does not fit for a time that is over."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long calls may take at most, retries included, in seconds; all greater than 0 and at most ``MOST_S``.

    A deadline in hand (``core.deadline.within``) shortens them, and the mesh has bounds of its own.
    """

    recall_s: float = 30.0
    retain_s: float = 120.0
    """Of one call; with a language model the mesh extracts facts meanwhile."""
    admin_s: float = 30.0
    stream_s: float = 3600.0
    """Of watches, exports, imports, and each stream of a load; a load opens another."""

    def __post_init__(self) -> None:
        """Refuse what is no time, and what gRPC would take for none.

        Raises:
            InvalidArgument: names those that are not greater than 0 and at most ``MOST_S``.

        """
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        wrong = [name for name, seconds in given.items() if not 0 < seconds <= MOST_S]
        if wrong:
            described = f"must be greater than 0 and at most {MOST_S:g} seconds"
            raise InvalidArgument(*(FieldViolation(f"timeouts.{name}", described) for name in wrong))


DEFAULT_TIMEOUTS = Timeouts()


@asynccontextmanager
async def open_client(
    address: str,
    *,
    key: str = "",
    tenant: str = DEFAULT_TENANT,
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
    tls: Tls | None = None,
    credentials: Credentials | None = None,
) -> AsyncIterator[Client]:
    """Talk to a mesh that offers its public services at one address; connecting happens with the first call.

    ``address`` is ``host:port``, or one of gRPC's targets: ``dns:///name:port`` (calls go round all its addresses),
    ``unix:path``. ``key`` goes with every call as ``authorization: Bearer …``. What reads, and what may be repeated, is
    tried three times while the mesh does not answer. ``tls`` encrypts: ``Tls()`` for a mesh whose certificate is of the
    public web's authorities, ``Tls(ca=Path("ca.pem"))`` for one of its own; its files are read again when they change.
    ``credentials`` are gRPC's, in the place of ``tls``. Without either nothing is encrypted, and the key neither.

    Raises:
        InvalidArgument: the address names no port, or the key or the tenant cannot be sent, or a file of ``tls``
            cannot be read, or is not what it should be.

    """
    if not is_target(address):
        raise InvalidArgument(FieldViolation("address", f"{address!r} is no host:port, such as 127.0.0.1:7070"))
    if not (tenant.isascii() and tenant.isprintable()):
        raise InvalidArgument(FieldViolation("tenant", "must be printable ASCII"))
    if tls is not None and credentials is not None:
        raise InvalidArgument(FieldViolation("credentials", "are given in the place of tls, not beside it"))
    async with AsyncExitStack() as stack:
        live = None if tls is None else await stack.enter_async_context(open_tls(tls))
        plain = await stack.enter_async_context(open_channel(address, credentials=credentials, tls=live))
        channel = caller_channel(plain, key=key, stream_s=timeouts.stream_s)
        yield Client(
            RemoteRecaller(channel, timeout_s=timeouts.recall_s),
            RemoteRetainer(channel, timeout_s=timeouts.retain_s),
            RemoteAdmin(channel, timeout_s=timeouts.admin_s),
            tenant,
        )
