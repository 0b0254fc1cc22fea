"""Retain requests as JSON: for the queue of operations, and hashed, for telling a repeated request from another."""

import base64
import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.retain import Attachment, ContentBlock, NamedEntity, RetainItem, RetainRequest, UpdateMode


def content_hash(request: RetainRequest) -> str:
    """Return the hash of all that a request says to do: not its id, nor whether the caller waits."""
    said = _request_to_json(request)
    del said["request_id"], said["wait"], said["bank"]
    canonical = json.dumps(said, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def request_to_bytes(request: RetainRequest, received: datetime) -> bytes:
    """Write a request and when it came."""
    return json.dumps({"request": _request_to_json(request), "received": received.isoformat()}).encode()


def request_from_bytes(payload: bytes) -> tuple[RetainRequest, datetime]:
    """Read what ``request_to_bytes`` wrote."""
    said: dict[str, Any] = json.loads(payload)
    return _request_from_json(said["request"]), datetime.fromisoformat(said["received"])


def said_to_text(item: RetainItem, tags: tuple[str, ...], images: Iterable[tuple[int, str]] = ()) -> str:
    """Write what an item says besides its text, for that to be read once more.

    ``tags`` are all that it has; ``images`` are those of the chunk: behind how many characters of its text, and the id.
    """
    said = _item_to_json(replace(item, content=(), tags=tags))
    for beside in ("content", "document_id", "update_mode"):
        del said[beside]
    if placed := [list(image) for image in images]:
        said["images"] = placed
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def said_from_text(said: str, text: str) -> RetainItem:
    """Return the item of which a chunk with this text was said."""
    kept = json.loads(said)
    kept.pop("images", None)
    return _item_from_json({**kept, "content": [text], "document_id": "", "update_mode": UpdateMode.REPLACE})


def images_said(said: str) -> tuple[tuple[int, str], ...]:
    """Return the images of the chunk that this was said with."""
    return tuple((at, image) for at, image in json.loads(said).get("images", ()))


def _request_to_json(request: RetainRequest) -> dict[str, Any]:
    return {
        "bank": {"tenant": request.bank.tenant, "bank_id": request.bank.bank_id},
        "items": [_item_to_json(item) for item in request.items],
        "request_id": request.request_id,
        "wait": request.wait,
        "mode": request.mode,
        "tags": sorted(set(request.tags)),
    }


def _request_from_json(said: dict[str, Any]) -> RetainRequest:
    return RetainRequest(
        bank=BankRef(**said["bank"]),
        items=tuple(_item_from_json(item) for item in said["items"]),
        request_id=said["request_id"],
        wait=said["wait"],
        mode=None if said["mode"] is None else ExtractionMode(said["mode"]),
        tags=tuple(said["tags"]),
    )


def _item_to_json(item: RetainItem) -> dict[str, Any]:
    return {
        "content": [_block_to_json(block) for block in item.content],
        "time": None if item.time is None else item.time.isoformat(),
        "timeless": item.timeless,
        "context": item.context,
        "document_id": item.document_id,
        "tags": sorted(set(item.tags)),
        "metadata": dict(item.metadata),
        "entities": [[entity.name, entity.kind, entity.resolve] for entity in item.entities],
        "observation_scopes": [list(scope) for scope in item.observation_scopes],
        "update_mode": item.update_mode,
        "receipt_uri": item.receipt_uri,
    }


def _item_from_json(said: dict[str, Any]) -> RetainItem:
    return RetainItem(
        content=tuple(_block_from_json(block) for block in said["content"]),
        time=None if said["time"] is None else datetime.fromisoformat(said["time"]),
        timeless=said["timeless"],
        context=said["context"],
        document_id=said["document_id"],
        tags=tuple(said["tags"]),
        metadata=said["metadata"],
        entities=tuple(NamedEntity(*entity) for entity in said["entities"]),
        observation_scopes=tuple(tuple(scope) for scope in said["observation_scopes"]),
        update_mode=UpdateMode(said["update_mode"]),
        receipt_uri=said["receipt_uri"],
    )


def _block_to_json(block: ContentBlock) -> str | list[str]:
    return block if isinstance(block, str) else [block.media_type, base64.b64encode(block.data).decode()]


def _block_from_json(said: str | list[str]) -> ContentBlock:
    return said if isinstance(said, str) else Attachment(said[0], base64.b64decode(said[1]))
