"""Authorities and certificates of a test's own."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from recallmesh.core.tls import Tls

DAY = timedelta(days=1)
LOOPBACK = (x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1")))


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Write both, each in one step, and return where they are."""
        paths = folder / f"{name}.pem", folder / f"{name}-key.pem"
        for path, content in zip(paths, (self.certificate, self.key), strict=True):
            put(path, content)
        return paths

    @property
    def serial(self) -> int:
        return x509.load_pem_x509_certificate(self.certificate).serial_number


class Authority:
    """Signs certificates; ``days`` is how long from now they hold, less than 0 for one that is over."""

    def __init__(self, name: str = "authority", days: float = 365):
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        made = _begun(self._name, self._name, self._key, days)
        signed = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.certificate = signed.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def sign(self, name: str = "mesh", days: float = 90, names=LOOPBACK) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        made = _begun(_name(name), self._name, key, days)
        signed = made.add_extension(x509.SubjectAlternativeName(names), critical=False).sign(self._key, hashes.SHA256())
        return Pair(
            signed.public_bytes(serialization.Encoding.PEM),
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )

    def write(self, folder: Path, name: str = "ca") -> Path:
        put(folder / f"{name}.pem", self.certificate)
        return folder / f"{name}.pem"


@dataclass(frozen=True)
class Sides:
    """The files of a server and of a client who know each other by one authority."""

    folder: Path
    authority: Authority
    server: Tls
    client: Tls


def sides(folder: Path, *, mutual: bool = True) -> Sides:
    """Make an authority, and a certificate for each side."""
    authority = Authority()
    ca = authority.write(folder)
    served = authority.sign("server").write(folder, "server")
    calling = authority.sign("client").write(folder, "client") if mutual else (None, None)
    return Sides(folder, authority, Tls(ca if mutual else None, *served), Tls(ca, *calling))


def put(path: Path, content: bytes) -> None:
    """Put a file in the place of another, in one step."""
    beside = path.with_suffix(".new")
    beside.write_bytes(content)
    beside.replace(path)


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _begun(subject: x509.Name, issuer: x509.Name, key, days: float) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    ends = now + days * DAY
    return made.serial_number(x509.random_serial_number()).not_valid_before(ends - 400 * DAY).not_valid_after(ends)
