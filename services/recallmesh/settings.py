"""The settings of one process: each service's own, composed; unknown names are refused."""

import os
import re
from collections.abc import Iterator
from difflib import get_close_matches
from json import JSONDecodeError
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from recallmesh.bank.settings import BankSettings
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.port import is_target
from recallmesh.core.tls import Tls, TlsNames
from recallmesh.door.settings import DoorSettings
from recallmesh.embedder.settings import EmbedderSettings
from recallmesh.graph.settings import GraphSettings
from recallmesh.identity.settings import AuthSettings
from recallmesh.keyword.settings import KeywordSettings
from recallmesh.recall.settings import RecallSettings
from recallmesh.reranker.settings import RerankerSettings
from recallmesh.retain.settings import LlmSettings, RetainSettings
from recallmesh.semantic.settings import SemanticSettings
from recallmesh.telemetry.settings import TracingSettings
from recallmesh.temporal.settings import TemporalSettings

PREFIX = "RECALLMESH_"
CLIENT_NAMES = frozenset(f"RECALLMESH_{name}" for name in ("SERVER", "KEY", "CA", "CERT", "CERT_KEY", "SERVER_NAME"))
"""Names that the command line reads; no setting of a server."""
FOREIGN = re.compile(
    r"RECALLMESH_TEST_\w+|(?!\w*__)(\w+_SERVICE_(HOST|PORT(_\w+)?)|\w+_PORT(_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)?)"
)
"""Names that are not ours: those of tests, and what Kubernetes puts into every pod for every Service. Two
underscores are ours alone: a mistyped ``…__METRIC_PORT`` is no name of Kubernetes."""


LIKE = 0.7
"""How alike a name must be to a setting's to be taken for a slip of it, in [0, 1]."""


def default_data() -> Path:
    """Return where a person's data lies by the XDG convention."""
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "recallmesh"


class LedgerSettings(BaseModel, extra="forbid", frozen=True):
    """The system of record."""

    url: str | None = Field(default=None, repr=False)
    """Where the ledger is, as a URL: ``sqlite:////folder/ledger.db`` or ``postgresql://user:password@host/database``.
    What follows a question mark goes to libpq (``?sslmode=verify-full``), which also reads ``PGPASSWORD`` and
    ``PGPASSFILE``. Absent: ``ledger.db`` (SQLite) in ``data``."""
    readers: int = Field(default=4, ge=1, le=64)
    """The most connections that a process reads the ledger by at once."""
    writers: int = Field(default=4, ge=1, le=64)
    """The most connections to PostgreSQL that a process writes the ledger by at once; SQLite has one writer."""
    timeout_s: float = Field(default=30.0, ge=1, le=3600)
    """How long, in seconds, PostgreSQL may take for one statement. One that says nothing for two seconds more is taken
    to be gone."""


class EventSettings(BaseModel, extra="forbid", frozen=True):
    """What happened in banks, and the addresses that it is posted to."""

    kept_days: float = Field(default=30.0, gt=0)
    """How long events can be listed and watched, in days. Memory defense's decisions are kept as long as their bank."""
    webhook_http: bool = False
    """Let webhooks have http:// addresses: posts are signed, but anybody on the way reads them."""
    webhook_private: bool = False
    """Let webhooks have addresses that are not public (loopback, link-local, private networks): whoever may register
    one then reaches what this process reaches."""
    webhook_attempts: int = Field(default=12, ge=1, le=1000)
    """How often one post is tried before its address is given up. The pauses double from 5 s to an hour: 12 tries take
    about two hours."""


