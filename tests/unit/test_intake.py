from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from recallmesh.core import limits
from recallmesh.core.bank import BankRef, ExtractionMode
from recallmesh.core.errors import InvalidArgument, NoVisionModel
from recallmesh.core.retain import Attachment, NamedEntity, RetainItem, RetainRequest, UpdateMode
from recallmesh.retain.intake import take_in
from recallmesh.retain.payload import content_hash, request_from_bytes, request_to_bytes

GOOD = RetainItem(("Ida keeps bees.",))
FULL = RetainRequest(
    BankRef("b1", "acme"),
    (
        RetainItem(
            ("Ida", Attachment("image/png", b"\x89PNG\r\n\x1a\n\x00\xff"), "bees"),
            time=datetime(2026, 8, 19, 12, tzinfo=timezone(timedelta(hours=5, minutes=30))),
            context="Ida is speaking to Rune",
            document_id="d",
            tags=("a", "b"),
            metadata={"k": "v"},
            entities=(NamedEntity("Ida", "person", resolve=False),),
            observation_scopes=(("a",), ("a", "b")),
            update_mode=UpdateMode.APPEND,
            receipt_uri="urn:x",
        ),
        RetainItem(("Bees.",), timeless=True),
    ),
    request_id="r1",
    wait=False,
    mode=ExtractionMode.VERBOSE,
    tags=("t",),
)


def refused(*items, **parts):
    with pytest.raises(InvalidArgument) as caught:
        take_in(RetainRequest(BankRef("b1"), items, **parts), vision=False)
    return [violation.field for violation in caught.value.violations]


@pytest.mark.parametrize("text", ["", "  \n\t", "\u200b\u2060", "\ufeff\u00a0\u3000", "\x00", "\u3164"])
def test_what_shows_nothing_is_refused(text):
    assert refused(GOOD, RetainItem((text,))) == ["items[1].content"]
    assert refused(RetainItem(())) == ["items[0].content"]


@pytest.mark.parametrize("text", ["👩‍🚀🎉", "!", "한", "<|endoftext|>"])
def test_what_shows_something_is_taken(text):
    request = RetainRequest(BankRef("b1"), (RetainItem((text,)),))
    assert take_in(request, vision=False) == request


