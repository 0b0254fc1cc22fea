"""The bench that draws quality against milliseconds."""

from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from bench.locomo import Conversation, Question
from bench.quality_plot import LINES, draw
from bench.reading import READ, chosen, forgetful, tuning
from recallmesh.settings import Settings

SVG = "{http://www.w3.org/2000/svg}"
NOW = datetime(2026, 8, 19, 10, tzinfo=UTC)


def test_the_picture_has_a_point_for_each_figure_and_each_number_read_within_its_frame():
    rows = {str(read): {"cpu_ms": 25.0 + 5 * read, **dict.fromkeys(LINES, 0.5 + read / 250)} for read in READ}
    picture = ET.fromstring(draw(rows))  # noqa: S314 - our own
    dots = picture.findall(f"{SVG}circle")
    assert len(dots) == len(READ) * len(LINES)
    width, height = float(picture.get("width")), float(picture.get("height"))
    assert all(0 < float(dot.get("cx")) < width and 0 < float(dot.get("cy")) < height for dot in dots)
    told = {text.text for text in picture.findall(f"{SVG}text")}
    assert told >= {str(read) for read in READ} | {title for title, _, _ in LINES.values()}


def test_none_read_is_without_the_reranker_and_what_is_timed_remembers_nothing():
    assert tuning(0).reranking is False
    assert tuning(30).rerank_limit == 30
    settings = forgetful(Settings())
    assert (settings.embedder.cached_queries, settings.reranker.cached_pairs) == (0, 0)


def test_the_same_questions_are_asked_in_every_run():
    questions = tuple(Question(f"question {number}", 1, frozenset({"D1:1"}), NOW) for number in range(40))
    conversations = (Conversation("1", (), questions[:20]), Conversation("2", (), questions[20:]))
    assert chosen(conversations, 7) == chosen(conversations, 7)
    assert len(chosen(conversations, 100)) == len(questions)
