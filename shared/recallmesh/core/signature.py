"""Signatures of posts by the rules of Standard Webhooks (standardwebhooks.com), which libraries can check."""

import base64
import hashlib
import hmac
from binascii import Error
from collections.abc import Mapping
from datetime import datetime

SECRET_PREFIX = "whsec_"  # noqa: S105 - what a secret may begin with
SECRET_BYTES_MIN = 16
"""The fewest bytes of a key: 128 bits."""
ID_HEADER = "webhook-id"
TIMESTAMP_HEADER = "webhook-timestamp"
SIGNATURE_HEADER = "webhook-signature"


def key_of(secret: str) -> bytes | None:
    """Return a secret's key: the text itself, or what ``whsec_…`` holds in base64; nothing if that is broken."""
    if not secret.startswith(SECRET_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (Error, ValueError):
        return None


def signed_headers(secret: str, event_id: str, at: datetime, body: bytes) -> Mapping[str, str]:
    """Return the headers of a post: the event's id, when it is posted in seconds since 1970, and the signature.

    The id is the same in every try: who has seen it has the event. The time lets a receiver refuse old posts; the
    signature holds id, time and body together.
    """
    timestamp = str(int(at.timestamp()))
    signed = b".".join((event_id.encode(), timestamp.encode(), body))
    digest = hmac.new(key_of(secret) or b"", signed, hashlib.sha256).digest()
    return {
        ID_HEADER: event_id,
        TIMESTAMP_HEADER: timestamp,
        SIGNATURE_HEADER: f"v1,{base64.b64encode(digest).decode()}",
    }
