"""TLS whose files are read again when they change: a server's for gRPC and HTTP, and a client's."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

import grpc
import structlog

from recallmesh.core.errors import InvalidArgument
from recallmesh.core.time import Clock, system_clock
from recallmesh.core.tls import Tls
from recallmesh.rpc.pem import Material, read, use

EVERY_S = 1.0
"""Seconds between two looks at the files, three calls of the system a look. Of what Kubernetes mounts nobody is told in
another way: it turns a link."""
SOON = timedelta(days=14)
"""Before its end a certificate is warned of: cert-manager renews those of 90 days 30 days before."""
REMIND = timedelta(days=1)
"""How often it is warned of."""

Told = Callable[[str, datetime], None]
"""Told until when what a setting names holds, whenever it was read."""

_log = structlog.get_logger("recallmesh.tls")


def tell_nobody(_name: str, _until: datetime) -> None:
    """Tell nobody."""


class LiveTls:
    """What the files of one side held when they were last whole.

    What cannot be used, such as a certificate whose key has not been written yet, leaves in force what was, and so does
    a certificate that is over.
    """

    def __init__(self, tls: Tls, *, told: Told = tell_nobody, now: Clock = system_clock) -> None:
        """Read the files.

        Raises:
            InvalidArgument: one cannot be read, or is not what it should be; names the setting.

        """
        self.files = tls
        self.hearers: set[Callable[[], None]] = set()
        """Told, in the loop, of everything new."""
        self.turn = 0
        """How often there was something new."""
        self._told = told
        self._now = now
        self._marks = _marks(tls.paths)
        self.material = read(tls)
        self._reminded: dict[str, datetime] = {}
        self._tell()

    def look(self) -> bool:
        """Read the files again if they are others; whether there is something new."""
        marks = _marks(self.files.paths)
        if marks == self._marks:
            return False
        self._marks = marks
        try:
            found = read(self.files)
        except InvalidArgument as error:
            _log.warning("certificate not taken", why=error.message, kept=self._ends())
            return False
        if self._over(found) and not self._over(self.material):
            _log.warning("certificate not taken", why="it has expired", kept=self._ends())
            return False
        if found == self.material:
            return False
        self.material = found
        self.turn += 1
        _log.info("certificate renewed", until=self._ends())
        return True

    async def watch(self, every_s: float = EVERY_S) -> None:
        """Look for ever."""
        while True:
            self.remind()
            await asyncio.sleep(every_s)
            if await asyncio.to_thread(self.look):
                self._tell()
                for hear in tuple(self.hearers):
                    hear()

    def remind(self) -> None:
        """Warn, once a day, of what ends soon or is over."""
        now = self._now()
        for name, until in self.material.until.items():
            if until - now < SOON and now - self._reminded.get(name, now - REMIND) >= REMIND:
                self._reminded[name] = now
                _log.warning(
                    "certificate expired" if until <= now else "certificate expires soon",
                    setting=name,
                    until=until.isoformat(),
                )

    def server_credentials(self) -> grpc.ServerCredentials:
        """Return what gRPC servers present and ask for: at each handshake what is in force then."""
        given = self.turn

        def renewed() -> grpc.ServerCertificateConfiguration | None:
            nonlocal given
            if self.turn == given:
                return None
            given = self.turn
            return _configuration(self.material)

        return grpc.dynamic_ssl_server_credentials(
            _configuration(self.material),
            renewed,  # type: ignore[arg-type] # it may return None for "no change", as its documentation has it
            require_client_authentication=self.material.ca is not None,
        )

    def http_context(self) -> ssl.SSLContext:
        """Return the same for HTTP servers."""
        given, context = self.turn, _http_context(self.material)
        first = context

        def renew(connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
            nonlocal given, context
            if self.turn != given:
                given, context = self.turn, _http_context(self.material)
            connection.context = context

        first.sni_callback = renew
        return first

    def channel_credentials(self) -> grpc.ChannelCredentials:
        """Return what is in force for a client."""
        own = self.material
        return grpc.ssl_channel_credentials(own.ca, own.key, own.certificate)

    def _over(self, material: Material) -> bool:
        return any(until <= self._now() for until in material.until.values())

    def _ends(self) -> dict[str, str]:
        return {name: until.isoformat() for name, until in self.material.until.items()}

    def _tell(self) -> None:
        for name, until in self.material.until.items():
            self._told(name, until)


@asynccontextmanager
async def open_tls(tls: Tls, *, told: Told = tell_nobody, now: Clock = system_clock) -> AsyncIterator[LiveTls]:
    """Read the files, and again whenever they change, until the context is left.

    Raises:
        InvalidArgument: one cannot be read, or is not what it should be; names the setting.

    """
    live = await asyncio.to_thread(LiveTls, tls, told=told, now=now)
    watching = asyncio.create_task(live.watch())
    try:
        yield live
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


def client_context(tls: Tls) -> ssl.SSLContext:
    """Return what an HTTP client's side is, as the files are now.

    Raises:
        InvalidArgument: one cannot be read, or is not what it should be; names the setting.

    """
    own = read(tls)
    context = ssl.create_default_context(cadata=None if own.ca is None else own.ca.decode("ascii", "replace"))
    use(context, own)
    return context


def _marks(paths: tuple[Path, ...]) -> tuple[tuple[int, ...], ...]:
    """Return what tells a file from the one that was there before."""
    return tuple(_mark(path.expanduser()) for path in paths)


def _mark(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)


def _configuration(own: Material) -> grpc.ServerCertificateConfiguration:
    pairs = [(own.key or b"", own.certificate or b"")]
    return grpc.ssl_server_certificate_configuration(pairs, root_certificates=own.ca)


def _http_context(own: Material) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    use(context, own)
    if own.ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
    return context