class ServeSettings(BaseModel, extra="forbid", frozen=True):
    """How a process offers its services."""

    listen: str = "127.0.0.1:7070"
    """Where to listen, host:port; port 0 takes any free one. While ``auth.mode`` is off only loopback is
    allowed."""
    reflection: bool = False
    """Offer gRPC server reflection, for tools such as grpcurl."""
    deadline_s: float = Field(default=30.0, gt=0)
    """The deadline, in seconds, of a call that brings none."""
    deadline_cap_s: float = Field(default=300.0, gt=0)
    """The longest deadline, in seconds, that a call may bring; longer ones are cut."""
    at_once: int | None = Field(default=None, gt=0)
    """The most callers' calls worked on at once, of those that read and of those that write. Others wait for their
    turn, which goes round tenants and banks. More at once make each slower and none faster, unless they wait for
    something outside of the process, such as a language model. Absent: 4 where a model computes in the process, 8 where
    embedder and reranker are elsewhere."""
    in_flight: int = Field(default=64, gt=0)
    """The most calls in hand at once, those that wait for their turn included: of those that read, of those that write,
    and of those within the mesh, which wait for none. More are refused with RESOURCE_EXHAUSTED and a delay."""
    streams: int = Field(default=256, gt=0)
    """The most streams open at once, of requests or answers (watches, bulk loads, exports); more are refused likewise.
    They have places of their own: most of them wait."""
    drain_s: float = Field(default=1.0, ge=0)
    """Seconds between not being ready and refusing calls, on SIGTERM, so that clients can turn away."""
    grace_s: float = Field(default=20.0, ge=0)
    """The most seconds that calls in hand get to finish, on SIGTERM."""
    connection_age_s: float | None = Field(default=None, ge=0.5, le=3600)
    """Seconds after which a client is asked to connect again, give or take a tenth: then it also asks anew which
    addresses a name has, so that a process that joined gets calls. It costs no call, and each time some 4 ms of CPU on
    both sides together. Absent: 3, and 3600 where ``listen`` is of this machine alone (127.0.0.1, [::1], localhost) and
    there is no TLS: what has one address nobody joins."""
    metrics_port: int | None = Field(default=None, ge=0, le=65535)
    """The port of the Prometheus metrics, on the host of ``listen``, over plain HTTP. Absent: none are offered."""
    health_port: int | None = Field(default=None, ge=0, le=65535)
    """A port, on the host of ``listen``, at which gRPC's health service alone answers, without TLS: Kubernetes' own
    probes speak none. Absent: health is asked where everything is."""


class TlsSettings(BaseModel, extra="forbid", frozen=True):
    """Encryption between the services, and with those who call them.

    All are paths of PEM files, which are read again when they change: a new certificate needs no restart.
    """

    certificate: Path | None = None
    """The certificate that this process's servers prove themselves with (gRPC, the JSON door, tools over HTTP), those
    between it and the authority's after it. They speak TLS 1.2 or newer then, and nothing else. Absent: unencrypted."""
    key: Path | None = None
    """The private key of ``certificate``, without a password."""
    client_ca: Path | None = None
    """Certificates of the authorities that callers' certificates must be of: who has none is refused (mTLS). Absent:
    callers need no certificate."""
    ca: Path | None = None
    """Certificates of the authorities that the other services' must be of: calls to them are encrypted then.
    ``public``: the authorities of the public web. Absent: calls are encrypted only with a ``client_certificate``."""
    client_certificate: Path | None = None
    """The certificate that calls to the other services prove themselves with. Absent: they have none."""
    client_key: Path | None = None
    """The private key of ``client_certificate``, without a password."""
    server_name: str = ""
    """The name that the other services' certificates must have. Empty: the one in their address."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if bool(self.certificate) != bool(self.key):
            raise ValueError("certificate and key go together")
        if self.client_ca and not self.certificate:
            raise ValueError("client_ca needs a certificate and its key: only TLS asks callers for theirs")
        if bool(self.client_certificate) != bool(self.client_key):
            raise ValueError("client_certificate and client_key go together")
        return self

    @property
    def serving(self) -> Tls | None:
        """What servers prove themselves with; nothing: they are not encrypted."""
        if self.certificate is None:
            return None
        return Tls(self.client_ca, self.certificate, self.key, names=_tls_names("CLIENT_CA", "CERTIFICATE", "KEY"))

    @property
    def calling(self) -> Tls | None:
        """What calls prove themselves with, and know servers by; nothing: they are not encrypted."""
        if self.ca is None and self.client_certificate is None:
            return None
        names = _tls_names("CA", "CLIENT_CERTIFICATE", "CLIENT_KEY")
        return Tls(self.ca, self.client_certificate, self.client_key, self.server_name, names)


def _tls_names(*names: str) -> TlsNames:
    return TlsNames(*(f"{PREFIX}TLS__{name}" for name in names))


class Settings(BaseSettings):
    """Everything that can be set, by ``RECALLMESH_…`` variables; a part's names follow two underscores."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, env_ignore_empty=True
    )

    data: Path = Field(default_factory=default_data)
    """The folder of the embedded stores. Default: ``~/.local/share/recallmesh`` (by XDG_DATA_HOME)."""
    log_level: str = Field(default="info", pattern="^(debug|info|warning|error)$")
    """The least level that is logged: debug, info, warning or error."""
    serve: ServeSettings = Field(default_factory=ServeSettings)
    """How a process offers its services."""
    ledger: LedgerSettings = Field(default_factory=LedgerSettings)
    """The system of record."""
    semantic: SemanticSettings = Field(default_factory=SemanticSettings)
    """The semantic arm and the vectors it owns."""
    keyword: KeywordSettings = Field(default_factory=KeywordSettings)
    """The keyword arm."""
    graph: GraphSettings = Field(default_factory=GraphSettings)
    """The graph arm."""
    temporal: TemporalSettings = Field(default_factory=TemporalSettings)
    """The temporal arm."""
    recall: RecallSettings = Field(default_factory=RecallSettings)
    """The recall orchestrator."""
    reranker: RerankerSettings = Field(default_factory=RerankerSettings)
    """The cross-encoder."""
    embedder: EmbedderSettings = Field(default_factory=EmbedderSettings)
    """The bi-encoder."""
    retain: RetainSettings = Field(default_factory=RetainSettings)
    """The retain service."""
    llm: LlmSettings = Field(default_factory=LlmSettings)
    """The language model of the retain service."""
    bank: BankSettings = Field(default_factory=BankSettings)
    """Administration."""
    events: EventSettings = Field(default_factory=EventSettings)
    """What happened in banks, and the addresses that it is posted to."""
    door: DoorSettings = Field(default_factory=DoorSettings)
    """The JSON door."""
    tracing: TracingSettings = Field(default_factory=TracingSettings)
    """Where the spans of a process go."""
    auth: AuthSettings = Field(default_factory=AuthSettings)
    """Who may call."""
    tls: TlsSettings = Field(default_factory=TlsSettings)
    """Encryption between the services, and with those who call them."""

    @property
    def ledger_url(self) -> str:
        """Where the ledger is, with the default resolved."""
        return self.ledger.url or f"sqlite:///{(self.data / 'ledger.db').absolute()}"


