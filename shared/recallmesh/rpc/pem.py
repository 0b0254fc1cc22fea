"""Reads the PEM files of TLS, and refuses what could not be used."""

import os
import ssl
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.tls import Tls
from recallmesh.rpc.certificate import expiries

FILE_BYTES = 1 << 20
"""A file above that is none of ours; all authorities of the public web are a fifth of it."""
MISMATCH = "KEY_VALUES_MISMATCH"
"""What OpenSSL says of a key that is another certificate's."""


@dataclass(frozen=True, slots=True)
class Material:
    """What was read: whole, and fit to be used together."""

    ca: bytes | None
    """The authorities, in PEM; nothing where there is no file of them."""
    certificate: bytes | None
    key: bytes | None = field(repr=False)
    until: Mapping[str, datetime] = field(default_factory=dict)
    """The last moment of what each file holds, by the file's name in errors: of a chain the first to end, of
    authorities the last."""


def read(tls: Tls) -> Material:
    """Read the files.

    Raises:
        InvalidArgument: one cannot be read, or is not what it should be; names the setting.

    """
    names, until = tls.names, {}
    ca = certificate = key = None
    if tls.authorities is not None:
        ca, ends = _certificates(tls.authorities, names.ca)
        until[names.ca] = max(ends)
    if tls.certificate is not None and tls.key is not None:
        certificate, ends = _certificates(tls.certificate, names.certificate)
        until[names.certificate] = min(ends)
        key = _key(tls.key, names.key)
    material = Material(ca, certificate, key, until)
    _check(material, tls)
    return material


def use(context: ssl.SSLContext, material: Material) -> None:
    """Have a context present the certificate, and believe the authorities if there are any.

    Raises:
        ssl.SSLError: they cannot be used.

    """
    if material.ca is not None:
        context.load_verify_locations(cadata=material.ca.decode("ascii", "replace"))
    if material.certificate is not None and material.key is not None:
        with _file_of(material.certificate + b"\n" + material.key) as path:
            context.load_cert_chain(path, password=lambda: "")


def _check(material: Material, tls: Tls) -> None:
    for pem, path, name in (
        (material.ca, tls.authorities, tls.names.ca),
        (material.certificate, tls.certificate, tls.names.certificate),
    ):
        try:
            use(_context(), Material(pem, None, None))
        except ssl.SSLError as error:
            raise _refused(name, f"{path} cannot be used: {_reason(error)}") from error
    try:
        use(_context(), material)
    except ssl.SSLError as error:
        if error.reason == MISMATCH:
            why = f"{tls.key} is not the key of the certificate in {tls.certificate}"
        else:
            why = f"{tls.key} cannot be used: {_reason(error)}"
        raise _refused(tls.names.key, why) from error


def _context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or "it is damaged").replace("_", " ").lower()


def _certificates(path: Path, name: str) -> tuple[bytes, tuple[datetime, ...]]:
    pem = _bytes(path, name)
    try:
        ends = expiries(pem)
    except ValueError as error:
        raise _refused(name, f"{path} holds a certificate that is damaged") from error
    if not ends:
        raise _refused(name, f"{path} holds no certificate in PEM (-----BEGIN CERTIFICATE-----)")
    return pem, ends


def _key(path: Path, name: str) -> bytes:
    pem = _bytes(path, name)
    if b"PRIVATE KEY-----" not in pem:
        raise _refused(name, f"{path} holds no private key in PEM (-----BEGIN PRIVATE KEY-----)")
    if b"ENCRYPTED" in pem:
        raise _refused(name, f"{path} holds a key that is locked with a password, which nobody could give here")
    return pem


def _bytes(path: Path, name: str) -> bytes:
    try:
        with path.expanduser().open("rb") as file:
            found = file.read(FILE_BYTES + 1)
    except OSError as error:
        raise _refused(name, f"{path} cannot be read: {error.strerror}") from error
    if len(found) > FILE_BYTES:
        raise _refused(name, f"{path} is larger than {FILE_BYTES} bytes: it is no PEM file")
    return found


def _refused(name: str, why: str) -> InvalidArgument:
    return InvalidArgument(FieldViolation(name, why))


@contextmanager
def _file_of(content: bytes) -> Iterator[str]:
    """Give a path to what OpenSSL wants to read from one: of memory where the system has that, so it is on no disk."""
    if sys.platform == "linux":
        number = os.memfd_create("recallmesh", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            number = os.dup(file.fileno())
    try:
        os.write(number, content)
        os.lseek(number, 0, os.SEEK_SET)
        yield f"/dev/fd/{number}"
    finally:
        os.close(number)
