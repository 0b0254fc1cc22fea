"""Markdown: its text as it is, and what its front matter says of it."""

import re
from datetime import UTC, date, datetime
from typing import Any

import yaml

from recallmesh.cli.files.source import Piece, Source, Story, Unreadable
from recallmesh.cli.files.text import decoded

_FRONT = re.compile(r"\A---[ \t]*\n(?P<said>.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
DATES = ("date", "created", "published", "updated")


def read(source: Source) -> tuple[Story, ...]:
    """Return the text below the front matter as one piece."""
    text = decoded(source)
    front = _FRONT.match(text)
    said = _front(source, front["said"]) if front else {}
    body = text[front.end() :] if front and said else text
    title, author = said.get("title"), said.get("author")
    context = f"written by {author}" if isinstance(author, str) else ""
    if isinstance(title, str):
        context = f"{title}, {context}" if context else title
    time = next((read for key in DATES if (read := _time(said.get(key))) is not None), None)
    return (Story((Piece(body, time, context),), metadata={"title": title} if isinstance(title, str) else {}),)


def _front(source: Source, text: str) -> dict[str, Any]:
    try:
        said = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Unreadable(source.path, f"has front matter that is no YAML: {getattr(error, 'problem', '')}") from error
    except ValueError as error:  # 2026-13-45 looks like a date to YAML, and is none
        raise Unreadable(source.path, f"has front matter that cannot be read: {error}") from error
    return said if isinstance(said, dict) else {}


def _time(value: object) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return datetime(value.year, value.month, value.day, tzinfo=UTC) if isinstance(value, date) else None
