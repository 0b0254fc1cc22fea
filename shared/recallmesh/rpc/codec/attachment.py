"""Attachments on the wire, in pieces."""

from collections.abc import Iterator, Sequence

from recallmesh.core.attachment import StoredAttachment
from recallmesh.core.errors import StoreUnavailable
from recallmesh.core.limits import ATTACHMENT_PIECE_BYTES
from recallmesh.v1 import document_pb2
from recallmesh.v1 import document_service_pb2 as pb


def pieces_to_pb(attachment: StoredAttachment) -> Iterator[pb.GetAttachmentResponse]:
    """Write an attachment; the first piece says what it is, and there is one even of nothing."""
    size = len(attachment.data)
    info = document_pb2.AttachmentInfo(id=attachment.id, media_type=attachment.media_type, size=size)
    yield pb.GetAttachmentResponse(info=info, data=attachment.data[:ATTACHMENT_PIECE_BYTES])
    for begin in range(ATTACHMENT_PIECE_BYTES, size, ATTACHMENT_PIECE_BYTES):
        yield pb.GetAttachmentResponse(data=attachment.data[begin : begin + ATTACHMENT_PIECE_BYTES])


def pieces_from_pb(pieces: Sequence[pb.GetAttachmentResponse]) -> StoredAttachment:
    """Read an attachment.

    Raises:
        StoreUnavailable: the pieces are not all of it.

    """
    data = b"".join(piece.data for piece in pieces)
    if not pieces or len(data) != pieces[0].info.size:
        raise StoreUnavailable("the attachment did not come whole; try again")
    return StoredAttachment(pieces[0].info.id, pieces[0].info.media_type, data)
