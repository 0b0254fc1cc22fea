"""Ports, and servers, as people write them."""

PORT_MAX = 65_535
"""The largest there is; gRPC takes what is beyond it for another one, modulo 65,536."""
DIGITS = 5
TARGETS = ("dns:", "unix:")
"""gRPC's own ways to name a server (``dns:///name:port``, ``unix:path``); it reads these itself."""


def is_port(text: str) -> bool:
    """Tell whether a text is the number of a port, 0 among them: any free one."""
    return text.isascii() and text.isdecimal() and len(text) <= DIGITS and int(text) <= PORT_MAX


def is_target(text: str) -> bool:
    """Tell whether a text names a server: ``host:port`` or one of gRPC's targets, and no address of the web."""
    host, _, port = text.rpartition(":")
    return text.startswith(TARGETS) or (bool(host) and is_port(port) and "/" not in host)
