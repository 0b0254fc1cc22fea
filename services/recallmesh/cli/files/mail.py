"""E-mails: what the sender wrote, without what is quoted of others; attachments are named."""

import re
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage, MIMEPart
from email.policy import default
from email.utils import getaddresses

from recallmesh.cli.files.page import text_of
from recallmesh.cli.files.source import Piece, Source, Story, Unreadable

_QUOTED = re.compile(r"(?m)^>.*\n?")
_HEAD = re.compile(r"(?m)^.{0,200}\b(?:wrote|schrieb|a écrit|escribió|ha scritto)\s?:\s*(?=\n*(?:^>|\Z))")
_SIGNATURE = re.compile(r"(?m)^--[ \t]*\n.*\Z", re.DOTALL)


def read(source: Source) -> tuple[Story, ...]:
    """Return the mail as one piece of its sender."""
    message = message_from_bytes(source.data, policy=default)
    if "from" not in message and "date" not in message:
        raise Unreadable(source.path, "is no e-mail: it has neither From nor Date")
    sender, to = _name(message, "from"), _name(message, "to")
    subject = " ".join(str(message.get("subject", "")).split())
    said = _body(message)
    files = [f"[attachment: {part.get_filename() or 'unnamed'}, {part.get_content_type()}]" for part in _files(message)]
    # A sentence of its own: what is written does not run on from it.
    head = subject and f"Subject: {subject}{'' if subject[-1] in '.!?' else '.'}"
    text = "\n\n".join(part for part in (head, said, *files) if part)
    context = f"{sender} is writing{f' to {to}' if to else ''}{f', about {subject}' if subject else ''}"
    return (Story((Piece(text, _time(message), context),), metadata={"subject": subject} if subject else {}),)


def _body(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    text = _content(part)
    if part.get_content_subtype() == "html":
        return text_of(text)
    text = _SIGNATURE.sub("", text.replace("\r\n", "\n"))
    return _QUOTED.sub("", _HEAD.sub("", text)).strip()


def _content(part: MIMEPart) -> str:
    try:
        text = part.get_content()
    except (LookupError, ValueError):  # a charset that does not exist
        payload = part.get_payload(decode=True)
        text = payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""
    return text if isinstance(text, str) else ""


def _files(message: EmailMessage) -> list[EmailMessage]:
    return (
        [part for part in message.iter_attachments() if isinstance(part, EmailMessage)] if _has_parts(message) else []
    )


def _has_parts(message: EmailMessage) -> bool:
    return message.get_content_type().startswith("multipart/") and message.is_multipart()


def _name(message: EmailMessage, header: str) -> str:
    """Return who is named: the name, else the address; the first of several."""
    for name, address in getaddresses([str(value) for value in message.get_all(header, [])]):
        if name or address:
            return name or address
    return ""


def _time(message: EmailMessage) -> datetime | None:
    date = message.get("date")
    read = getattr(date, "datetime", None)
    if not isinstance(read, datetime):
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)
