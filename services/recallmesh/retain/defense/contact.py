"""Mail and network addresses."""

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address

from recallmesh.core.defense import DefenseDetector, Severity
from recallmesh.retain.defense.finding import Finding, Kind

EMAIL = Kind("email", DefenseDetector.PERSONAL_DATA, Severity.MEDIUM)
IP_ADDRESS = Kind("IP address", DefenseDetector.PERSONAL_DATA, Severity.LOW)

# Each begins where its run of characters begins, so that no run is gone through more than once.
_EMAIL = re.compile(
    r"(?<![\w.+%-])[\w][\w.+%'-]{0,63}(?:@|＠|\(at\)|\[at\])(?:[^\W_](?:[\w-]{0,62})\.){1,8}[^\W\d_]{2,24}(?![\w-])"
)
_IPV4 = re.compile(r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?=[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{3,39}(?:\d{1,3}(?:\.\d{1,3}){3})?(?![\w:])")
_VERSION = re.compile(r"(?:\bv|version|release|section|chapter|§)\s*$", re.IGNORECASE)
_BEFORE = 12


def scan_emails(text: str) -> Iterator[Finding]:
    """Find mail addresses."""
    if "@" not in text and "＠" not in text and "at" not in text:
        return
    for found in _EMAIL.finditer(text):
        yield Finding(found.start(), found.end(), EMAIL)


def scan_ip_addresses(text: str) -> Iterator[Finding]:
    """Find IP addresses of the public internet: those lead to somebody; 10.0.0.1 and 127.0.0.1 do not."""
    for pattern in (_IPV4, _IPV6):
        for found in pattern.finditer(text):
            address = _address(found[0])
            version = _VERSION.search(text, max(0, found.start() - _BEFORE), found.start())
            if address is not None and address.is_global and not version:
                yield Finding(found.start(), found.end(), IP_ADDRESS)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except (AddressValueError, ValueError):
        return None
