"""A post of an event: its body, and what an answer to it means."""

import json
from dataclasses import dataclass
from typing import Any, Protocol

from recallmesh.core.defense import SecurityEvent
from recallmesh.core.event import Event

GONE = 410
"""HTTP's word for an address that will not come back: it is given up at once."""
_OK = range(200, 300)
_REDIRECTS = range(300, 400)
ERROR_CHARS = 200


class Poster(Protocol):
    """Posts to the addresses of others."""

    async def post(self, url: str, headers: dict[str, str], body: bytes, *, timeout_s: float) -> int:
        """Post and return the status; no redirect is followed, nothing of the answer is kept.

        Raises:
            StoreUnavailable: there was no answer in time, or the address is not one to post to; says why.

        """
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a post did not arrive, and whether to try again."""

    error: str
    final: bool = False


def failure_of(status: int) -> Failure | None:
    """Return why an answer is none; nothing for one that says the event has arrived."""
    if status in _OK:
        return None
    if status in _REDIRECTS:
        return Failure(f"answered {status}: redirects are not followed")
    return Failure(f"answered {status}", final=status == GONE)


def body_of(event: Event) -> bytes:
    """Return an event as the JSON of Standard Webhooks: ``type``, ``timestamp`` and ``data``."""
    data: dict[str, Any] = {"bank_id": event.bank_id}
    if event.security is not None:
        data["security"] = _decision(event.security)
    else:
        data |= {
            "document_ids": list(event.document_ids),
            "operation_id": event.operation_id,
            "memory_count": event.memory_count,
        }
    said = {"type": event.kind.value, "id": event.id, "timestamp": event.time.isoformat(), "data": data}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()


def _decision(decision: SecurityEvent) -> dict[str, Any]:
    return {
        "id": decision.id,
        "detector": decision.violation.detector,
        "action": decision.violation.action,
        "severity": decision.violation.severity,
        "message": decision.violation.message,
        "document_id": decision.document_id,
        "item_index": decision.item_index,
        "receipt_uri": decision.receipt_uri,
    }
