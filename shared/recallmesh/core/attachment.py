"""Attachments: images that came within content, kept once for a bank by the hash of their bytes."""

import hashlib
from dataclasses import dataclass, field
from typing import Protocol

from recallmesh.core.memory import Outline

MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What may be attached: what models that read images commonly read."""
_SPELLINGS = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}


@dataclass(frozen=True, slots=True)
class StoredAttachment:
    """An attachment as the ledger keeps it; ``id`` is the SHA-256 of ``data`` in hexadecimal."""

    id: str
    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class AttachmentOutline:
    """What decides whether an attachment may be shown.

    ``held``: a chunk that is not outdated has it. ``memories`` are the outlines of those drawn from it, in any state.
    """

    id: str
    held: bool
    memories: tuple[Outline, ...] = ()


class AttachmentLedger(Protocol):
    """Attachments of a bank; they come with a write and go with the last chunk that has them."""

    async def outline_attachment(self, bank_uid: str, attachment_id: str) -> AttachmentOutline:
        """Return what decides whether an attachment may be shown; raises ``AttachmentNotFound``."""
        ...

    async def read_attachments(self, bank_uid: str, attachment_ids: tuple[str, ...]) -> tuple[StoredAttachment, ...]:
        """Return those of the attachments that are there, in no particular order."""
        ...


def id_of(data: bytes) -> str:
    """Return an attachment's id; a millisecond for a megabyte."""
    return hashlib.sha256(data).hexdigest()


def canonical(media_type: str) -> str:
    """Return a media type as it is kept: without parameters, in small letters, under its registered name."""
    name = media_type.partition(";")[0].strip().casefold()
    return _SPELLINGS.get(name, name)


def type_of(data: bytes) -> str:
    """Return the media type that the first bytes tell, empty for none of those that may be attached."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


def marker(media_type: str) -> str:
    """Return what stands in a text in an attachment's place."""
    return f"[image: {media_type}]"