def load_settings(**given: Any) -> Settings:  # noqa: ANN401 - any field of any type
    """Read the settings from the environment; what is ``given`` wins, unless it is ``None``.

    Raises:
        InvalidArgument: a name is unknown or a value is wrong; names each.

    """
    violations = [FieldViolation(name, _unknown(name)) for name in sorted(os.environ) if _is_unknown(name)]
    if violations:
        raise InvalidArgument(*violations)
    try:
        settings = Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise InvalidArgument(*(_violation(problem["loc"], problem["msg"]) for problem in error.errors())) from error
    except SettingsError as error:
        raise InvalidArgument(*_no_json(error.__cause__)) from error
    if wrong := list(_no_addresses(settings)):
        raise InvalidArgument(*wrong)
    return settings


def known_names(model: type[BaseModel] = Settings, prefix: str = PREFIX) -> tuple[str, ...]:
    """Return the variable of every setting."""
    names: list[str] = []
    for field, info in model.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            names.extend(known_names(kind, f"{prefix}{field.upper()}__"))
        else:
            names.append(f"{prefix}{field.upper()}")
    return tuple(names)


def _no_addresses(settings: Settings) -> Iterator[FieldViolation]:
    """Yield what is said to be the address of a service and cannot be one: gRPC would try it again and again."""
    for section in Settings.model_fields:
        for field in ("address", "server"):
            value = getattr(getattr(settings, section), field, None)
            if isinstance(value, str) and not is_target(value):
                name = f"{PREFIX}{section.upper()}__{field.upper()}"
                yield FieldViolation(name, "is no address: host:port, dns:///name:port or unix:path")


def _is_unknown(name: str) -> bool:
    if not name.upper().startswith(PREFIX) or name in CLIENT_NAMES or FOREIGN.fullmatch(name):
        return False
    return name.upper() not in known_names()


def _unknown(name: str) -> str:
    ours = [known.removeprefix(PREFIX) for known in known_names()]
    close = get_close_matches(name.upper().removeprefix(PREFIX), ours, n=1, cutoff=LIKE)
    return f"is no setting{f'; did you mean {PREFIX}{close[0]}?' if close else ''}"


def _no_json(cause: BaseException | None) -> list[FieldViolation]:
    """Blame the variables that hold the text which could not be read: pydantic names only the part they belong to."""
    text = cause.doc if isinstance(cause, JSONDecodeError) else None
    names = [name for name in sorted(os.environ) if name.upper() in known_names() and os.environ[name] == text]
    return [FieldViolation(name, f"{text!r} is no JSON, which lists and tables are set by") for name in names] or [
        FieldViolation(PREFIX, "a value cannot be read")
    ]


def _violation(where: tuple[int | str, ...], message: str) -> FieldViolation:
    return FieldViolation(PREFIX + "__".join(str(part).upper() for part in where), message)
