"""What counts as a public address, and what a URL to post to may be."""

import pytest

from recallmesh.core.address import is_public, url_violations

PRIVATE = {
    "loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "this host": ["0.0.0.1", "0.1.2.3", "::"],
    "RFC 1918": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
    "link-local": ["169.254.1.1", "169.254.169.254", "fe80::1", "fe80::1%eth0"],
    "carrier NAT": ["100.64.0.1", "100.127.255.255"],
    "ULA": ["fc00::1", "fd12:3456::1"],
    "site-local": ["fec0::1"],
    "multicast and broadcast": ["224.0.0.1", "255.255.255.255", "ff02::1"],
    "reserved and for documents": ["240.0.0.1", "192.0.0.8", "192.0.2.1", "198.18.0.1", "203.0.113.9", "2001:db8::1"],
    "IPv4-mapped": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:7f00:1"],
    "IPv4-compatible": ["::127.0.0.1", "::10.0.0.1"],
    "NAT64": ["64:ff9b::7f00:1", "64:ff9b::10.0.0.1", "64:ff9b:1::127.0.0.1"],
    "6to4 and Teredo": ["2002:7f00:1::1", "2002:a00:1::1", "2001:0:7f00:1::1"],
    "no address": ["", "x", "1.2.3", "127.1"],
}
PUBLIC = ["8.8.8.8", "172.32.0.1", "192.169.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"]


@pytest.mark.parametrize(("kind", "address"), [(kind, one) for kind, all_ in PRIVATE.items() for one in all_])
def test_an_address_of_a_private_kind_is_not_public(kind, address):
    assert not is_public(address), kind


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_internet_is_public(address):
    assert is_public(address)


def faults(url, *, http=False, private=False):
    return [violation.description for violation in url_violations("url", url, http=http, private=private)]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "https://example.com:8443/a/b?c=d%20e",
        "https://8.8.8.8/x",
        "https://[2606:4700::1111]/x",
        "https://xn--bcher-kva.example/",
    ],
)
def test_an_https_url_of_a_public_host_is_allowed(url):
    assert faults(url) == []


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "no URL"),
        ("example.com/x", "no URL"),
        ("ftp://example.com/x", "no URL"),
        ("file:///etc/passwd", "no URL"),
        ("https:///x", "no URL"),
        ("https://example.com:0/", "no URL"),
        ("https://example.com:99999/", "no URL"),
        ("https://[::1/", "no URL"),
        ("http://example.com/", "does not allow http"),
        ("https://user:word@example.com/", "a user or a password"),
        ("https://example.com/#x", "fragment"),
        ("https://example.com/a b", "space"),
        ("https://example.com/\r\nx: y", "space"),
        ("https://bücher.example/", "character"),
        ("https://example.com/\x00", "NUL"),
        ("https://example.com/" + "x" * 2048, "limit is 2048"),
        ("https://127.0.0.1/", "private"),
        ("https://[::ffff:10.0.0.1]/", "private"),
        ("https://169.254.169.254/latest/meta-data", "private"),
        ("https://localhost/", "private"),
        ("https://LOCALHOST./", "private"),
        ("https://db.internal/", "private"),
    ],
)
def test_a_url_that_may_not_be_posted_to_is_refused_with_the_reason(url, why):
    found = faults(url)
    assert found
    assert why in found[0]


def test_settings_may_allow_http_and_private_addresses():
    assert faults("http://127.0.0.1:8080/x", http=True, private=True) == []
    assert faults("http://127.0.0.1:8080/x", http=True) == ["names a private address, which the service does not allow"]
