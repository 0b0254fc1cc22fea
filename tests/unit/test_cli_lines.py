"""Items from JSONL: what is read, and how each mistake is told."""

from datetime import UTC, datetime, timedelta

import pytest

from recallmesh.cli.batch import TEXT, Batch, Continuation, batches, in_their_words
from recallmesh.cli.lines import moment, read_items
from recallmesh.core.errors import FieldViolation, InvalidArgument
from recallmesh.core.retain import RetainItem, UpdateMode


def test_a_line_becomes_an_item_with_its_line_number():
    line = (
        '{"content": "Leo: hello", "time": "2026-03-21T10:05:00+01:00", "context": "c", "document_id": "d",'
        ' "tags": ["t"], "metadata": {"k": "v", "n": 1}}'
    )
    [(number, item)] = list(read_items(["\n", line]))
    assert number == 2
    assert item.content == ("Leo: hello",)
    assert item.time is not None
    assert item.time.utcoffset() == timedelta(hours=1)
    assert (item.context, item.document_id, item.tags) == ("c", "d", ("t",))
    assert item.metadata == {"k": "v", "n": "1"}


def test_no_time_means_now_and_null_means_none():
    now, never = (item for _, item in read_items(['{"content": "a"}', '{"content": "b", "time": null}']))
    assert (now.time, now.timeless) == (None, False)
    assert (never.time, never.timeless) == (None, True)


def test_a_byte_order_mark_is_no_mistake():
    assert [item.content for _, item in read_items(['\ufeff{"content": "a"}'])] == [("a",)]


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
    ],
)
def test_a_wrong_line_is_told_with_its_number_and_field(line, field, words):
    with pytest.raises(InvalidArgument) as told:
        list(read_items(['{"content": "fine"}', line]))
    [violation] = told.value.violations
    assert violation.field == field
    assert words in violation.description


def test_a_time_without_offset_is_utc():
    assert moment("2026-03-21T10:05:00", "f") == datetime(2026, 3, 21, 10, 5, tzinfo=UTC)


async def test_batches_hold_all_lines_in_order_and_say_where_each_came_from():
    lines = [f'{{"content": "{number}"}}' for number in range(1, 6)]
    found = [batch async for batch in batches([*lines[:2], "\n", *lines[2:]], 2)]
    assert [text for batch in found for item in batch.items for text in item.content] == ["1", "2", "3", "4", "5"]
    assert [place for batch in found for place in batch.places] == ["line 1", "line 2", "line 4", "line 5", "line 6"]
    assert max(len(batch.items) for batch in found) == 2
    assert found[-1].last == 6


async def test_a_document_that_an_earlier_batch_began_is_appended_to():
    line = '{"content": "x", "document_id": "d"}'
    first, second = [batch async for batch in batches([line] * 3, 2)]
    assert [item.update_mode for item in first.items] == [UpdateMode.REPLACE] * 2
    assert [item.update_mode for item in second.items] == [UpdateMode.APPEND]


async def test_items_without_a_document_are_never_appended():
    found = [batch async for batch in batches(['{"content": "x"}'] * 3, 1)]
    assert {item.update_mode for batch in found for item in batch.items} == {UpdateMode.REPLACE}


async def test_a_wrong_line_of_a_stream_is_told_after_the_batches_before_it():
    coming = batches(['{"content": "a"}', '{"content": "b"}', "no"], 2)
    assert (await anext(coming)).last == 2
    with pytest.raises(InvalidArgument, match="line 3"):
        await anext(coming)


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
