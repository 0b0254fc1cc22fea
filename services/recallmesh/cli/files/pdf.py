"""PDFs: the text of their pages, in lines that were broken for the page and are joined again."""

import io
import logging
import re
from datetime import UTC, datetime

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

from recallmesh.cli.files.source import Piece, Source, Story, Unreadable

_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_A-Z])")
_BROKEN = re.compile(r"(?<=[^\n]{40})(?<![.!?:;])\n(?=[^\n])")
"""The end of a line that was full and ends no sentence."""
BROKEN = (PyPdfError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OSError)
"""What its parser meets in a file that is none."""
LOCKED = "is encrypted: save it without its password first"


def read(source: Source) -> tuple[Story, ...]:
    """Return the pages as one text."""
    # It tells of every oddity; what cannot be read at all is raised.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(source.data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable(source.path, LOCKED)
        texts = [page.extract_text().strip() for page in reader.pages]
        about = reader.metadata
        title, author, made = (about.title, about.author, about.creation_date) if about else (None, None, None)
    except (DependencyError, FileNotDecryptedError) as error:
        raise Unreadable(source.path, LOCKED) from error
    except BROKEN as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable(source.path, "is no PDF that can be read: it is damaged or cut short") from error
    text = "\n\n".join(_joined(page) for page in texts if page)
    if not text:
        raise Unreadable(source.path, "holds no text: its pages are images; have them recognised (OCR) first")
    context = ", ".join(part for part in (title, f"written by {author}" if author else "") if part)
    return (Story((Piece(text, _aware(made), context),), metadata={"title": title} if title else {}),)


def _joined(text: str) -> str:
    return _BROKEN.sub(" ", _HYPHEN.sub("", text))


def _aware(time: datetime | None) -> datetime | None:
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time
