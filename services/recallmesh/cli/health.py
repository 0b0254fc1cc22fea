"""``recallmesh health``: ask a server or a door whether it is ready, as the health check of a container does."""

import argparse
import asyncio
import http.client
import ipaddress
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from urllib.parse import urlsplit

from recallmesh.cli.address import tls_of
from recallmesh.core.errors import FieldViolation, InvalidArgument, MeshError, StoreUnavailable
from recallmesh.core.port import is_port, is_target
from recallmesh.core.tls import Tls
from recallmesh.rpc.channel import STAYING, open_channel
from recallmesh.rpc.health import check_health
from recallmesh.rpc.tls import client_context, open_tls
from recallmesh.settings import ServeSettings, load_settings

PROCESS = ""
"""The health name of a whole process."""
DOORS: Mapping[str, Callable[..., http.client.HTTPConnection]] = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}
LOOPBACK = {4: "127.0.0.1", 6: "[::1]"}


async def run(words: argparse.Namespace) -> int:
    """Ask, and say what was answered; what is not so is an error."""
    if words.timeout <= 0:
        raise InvalidArgument(FieldViolation("--timeout", f"{words.timeout} s are no time to wait"))
    settings = load_settings()
    tls = tls_of(words) or settings.tls.calling
    address = words.address
    if not address:
        address = own_address(settings.serve)
        tls = tls if settings.tls.serving and not settings.serve.health_port else None
    if "://" in address and not is_target(address):
        await asyncio.to_thread(ask_door, address, live=words.live, timeout_s=words.timeout, tls=tls)
    else:
        await ask_server(address, live=words.live, timeout_s=words.timeout, tls=tls)
    print(f"{address} {'lives' if words.live else 'is ready'}")
    return 0


def own_address(own: ServeSettings) -> str:
    """Return the address by which this machine reaches what listens there, health's own if it has one.

    Every address is also loopback's.

    Raises:
        InvalidArgument: the port is 0, so that nobody knows where it listens.

    """
    host, _, port = own.listen.rpartition(":")
    port = str(own.health_port or port)
    listen = f"{host}:{port}"
    if port == "0":
        raise InvalidArgument(
            FieldViolation("ADDRESS", f"a server on {listen} takes any free port: name the one it has")
        )
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return listen
    return f"{LOOPBACK[address.version]}:{port}" if address.is_unspecified else listen


async def ask_server(address: str, *, live: bool, timeout_s: float, tls: Tls | None = None) -> None:
    """Return if a server is ready, or with ``live`` if it lives.

    Raises:
        InvalidArgument: the address is none.
        StoreUnavailable: it is not, or does not answer.

    """
    if not is_target(address):
        raise InvalidArgument(FieldViolation("ADDRESS", f"{address!r} is no host:port, such as 127.0.0.1:7070"))
    try:
        async with AsyncExitStack() as stack:
            opened = None if tls is None else await stack.enter_async_context(open_tls(tls))
            channel = await stack.enter_async_context(open_channel(address, tls=opened))
            await check_health(channel, STAYING if live else PROCESS, timeout_s=timeout_s)
    except MeshError as error:
        raise StoreUnavailable(f"{address}: {error.message}") from error


def ask_door(address: str, *, live: bool, timeout_s: float, tls: Tls | None = None) -> None:
    """Return if a door is ready, or with ``live`` if it lives.

    Raises:
        InvalidArgument: the address is none.
        StoreUnavailable: it is not, or does not answer.

    """
    door = urlsplit(address)
    opening = DOORS.get(door.scheme)
    if door.scheme == "https" and tls is not None:
        opening = partial(http.client.HTTPSConnection, context=client_context(tls))
    port = door.netloc.rpartition(":")[2]
    if opening is None or not door.hostname or (":" in door.netloc and not is_port(port)) or door.path not in ("", "/"):
        raise InvalidArgument(FieldViolation("ADDRESS", f"{address!r} is no door, such as http://127.0.0.1:7080"))
    connection = opening(door.hostname, door.port, timeout=timeout_s)
    try:
        connection.request("GET", "/livez" if live else "/readyz")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise StoreUnavailable(f"{address}: the door does not answer") from error
    finally:
        connection.close()
    if status != http.HTTPStatus.OK:
        raise StoreUnavailable(f"{address}: the door is not ready")
