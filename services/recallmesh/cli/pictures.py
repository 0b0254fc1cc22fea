"""Pictures of a person's files, as they are attached to what is retained."""

from pathlib import Path

from recallmesh.core.attachment import MEDIA_TYPES, type_of
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.limits import ATTACHMENT_BYTES
from recallmesh.core.retain import Attachment


def read_picture(path: Path, field: str) -> Attachment:
    """Read a file as an attachment; what it is, its bytes tell.

    Raises:
        InvalidArgument: it cannot be read, is too large, or no image of a kind that may be attached.

    """
    try:
        with path.expanduser().open("rb") as file:
            data = file.read(ATTACHMENT_BYTES + 1)
    except OSError as error:
        raise InvalidArgument(FieldViolation(field, f"{path}: {error.strerror}")) from error
    if len(data) > ATTACHMENT_BYTES:
        raise InvalidArgument(FieldViolation(field, f"{path} has more than {ATTACHMENT_BYTES} bytes, the limit"))
    media_type = type_of(data)
    if not media_type:
        raise InvalidArgument(FieldViolation(field, f"{path} is none of {', '.join(MEDIA_TYPES)}"))
    return Attachment(media_type, data)
