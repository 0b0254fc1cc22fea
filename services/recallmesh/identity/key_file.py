"""The file of API keys: hashes, what each is good for, and what each tenant may use."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, Field, ValidationError

from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.principal import CALLERS_RIGHTS, TENANT, Right
from recallmesh.core.quota import Quota
from recallmesh.identity.api_key import HASH, ID_CHARS, KeyRow

BYTES = 16 * 1024 * 1024
"""More is no file of keys: 30,000 of them have some 10 MB."""


def _callers_rights(rights: frozenset[Right]) -> frozenset[Right]:
    if not rights or not rights <= frozenset(CALLERS_RIGHTS):
        raise ValueError(f"must be some of {', '.join(CALLERS_RIGHTS)}")
    return rights


class _Row(BaseModel, extra="forbid", frozen=True):
    id: str = Field(pattern=rf"^[0-9A-Za-z]{{{ID_CHARS}}}$")
    name: str = Field(min_length=1, max_length=128)
    tenant: str = Field(pattern=f"^{TENANT.pattern}$")
    rights: Annotated[frozenset[Right], AfterValidator(_callers_rights)]
    banks: tuple[str, ...] | None = None
    hash: str = Field(pattern=f"^{HASH.pattern}$")
    created: AwareDatetime
    expires: AwareDatetime | None = None
    revoked: AwareDatetime | None = None


class _Quota(BaseModel, extra="forbid", frozen=True):
    calls_per_s: float | None = Field(default=None, gt=0)
    retained_bytes_per_minute: float | None = Field(default=None, gt=0)
    at_once: int | None = Field(default=None, gt=0)


class _File(BaseModel, extra="forbid", frozen=True):
    keys: tuple[_Row, ...] = ()
    tenants: dict[Annotated[str, Field(pattern=f"^{TENANT.pattern}$")], _Quota] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KeyFile:
    """What a file of keys says; ``rows`` are by their ids, in the file's order.

    ``quotas`` are those of single tenants, in the place of what is set for all.
    """

    rows: Mapping[str, KeyRow] = field(default_factory=dict)
    quotas: Mapping[str, Quota] = field(default_factory=dict)


def read_keys(written: bytes) -> KeyFile:
    """Read a file of keys.

    Raises:
        InvalidArgument: it is none; says what is wrong with which key, and nothing of what it holds.

    """
    if len(written) > BYTES:
        raise InvalidArgument(FieldViolation("keys", f"has more than {BYTES} bytes"))
    try:
        read = _File.model_validate(json.loads(written or b"{}"))
    except ValidationError as error:
        raise InvalidArgument(*(_violation(problem["loc"], problem["msg"]) for problem in error.errors())) from None
    except ValueError as error:
        raise InvalidArgument(FieldViolation("keys", "is no JSON")) from error
    rows: dict[str, KeyRow] = {}
    for number, row in enumerate(read.keys):
        if row.id in rows:
            raise InvalidArgument(FieldViolation(f"keys[{number}].id", "is another key's as well"))
        rows[row.id] = KeyRow(**dict(row))
    return KeyFile(rows, {tenant: Quota(**dict(quota)) for tenant, quota in read.tenants.items()})


def write_keys(file: KeyFile) -> bytes:
    """Write a file of keys, as people may read it."""
    said: dict[str, Any] = {"keys": [row_json(row) for row in file.rows.values()]}
    if file.quotas:
        said["tenants"] = {tenant: _present(asdict(quota)) for tenant, quota in file.quotas.items()}
    return (json.dumps(said, ensure_ascii=False, indent=2) + "\n").encode()


def row_json(row: KeyRow) -> dict[str, Any]:
    """Return a key's row as the file has it."""
    said: dict[str, Any] = {
        "id": row.id,
        "name": row.name,
        "tenant": row.tenant,
        "rights": [right.value for right in CALLERS_RIGHTS if right in row.rights],
        "banks": None if row.banks is None else list(row.banks),
        "hash": row.hash,
        "created": _time(row.created),
        "expires": _time(row.expires),
        "revoked": _time(row.revoked),
    }
    return _present(said)


def _present(said: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if value is not None}


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat(timespec="seconds")


def _violation(where: tuple[int | str, ...], message: str) -> FieldViolation:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where)
    return FieldViolation(path.removeprefix(".") or "keys", message)
