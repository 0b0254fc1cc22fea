"""Ports as people write them."""

PORT_MAX = 65_535
"""The largest there is; gRPC takes what is beyond it for another one, modulo 65,536."""
DIGITS = 5


def is_port(text: str) -> bool:
    """Tell whether a text is the number of a port, 0 among them: any free one."""
    return text.isascii() and text.isdecimal() and len(text) <= DIGITS and int(text) <= PORT_MAX
