"""Web pages: the text of what is written, without menus and scripts."""

import re
from datetime import UTC, datetime

from selectolax.lexbor import LexborHTMLParser, LexborNode

from recallmesh.cli.files.source import Piece, Source, Story, Unreadable

ASIDE = "script, style, noscript, template, svg, nav, footer, aside, form, button, iframe, [hidden], [aria-hidden=true]"
BLOCKS = (
    "p, li, dt, dd, h1, h2, h3, h4, h5, h6, div, section, article, blockquote, pre, tr, figcaption, br, hr, td, th, ul"
)
MAIN = ("article", "main", "[role=main]", "body")
"""Where the text is, the first that there is: only when there is one of it."""
TIMES = (
    ('meta[property="article:published_time"]', "content"),
    ('meta[itemprop="datePublished"]', "content"),
    ('meta[name="date"]', "content"),
    ("time[datetime]", "datetime"),
)
BREAK = "\ue000"
"""Marks the end of a block while white space is folded; of Unicode's private use, so that no text has it."""
LINE = "\ue001"
"""The same for the end of a line that is meant."""
_CHARSET = re.compile(rb"""<meta[^>]+charset=["']?([A-Za-z0-9_-]+)""", re.IGNORECASE)
HEAD_BYTES = 4096


def read(source: Source) -> tuple[Story, ...]:
    """Return the page's text as one piece."""
    tree = LexborHTMLParser(_decoded(source))
    title = tree.css_first("title")
    named = " ".join(title.text().split()) if title else ""
    time = next((read for css, key in TIMES if (read := _time(tree.css_first(css), key)) is not None), None)
    piece = Piece(_text(tree), time, named)
    return (Story((piece,), metadata={"title": named} if named else {}),)


def text_of(html: str) -> str:
    """Return the text of a piece of HTML, a paragraph a block."""
    return _text(LexborHTMLParser(html))


def _text(tree: LexborHTMLParser) -> str:
    for node in tree.css(ASIDE):
        node.decompose()
    for node in tree.css("pre"):
        # Its lines are its own; what was marked up in it, such as colours of code, is not.
        node.replace_with(BREAK + node.text().replace("\n", LINE) + BREAK)
    for node in tree.css(BLOCKS):
        node.insert_before(BREAK)
        node.insert_after(BREAK)
    bodies = next((found for css in MAIN if len(found := tree.css(css)) == 1), [])
    folded = re.sub(r"\s+", " ", "".join(body.text() for body in bodies))
    return "\n\n".join(part for block in folded.split(BREAK) if (part := block.replace(LINE, "\n").strip()))


def _decoded(source: Source) -> str:
    data = source.data
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    said = _CHARSET.search(data[:HEAD_BYTES])
    try:
        return data.decode(said[1].decode("ascii") if said else "utf-8-sig")
    except LookupError as error:
        raise Unreadable(source.path, f"is in an encoding that is not known: {said[1]!r}") from error  # type: ignore[index]
    except UnicodeDecodeError:
        # What browsers do with a page that does not say what it is, or says it wrongly.
        return data.decode("cp1252", "replace")


def _time(node: LexborNode | None, key: str) -> datetime | None:
    try:
        read = datetime.fromisoformat((node.attributes.get(key) or "") if node else "")
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)