@pytest.mark.parametrize(
    ("item", "field"),
    [
        (replace(GOOD, content=("x" * (limits.CONTENT_BYTES + 1),)), "items[0].content"),
        (replace(GOOD, content=("x" * limits.CONTENT_BYTES, "y")), "items[0].content"),
        (replace(GOOD, content=("half \ud83d",)), "items[0].content"),
        (replace(GOOD, context="ä" * (limits.CONTEXT_BYTES // 2 + 1)), "items[0].context"),
        (replace(GOOD, document_id="x" * (limits.DOCUMENT_ID_BYTES + 1)), "items[0].document_id"),
        (replace(GOOD, document_id="a\x00b"), "items[0].document_id"),
        (replace(GOOD, tags=("ok", "x" * 40_000)), "items[0].tags[1]"),
        (replace(GOOD, tags=("",)), "items[0].tags[0]"),
        (replace(GOOD, tags=tuple(map(str, range(limits.TAGS_PER_ITEM + 1)))), "items[0].tags"),
        (replace(GOOD, metadata={str(n): "" for n in range(limits.METADATA_KEYS + 1)}), "items[0].metadata"),
        (replace(GOOD, metadata={"k": "x" * limits.METADATA_BYTES}), "items[0].metadata"),
        (replace(GOOD, entities=(NamedEntity("x"),) * (limits.ENTITIES_PER_ITEM + 1)), "items[0].entities"),
        (replace(GOOD, entities=(NamedEntity("x"), NamedEntity(" "))), "items[0].entities[1].name"),
        (replace(GOOD, entities=(NamedEntity("x", "y" * (limits.TAG_BYTES + 1)),)), "items[0].entities[0].kind"),
        (replace(GOOD, entities=(NamedEntity("x", "a\x00b"),)), "items[0].entities[0].kind"),
        (replace(GOOD, receipt_uri="x" * (limits.RECEIPT_BYTES + 1)), "items[0].receipt_uri"),
        (replace(GOOD, receipt_uri="a\x00b"), "items[0].receipt_uri"),
        (replace(GOOD, time=datetime(2026, 1, 1, tzinfo=UTC), timeless=True), "items[0].time"),
        (replace(GOOD, observation_scopes=((), ("",))), "items[0].observation_scopes[1][0]"),
        (replace(GOOD, observation_scopes=(("a",),) * 33), "items[0].observation_scopes"),
    ],
)
def test_every_limit_names_its_field(item, field):
    assert refused(item) == [field]


def test_a_call_has_its_limits_too():
    assert refused() == ["items"]
    assert refused(*[GOOD] * (limits.ITEMS_PER_CALL + 1)) == ["items"]
    assert refused(GOOD, request_id="x" * (limits.REQUEST_ID_BYTES + 1)) == ["request_id"]
    assert refused(GOOD, tags=("x" * 257,)) == ["tags[0]"]


def test_all_that_is_wrong_is_told_at_once():
    assert refused(RetainItem(("",)), GOOD, RetainItem(("x",), tags=("",))) == ["items[0].content", "items[2].tags[0]"]


def test_one_document_has_one_update_mode():
    items = (replace(GOOD, document_id="d"), replace(GOOD, document_id="d", update_mode=UpdateMode.APPEND))
    assert refused(*items) == ["items[1].update_mode"]


def test_a_limit_is_within_itself():
    item = replace(GOOD, content=("x" * limits.CONTENT_BYTES,), tags=("t" * limits.TAG_BYTES,))
    assert take_in(RetainRequest(BankRef("b1"), (item,)), vision=False).items == (item,)


def test_nuls_go_and_naive_times_are_utc_and_offsets_stay():
    dirty = RetainItem(("be\x00es",), time=datetime(2026, 8, 19, 10), context="I\x00da", metadata={"k\x00": "v\x00"})  # noqa: DTZ001
    (clean,) = take_in(RetainRequest(BankRef("b1"), (dirty,)), vision=False).items
    assert (clean.content, clean.context, clean.metadata) == (("bees",), "Ida", {"k": "v"})
    assert clean.time == datetime(2026, 8, 19, 10, tzinfo=UTC)
    assert take_in(FULL, vision=True).items[0].time.utcoffset() == timedelta(hours=5, minutes=30)


def test_an_attachment_needs_eyes():
    with pytest.raises(NoVisionModel):
        take_in(FULL, vision=False)
    assert take_in(FULL, vision=True).items[0].content == FULL.items[0].content


def test_a_queued_request_comes_back_as_it_was():
    received = datetime(2026, 8, 19, 10, tzinfo=UTC)
    assert request_from_bytes(request_to_bytes(FULL, received)) == (FULL, received)


def test_the_content_hash_covers_what_is_said_and_nothing_else():
    same = [replace(FULL, request_id="other"), replace(FULL, wait=True)]
    assert {content_hash(request) for request in same} == {content_hash(FULL)}
    first, second = FULL.items
    others = [
        replace(FULL, mode=None),
        replace(FULL, tags=()),
        replace(FULL, items=(second, first)),
        *(
            replace(FULL, items=(replace(first, **change), second))
            for change in (
                {"content": ("Ida",)},
                {"time": None},
                {"context": ""},
                {"document_id": "e"},
                {"tags": ("a",)},
                {"metadata": {}},
                {"entities": ()},
                {"observation_scopes": ()},
                {"update_mode": UpdateMode.REPLACE},
                {"receipt_uri": ""},
            )
        ),
        replace(FULL, items=(first, replace(second, timeless=False))),
    ]
    assert len({content_hash(request) for request in [FULL, *others]}) == len(others) + 1
