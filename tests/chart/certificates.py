"""Certificates for one run of a control plane: an authority of its own, who serves, and who calls."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LASTS = timedelta(days=2)
SERVER_NAMES = ("localhost", "kubernetes.default.svc")
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate and its key, as files."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates, which are kept in a folder with their keys; they hold for two days."""

    def __init__(self, folder: Path) -> None:
        """Make a new one in an empty folder."""
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "control plane for tests")])
        usage = x509.BasicConstraints(ca=True, path_length=0)
        signed = self._started(self._name, self._key).add_extension(usage, critical=True)
        self.identity = self._kept("authority", signed.sign(self._key, hashes.SHA256()), self._key)

    def server(self, name: str) -> Identity:
        """Return an identity for whoever serves on loopback."""
        alternatives = [*map(x509.DNSName, SERVER_NAMES), x509.IPAddress(ip_address(LOOPBACK))]
        return self._signed(
            name,
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]),
            (x509.SubjectAlternativeName(alternatives), x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])),
        )

    def client(self, user: str, group: str = "") -> Identity:
        """Return an identity by which Kubernetes takes a caller for this user of this group."""
        names = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
        if group:
            names.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        return self._signed(user.replace(":", "-"), x509.Name(names), (usage,))

    def _signed(self, name: str, subject: x509.Name, extensions: tuple[x509.ExtensionType, ...]) -> Identity:
        key = ec.generate_private_key(ec.SECP256R1())
        started = self._started(subject, key)
        for extension in extensions:
            started = started.add_extension(extension, critical=False)
        return self._kept(name, started.sign(self._key, hashes.SHA256()), key)

    def _started(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=1))
            .not_valid_after(now + LASTS)
        )

    def _kept(self, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Identity:
        kept = Identity(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        kept.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        kept.key.touch(mode=0o600)
        kept.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return kept
