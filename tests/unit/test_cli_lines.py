"""Items from JSONL: what is read, and how each mistake is told."""

import hashlib
import io
from datetime import UTC, datetime, timedelta

import pytest

from recallmesh.cli.batch import TEXT, Reading, in_their_words
from recallmesh.cli.lines import LINE_BYTES, lines_of, moment, read_items
from recallmesh.client.batch import Batch, Continuation
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.retain import NamedEntity, RetainItem, UpdateMode


def test_a_line_becomes_an_item_with_its_line_number():
    line = (
        '{"content": "Leo: hello", "time": "2026-03-21T10:05:00+01:00", "context": "c", "document_id": "d",'
        ' "tags": ["t"], "metadata": {"k": "v", "n": 1}}'
    )
    [(number, item)] = list(read_items([b"\n", line.encode()]))
    assert number == 2
    assert item.content == ("Leo: hello",)
    assert item.time is not None
    assert item.time.utcoffset() == timedelta(hours=1)
    assert (item.context, item.document_id, item.tags) == ("c", "d", ("t",))
    assert item.metadata == {"k": "v", "n": "1"}


def test_a_line_names_entities_by_name_or_with_what_they_are():
    label, own = '{"name": "mood:happy", "kind": "label"}', '{"name": "A", "resolve": false}'
    line = f'{{"content": "a", "entities": ["Ida", {label}, {own}]}}'.encode()
    [(_, item)] = list(read_items([line]))
    assert item.entities == (
        NamedEntity("Ida"),
        NamedEntity("mood:happy", "label"),
        NamedEntity("A", resolve=False),
    )


def test_no_time_means_now_and_null_means_none():
    now, never = (item for _, item in read_items([b'{"content": "a"}', b'{"content": "b", "time": null}']))
    assert (now.time, now.timeless) == (None, False)
    assert (never.time, never.timeless) == (None, True)


def test_a_byte_order_mark_is_no_mistake():
    assert [item.content for _, item in read_items([b'\xef\xbb\xbf{"content": "a"}'])] == [("a",)]


@pytest.mark.parametrize(
    ("line", "field", "words"),
    [
        ("hello", "line 2", "no JSON"),
        ("[" * 100_000, "line 2", "nested"),
        ('["a"]', "line 2", "no JSON object"),
        ('{"contnt": "a"}', "line 2.contnt", "content, context"),
        ("{}", "line 2.content", "required"),
        ('{"content": 1}', "line 2.content", "string"),
        ('{"content": "a", "time": "yesterday"}', "line 2.time", "ISO 8601"),
        ('{"content": "a", "time": 5}', "line 2.time", "string"),
        ('{"content": "a", "tags": "t"}', "line 2.tags", "list of strings"),
        ('{"content": "a", "tags": [1]}', "line 2.tags", "list of strings"),
        ('{"content": "a", "metadata": []}', "line 2.metadata", "object"),
        ('{"content": "a", "entities": "Ida"}', "line 2.entities", "list of names"),
        ('{"content": "a", "entities": ["Ida", 3]}', "line 2.entities[1]", "a name, or an object"),
        ('{"content": "a", "entities": [{"nam": "Ida"}]}', "line 2.entities[0]", "a name, or an object"),
        ('{"content": "a", "entities": [{"kind": "label"}]}', "line 2.entities[0].name", "required"),
        ('{"content": "a", "entities": [{"name": "I", "resolve": 1}]}', "line 2.entities[0].resolve", "true or false"),
        ('{"content": " "}', "line 2.content", "blank"),
        ('{"content": "a", "tags": [""]}', "line 2.tags[0]", "blank"),
    ],
)
def test_a_wrong_line_is_told_with_its_number_and_field(line, field, words):
    with pytest.raises(InvalidArgument) as told:
        list(read_items([b'{"content": "fine"}', line.encode()]))
    [violation] = told.value.violations
    assert violation.field == field
    assert words in violation.description


def test_a_time_without_offset_is_utc():
    assert moment("2026-03-21T10:05:00", "f") == datetime(2026, 3, 21, 10, 5, tzinfo=UTC)


