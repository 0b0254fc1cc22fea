"""Chats as JSON: messages as OpenAI's API has them, exports of ChatGPT, Slack and Telegram, and lists like these."""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from recallmesh.cli.files.source import Piece, Source, Story, Unreadable
from recallmesh.cli.files.talk import Message, pieces
from recallmesh.cli.files.text import decoded

SPEAKERS = ("real_name", "display_name", "speaker", "author", "sender", "from", "name", "username", "user", "role")
TEXTS = ("content", "text", "message", "body", "value")
TIMES = ("time", "timestamp", "created_at", "create_time", "ts", "date", "sent_at")
UNSPOKEN = frozenset({"system", "developer", "tool", "function"})
"""Roles whose words nobody says: instructions, and what programs return."""
MILLISECONDS = 1e11
"""A number of seconds this large would lie in the year 5138: it counts milliseconds."""
KNOWN = (
    "is no chat that is known: a list of messages with a speaker and a text, or an export of ChatGPT, Slack, Telegram"
)
_MENTION = re.compile(r"<@[A-Z0-9]+\|([^>]+)>")


def read(source: Source) -> tuple[Story, ...]:
    """Return each conversation of the file as a story of its own."""
    try:
        found = json.loads(decoded(source))
    except json.JSONDecodeError as error:
        raise Unreadable(source.path, f"is no JSON: {error.msg}, at line {error.lineno}") from error
    except RecursionError as error:
        raise Unreadable(source.path, "is no JSON that can be read: it is nested too deeply") from error
    stories = tuple(story for story in _stories(found, source.path.stem) if story.pieces)
    if not stories:
        raise Unreadable(source.path, KNOWN)
    return stories


def _stories(found: Any, title: str) -> Iterator[Story]:  # noqa: ANN401 - JSON of any shape
    if isinstance(found, dict):
        if isinstance(found.get("mapping"), dict):
            yield _exported(found)
        elif isinstance(found.get("messages"), list):
            name = found.get("title") or found.get("name")
            yield Story(_said(found["messages"], name if isinstance(name, str) else title))
    elif isinstance(found, list):
        if any(isinstance(one, dict) and ("mapping" in one or isinstance(one.get("messages"), list)) for one in found):
            for number, one in enumerate(found, start=1):
                for story in _stories(one, title):
                    own = one.get("id") or one.get("conversation_id") or number
                    yield Story(story.pieces, str(own), story.metadata)
        else:
            yield Story(_said(found, title))


def _exported(conversation: dict[str, Any]) -> Story:
    """Read a conversation of ChatGPT: a tree of which the branch that was shown last is told."""
    nodes, at, branch = conversation["mapping"], conversation.get("current_node"), []
    if at not in nodes:
        branch = [node.get("message") for node in nodes.values() if isinstance(node, dict)]
    seen = set()
    while isinstance(node := nodes.get(at), dict) and at not in seen:
        seen.add(at)
        branch.insert(0, node.get("message"))
        at = node.get("parent")
    title = conversation.get("title")
    return Story(_said(branch, title if isinstance(title, str) else ""), metadata={"title": str(title or "")})


def _said(rows: Sequence[Any], title: str) -> tuple[Piece, ...]:
    found = [message for row in rows if isinstance(row, dict) and (message := _message(row)) is not None]
    return pieces(found, title)


def _message(row: dict[str, Any]) -> Message | None:
    profile = row.get("user_profile")
    speaker = _first(profile, SPEAKERS) if isinstance(profile, dict) else ""
    speaker = speaker or _first(row, SPEAKERS)
    text = next((told for key in TEXTS if (told := _text(row.get(key)).strip())), "")
    if not speaker or not text or speaker in UNSPOKEN:
        return None
    time = next((read for key in TIMES if (read := _time(row.get(key))) is not None), None)
    return Message(speaker, _MENTION.sub(r"\1", text), time)


def _first(row: dict[str, Any], keys: Sequence[str]) -> str:
    for key in keys:
        value = row.get(key)
        if isinstance(value, dict):  # ChatGPT's author
            value = value.get("name") or value.get("role")
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def _text(value: Any) -> str:  # noqa: ANN401 - the same
    """Return the text of a content: a string, or parts of which some are text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = [part for part in value if isinstance(part, str) or (isinstance(part, dict) and "text" in part)]
        # Telegram breaks a text where a link begins; OpenAI's parts are paragraphs.
        joint = "" if any(isinstance(part, str) for part in parts) else "\n"
        return joint.join(_text(part if isinstance(part, str) else part["text"]) for part in parts)
    if isinstance(value, dict):
        return "\n".join(part for part in map(_text, value.get("parts") or [value.get("text")]) if part)
    return ""


def _time(value: Any) -> datetime | None:  # noqa: ANN401 - the same
    """Return a time that is said exactly: seconds since 1970, or ISO 8601; one without an offset is UTC."""
    if isinstance(value, str):
        try:
            read = datetime.fromisoformat(value)
        except ValueError:
            return _time(float(value)) if re.fullmatch(r"\d{9,13}(\.\d+)?", value) else None
        return read if read.tzinfo else read.replace(tzinfo=UTC)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value / 1000 if value > MILLISECONDS else value, UTC)
    except (OverflowError, OSError, ValueError):
        return None
