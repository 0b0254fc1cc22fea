"""Plain text; and a WhatsApp chat, which is exported as such."""

import codecs

from recallmesh.cli.files import whatsapp
from recallmesh.cli.files.source import Piece, Source, Story, Unreadable

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as UTF-16's does, so it is looked for first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def read(source: Source) -> tuple[Story, ...]:
    """Return the text as one piece, or a chat's messages."""
    text = decoded(source)
    messages = whatsapp.messages(text, source.path.stem)
    return (Story(messages or (Piece(text),)),)


def decoded(source: Source) -> str:
    """Return a file's text: UTF-8, or what its byte order mark says; another encoding is not guessed.

    Raises:
        Unreadable: it is neither.

    """
    mark, encoding = next((pair for pair in MARKS if source.data.startswith(pair[0])), (b"", "utf-8"))
    try:
        text = source.data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        where = f"at byte {error.start + len(mark) + 1}"
        raise Unreadable(source.path, f"is not {encoding.upper()}, {where}; convert it (iconv -t UTF-8)") from error
    if "\0" in text:
        raise Unreadable(source.path, "is no text: it holds zero bytes")
    return text.replace("\r\n", "\n")