def test_a_line_that_is_no_utf_8_is_told_with_its_byte():
    with pytest.raises(InvalidArgument, match="line 1: is not UTF-8, at byte 14"):
        list(read_items([b'{"content": "\xff"}']))


def test_a_line_without_an_end_is_refused_before_it_fills_the_memory():
    with pytest.raises(InvalidArgument, match="line 2: is longer than"):
        list(lines_of(io.BytesIO(b"{}\n" + b"x" * (LINE_BYTES + 2))))


def test_a_batch_says_where_its_items_came_from_and_how_far_the_file_is_read():
    lines = [f'{{"content": "{number}"}}\n'.encode() for number in range(1, 6)]
    lines.insert(2, b"\n")
    reading = Reading()
    first, second = reading.batch(lines[:4]), reading.batch(lines[4:])
    assert [text for item in (*first.items, *second.items) for text in item.content] == ["1", "2", "3", "4", "5"]
    assert (*first.places, *second.places) == ("line 1", "line 2", "line 4", "line 5", "line 6")
    assert [(batch.first, batch.last) for batch in (first, second)] == [(1, 4), (5, 6)]
    whole = b"".join(lines)
    assert (second.offset, second.digest) == (len(whole), hashlib.sha256(whole).hexdigest())


def test_a_document_that_an_earlier_batch_began_is_appended_to():
    line = b'{"content": "x", "document_id": "d"}'
    reading = Reading()
    first, second = reading.batch([line] * 2), reading.batch([line])
    assert [item.update_mode for item in first.items] == [UpdateMode.REPLACE] * 2
    assert [item.update_mode for item in second.items] == [UpdateMode.APPEND]


def test_a_document_that_was_passed_over_is_appended_to():
    line = b'{"content": "x", "document_id": "d"}'
    reading, lines = Reading(), iter([line] * 3)
    reading.pass_over(lines, 2)
    batch = reading.batch(lines)
    assert [item.update_mode for item in batch.items] == [UpdateMode.APPEND]
    assert (batch.first, batch.offset) == (3, 3 * len(line))


def test_items_without_a_document_are_never_appended():
    reading = Reading()
    found = [reading.batch([b'{"content": "x"}']) for _ in range(3)]
    assert {item.update_mode for batch in found for item in batch.items} == {UpdateMode.REPLACE}


def test_a_wrong_line_is_raised_or_left_out():
    lines = [b'{"content": "a"}', b"no", b'{"content": " "}', b'{"content": "b"}']
    with pytest.raises(InvalidArgument, match="line 2"):
        Reading().batch(lines)
    told = []
    batch = Reading(skip=told.append).batch(lines)
    assert [item.content for item in batch.items] == [("a",), ("b",)]
    assert [one.field for error in told for one in error.violations] == ["line 2", "line 3.content"]


def test_a_refused_item_is_named_by_its_line():
    batch = Continuation().batch([("line 7", RetainItem(("a",))), ("line 9", RetainItem(("",)))])
    told = in_their_words(InvalidArgument(FieldViolation("items[1].content", "is blank")), batch)
    assert told.message == "line 9.content: is blank"


@pytest.mark.parametrize(
    ("field", "word"), [("content", "--text"), ("content[0]", "--text"), ("time", "--time"), ("context", "--context")]
)
def test_what_the_command_line_holds_is_named_by_its_word(field, word):
    batch = Batch((RetainItem(("a",)),), (TEXT,))
    told = in_their_words(InvalidArgument(FieldViolation(f"items[0].{field}", "is blank")), batch)
    assert told.message == f"{word}: is blank"


@pytest.mark.parametrize("field", ["bank_id", "items", "items[7].content", "items[x]"])
def test_a_field_that_is_no_item_of_the_batch_keeps_its_name(field):
    batch = Batch((RetainItem(("a",)),), ("line 1",))
    assert in_their_words(InvalidArgument(FieldViolation(field, "is wrong")), batch).violations[0].field == field
