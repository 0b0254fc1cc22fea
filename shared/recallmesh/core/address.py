"""Where the mesh may post: addresses that are on the public internet, and URLs that do not hide another kind."""

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from recallmesh.core.errors import FieldViolation
from recallmesh.core.limits import WEBHOOK_URL_BYTES
from recallmesh.core.text import name_violations

NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
"""RFC 6052 and RFC 8215: behind their last four bytes is an IPv4 address."""
COMPATIBLE = IPv6Network("::/96")
"""RFC 4291's "IPv4-compatible" addresses, given up long ago but still routed by some."""
PROTOCOL = IPv4Network("192.0.0.0/24")
"""RFC 6890's protocol assignments, which ``is_global`` of some Pythons lets pass in part."""
PRINTABLE = re.compile(r"[!-~]*")
IPV4_BITS = 0xFFFF_FFFF


def is_public(address: str) -> bool:
    """Tell whether an IP address is one of the public internet; one that leads to another is what it leads to."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(_is_global(one) for one in tuple(_behind(found)) or (found,))


def url_violations(field: str, url: str, *, http: bool, private: bool) -> Iterator[FieldViolation]:
    """Yield what is wrong with a URL to post to; what a name resolves to is known only when it is posted to."""
    faults = [*name_violations(field, url, WEBHOOK_URL_BYTES)]
    if faults:
        yield from faults
        return
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        yield FieldViolation(field, "is no URL")
        return
    if parts.scheme not in ("https", "http") or not host or port == 0:
        yield FieldViolation(field, "is no URL such as https://example.com/events")
        return
    if parts.scheme == "http" and not http:
        yield FieldViolation(field, "must begin with https://: the service does not allow http")
    if parts.username is not None or parts.password is not None:
        yield FieldViolation(field, "holds a user or a password: posts are signed instead")
    if parts.fragment or not PRINTABLE.fullmatch(url):
        yield FieldViolation(field, "holds a fragment, a space or a character that URLs write with %")
    if not private and _is_private_literal(host):
        yield FieldViolation(field, "names a private address, which the service does not allow")


def _is_private_literal(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return host.rstrip(".").rpartition(".")[2].lower() in ("localhost", "local", "internal")
    return not is_public(host)


def _is_global(address: IPv4Address | IPv6Address) -> bool:
    if address.is_multicast or address.is_reserved or address in PROTOCOL:
        return False
    return address.is_global and not (isinstance(address, IPv6Address) and address.is_site_local)


def _behind(address: IPv4Address | IPv6Address) -> Iterator[IPv4Address]:
    """Yield the IPv4 addresses that an IPv6 address leads to."""
    if isinstance(address, IPv4Address):
        return
    if address.ipv4_mapped:
        yield address.ipv4_mapped
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo
    if any(address in network for network in NAT64) or (address in COMPATIBLE and int(address) > 1):
        yield IPv4Address(int(address) & IPV4_BITS)
