"""``recallmesh health``: ask a server or a door whether it is ready, as the health check of a container does."""

import argparse
import asyncio
import http.client
import ipaddress
from urllib.parse import urlsplit

from recallmesh.core.errors import FieldViolation, InvalidArgument, MeshError, StoreUnavailable
from recallmesh.core.port import is_port, is_target
from recallmesh.rpc.channel import STAYING, open_channel
from recallmesh.rpc.health import check_health
from recallmesh.settings import load_settings

PROCESS = ""
"""The health name of a whole process."""
DOORS = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
LOOPBACK = {4: "127.0.0.1", 6: "[::1]"}


async def run(words: argparse.Namespace) -> int:
    """Ask, and say what was answered; what is not so is an error."""
    if words.timeout <= 0:
        raise InvalidArgument(FieldViolation("--timeout", f"{words.timeout} s are no time to wait"))
    address = words.address or own_address(load_settings().serve.listen)
    if "://" in address:
        await asyncio.to_thread(ask_door, address, live=words.live, timeout_s=words.timeout)
    else:
        await ask_server(address, live=words.live, timeout_s=words.timeout)
    print(f"{address} {'lives' if words.live else 'is ready'}")
    return 0


def own_address(listen: str) -> str:
    """Return the address by which this machine reaches what listens there: every address is also loopback's.

    Raises:
        InvalidArgument: the port is 0, so that nobody knows where it listens.

    """
    host, _, port = listen.rpartition(":")
    if port == "0":
        raise InvalidArgument(
            FieldViolation("ADDRESS", f"a server on {listen} takes any free port: name the one it has")
        )
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return listen
    return f"{LOOPBACK[address.version]}:{port}" if address.is_unspecified else listen


async def ask_server(address: str, *, live: bool, timeout_s: float) -> None:
    """Return if a server is ready, or with ``live`` if it lives.

    Raises:
        InvalidArgument: the address is none.
        StoreUnavailable: it is not, or does not answer.

    """
    if not is_target(address):
        raise InvalidArgument(FieldViolation("ADDRESS", f"{address!r} is no host:port, such as 127.0.0.1:7070"))
    try:
        async with open_channel(address) as channel:
            await check_health(channel, STAYING if live else PROCESS, timeout_s=timeout_s)
    except MeshError as error:
        raise StoreUnavailable(f"{address}: {error.message}") from error


def ask_door(address: str, *, live: bool, timeout_s: float) -> None:
    """Return if a door is ready, or with ``live`` if it lives.

    Raises:
        InvalidArgument: the address is none.
        StoreUnavailable: it is not, or does not answer.

    """
    door = urlsplit(address)
    opening = DOORS.get(door.scheme)
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
