"""Until when certificates hold, read from their bytes: all that the mesh asks of X.509 beyond what TLS does itself."""

import base64
import binascii
import re
from collections.abc import Iterator
from datetime import UTC, datetime

PEM = re.compile(rb"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
SEQUENCE = 0x30
VERSION = 0xA0
"""The tag of the optional version, which stands before the serial number (RFC 5280, 4.1)."""
UTC_TIME = 0x17
LONG = 0x80
"""A first octet of a length from here on says how many octets the length has (X.690, 8.1.3)."""


def expiries(pem: bytes) -> tuple[datetime, ...]:
    """Return the last moment of each certificate in a PEM file, in their order.

    Raises:
        ValueError: one of them is none.

    """
    try:
        return tuple(
            _not_after(base64.b64decode(b"".join(found[1].split()), validate=True)) for found in PEM.finditer(pem)
        )
    except (binascii.Error, IndexError) as error:
        raise ValueError("is no certificate") from error


def _not_after(der: bytes) -> datetime:
    """Walk to the validity: after version, serial number, algorithm and issuer."""
    signed = next(_parts(next(_parts(der, SEQUENCE))[1], SEQUENCE))[1]
    fields = [(tag, value) for tag, value in _parts(signed) if tag != VERSION]
    _, (tag, value) = _parts(fields[3][1])
    text = value.decode("ascii")
    if tag == UTC_TIME:
        # Two digits of the year; 50 and more are of the last century (RFC 5280, 4.1.2.5.1).
        text = f"{'19' if text[:2] >= '50' else '20'}{text}"
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


def _parts(der: bytes, wanted: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield tag and content of what stands one after the other; all of one kind, if that is ``wanted``."""
    at = 0
    while at < len(der):
        tag, size, begin = der[at], der[at + 1], at + 2
        if size >= LONG:
            begin += size - LONG
            size = int.from_bytes(der[at + 2 : begin])
        at = begin + size
        if at > len(der) or (wanted is not None and tag != wanted):
            raise ValueError("is no certificate")
        yield tag, der[begin:at]
        if wanted is not None:
            return
