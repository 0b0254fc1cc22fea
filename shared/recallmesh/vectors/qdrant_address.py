"""Where a Qdrant server is."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

GRPC_PORT = 6334


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A host and the port of its gRPC interface; ``tls``: the connection is encrypted."""

    host: str
    port: int
    tls: bool

    def __str__(self) -> str:
        """Return ``host:port``."""
        return f"{self.host}:{self.port}"

    @property
    def is_open(self) -> bool:
        """Whether what is sent there, a key with it, can be read on its way."""
        if self.tls or self.host == "localhost":
            return False
        try:
            return not ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return True


def address_of(url: str) -> ServerAddress:
    """Read ``http://host:port`` or ``https://…``; without a port it is that of Qdrant's gRPC interface.

    Raises:
        ValueError: it is no such address.

    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ValueError("is no address such as http://qdrant:6334")
    if parts.username or parts.password:
        raise ValueError("holds a credential: set the key by itself")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return ServerAddress(host, parts.port or GRPC_PORT, parts.scheme == "https")
