"""Images within content: what stands in the text in their place, and which chunk has which."""

from recallmesh.core.attachment import marker
from recallmesh.core.retain import Attachment, RetainItem
from recallmesh.retain.chunking import Piece
from recallmesh.retain.extraction import Shown


def lay_out(item: RetainItem) -> tuple[str, tuple[Shown, ...]]:
    """Return an item's blocks as one text, a line for each image, and the images, behind their lines."""
    parts: list[str] = []
    shown: list[Shown] = []
    length = 0
    for block in item.content:
        part = marker(block.media_type) if isinstance(block, Attachment) else block
        length += len(part)
        if isinstance(block, Attachment):
            shown.append(Shown(length, block))
        parts.append(part)
        length += 1  # the line break
    return "\n".join(parts), tuple(shown)


def images_within(shown: tuple[Shown, ...], piece: Piece) -> tuple[Shown, ...]:
    """Return the images whose lines begin in a piece of the text, in its own measure; each is in one piece."""
    end = piece.begin + len(piece.text)
    return tuple(
        Shown(min(one.at, end) - piece.begin, one.image)
        for one in shown
        if piece.begin <= one.at - len(marker(one.image.media_type)) < end
    )
