"""The files that one side of an encrypted connection proves itself with, and knows the other by."""

from dataclasses import dataclass
from pathlib import Path

PUBLIC = Path("public")
"""In the place of a client's ``ca``: the authorities of the public web, which gRPC brings along."""


@dataclass(frozen=True, slots=True)
class TlsNames:
    """What errors call the files: the settings, or the words of a command, that named them."""

    ca: str = "tls.ca"
    certificate: str = "tls.certificate"
    key: str = "tls.key"


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files of one side of TLS. They are read again when they change, also by a link that leads elsewhere.

    ``certificate`` and ``key`` go together: a server has both, a client where the server asks for them.
    """

    ca: Path | None = None
    """Certificates of the authorities that the other side's must be of. A client's, absent or ``PUBLIC``: those of the
    public web. A server's, absent: clients need no certificate."""
    certificate: Path | None = None
    """One's own certificate, and after it those between it and the authority's."""
    key: Path | None = None
    """The certificate's private key, without a password."""
    server_name: str = ""
    """A client's: the name that the server's certificate must have. Empty: the one that it is called by."""
    names: TlsNames = TlsNames()

    @property
    def authorities(self) -> Path | None:
        """The file of the authorities; nothing where there is none, or none is needed."""
        return None if self.ca == PUBLIC else self.ca

    @property
    def paths(self) -> tuple[Path, ...]:
        """All the files."""
        return tuple(path for path in (self.authorities, self.certificate, self.key) if path is not None)
