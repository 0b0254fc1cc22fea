"""A name server on loopback: one name whose addresses a test changes, as a headless service's change."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

HEADER = 12
"""Bytes before the question."""
ANSWER = 0x8580
"""An answer by who knows best; no error."""
A, IN, TTL_S = 1, 1, 1
WHOLE_NAME = 0xC00C
"""The name of the question, repeated by a pointer to it."""


@dataclass
class Names(asyncio.DatagramProtocol):
    """Answers every question for IPv4 addresses with these, and every other with nothing."""

    addresses: list[str] = field(default_factory=list)
    asked: int = 0
    """How often somebody wanted to know."""

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:
        self._transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, sender: tuple[str, int]) -> None:
        end = data.index(0, HEADER) + 1
        (kind,) = struct.unpack_from(">H", data, end)
        found = self.addresses if kind == A else []
        self.asked += kind == A
        rows = b"".join(
            struct.pack(">HHHIH4B", WHOLE_NAME, A, IN, TTL_S, 4, *map(int, address.split("."))) for address in found
        )
        head = data[:2] + struct.pack(">5H", ANSWER, 1, len(found), 0, 0)
        self._transport.sendto(head + data[HEADER : end + 4] + rows, sender)

    def target(self, port: int) -> str:
        """Return what gRPC calls a service at these addresses and this port."""
        return f"dns://127.0.0.1:{self.port}/keyword.recallmesh.test:{port}"


@asynccontextmanager
async def open_names(*addresses: str) -> AsyncIterator[Names]:
    """Answer on a free port until the context is left."""
    transport, names = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Names([*addresses]), local_addr=("127.0.0.1", 0)
    )
    try:
        yield names
    finally:
        transport.close()
