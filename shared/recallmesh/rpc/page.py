"""Page tokens: opaque to callers, bound to the call they were made for."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Awaitable, Callable
from hashlib import blake2b
from hmac import compare_digest
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from recallmesh.core.errors import FieldViolation, InvalidArgument, PageTokenMismatch
from recallmesh.core.limits import MESSAGE_BYTES
from recallmesh.core.page import PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, Page, PageRequest
from recallmesh.v1 import page_pb2

PAGE_BYTES = MESSAGE_BYTES - 65_536
"""What a page may have, with room for framing and the token."""
TOKEN_CHARS = 4096


Row = TypeVar("Row")
Resp = TypeVar("Resp", bound=Message)


def page_from_pb(request: Message, size: int, token: str, tenant: str) -> PageRequest:
    """Read which page is wanted.

    Raises:
        InvalidArgument: a negative size, or a token that is none.
        PageTokenMismatch: the token was made for other arguments.

    """
    if size < 0:
        raise InvalidArgument(FieldViolation("page_size", f"must be in [0, {PAGE_SIZE_MAX}]"))
    return PageRequest(min(size or PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX), _key(request, token, tenant))


def _key(request: Message, token: str, tenant: str) -> str:
    if not token:
        return ""
    if len(token) > TOKEN_CHARS:
        raise InvalidArgument(FieldViolation("page_token", "is not a token of ours"))
    try:
        held = page_pb2.PageToken.FromString(urlsafe_b64decode(token.encode() + b"=="))
    except (Error, DecodeError, ValueError) as error:
        raise InvalidArgument(FieldViolation("page_token", "is not a token of ours")) from error
    if not compare_digest(held.arguments_hash, _arguments(request, tenant)):
        raise PageTokenMismatch
    return held.after


def token_to_pb(request: Message, after: str, tenant: str) -> str:
    """Write the token to go on with; empty after the last page."""
    if not after:
        return ""
    held = page_pb2.PageToken(after=after, arguments_hash=_arguments(request, tenant))
    return urlsafe_b64encode(held.SerializeToString()).decode().rstrip("=")


def _arguments(request: Message, tenant: str) -> bytes:
    """Hash the method's request, the tenant and all arguments but the page's own."""
    bare = type(request)()
    bare.CopyFrom(request)
    for field in ("page_size", "page_token"):
        bare.ClearField(field)
    named = f"{request.DESCRIPTOR.full_name}\0{tenant}\0".encode()
    return blake2b(named + bare.SerializeToString(deterministic=True), digest_size=12).digest()


async def page_to_pb(
    read: Callable[[PageRequest], Awaitable[Page[Row]]], wanted: PageRequest, write: Callable[[Page[Row]], Resp]
) -> Resp:
    """Read a page and write it; one that would be too large for a message is read again with fewer rows."""
    while True:
        page = await read(wanted)
        response = write(page)
        if response.ByteSize() <= PAGE_BYTES or min(wanted.size, len(page.rows)) <= 1:
            return response
        wanted = PageRequest(min(wanted.size, len(page.rows)) // 2, wanted.after)
