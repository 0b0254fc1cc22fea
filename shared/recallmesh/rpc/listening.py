"""Takes an address to listen on, or says why it cannot be had."""

import errno
import socket

from recallmesh.core.errors import FieldViolation, InvalidArgument

BACKLOG = 1024
"""The most callers that wait to be let in."""


def bound(listen: str, field: str) -> socket.socket:
    """Take ``host:port`` (port 0: any free one) for a server: callers wait from now on. ``field`` is blamed.

    Raises:
        InvalidArgument: it cannot be had; says why.

    """
    host, _, port = listen.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
        family, kind, protocol, _, where = found
        # Without the protocol's number asyncio leaves Nagle's algorithm on, and each answer waits 40 ms for a reader.
        taken = socket.socket(family, kind, protocol)
        try:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(where)
            # Two may bind one address as long as neither listens.
            taken.listen(BACKLOG)
        except OSError:
            taken.close()
            raise
    except (OSError, OverflowError, ValueError) as error:
        raise InvalidArgument(FieldViolation(field, f"{listen} cannot be listened on: {_why(error)}")) from error
    return taken


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return "another process listens there"
    return error.strerror if isinstance(error, OSError) and error.strerror else "there is no such address"
