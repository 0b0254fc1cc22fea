"""Loads that meet with trouble, and their notes."""

import io
import json
from collections import deque
from contextlib import redirect_stderr

import pytest

from recallmesh.cli.batch import Reading, in_their_words
from recallmesh.cli.meter import metering, tell_pause
from recallmesh.cli.note import About, Note, note_path, read_note
from recallmesh.cli.tally import Tally, collecting, summary
from recallmesh.client.load import Load
from recallmesh.core.arm import ArmName
from recallmesh.core.bank import BankRef
from recallmesh.core.defense import DefenseAction, DefenseDetector, DefenseViolation, Severity
from recallmesh.core.errors import (
    ConflictingWrite,
    DefenseBlocked,
    FieldViolation,
    InvalidArgument,
    NotReady,
    Overloaded,
    RequestIdReused,
    StoreUnavailable,
)
from recallmesh.core.retain import BatchAnswer, Delivery, DeliveryState, RetainAnswer, RetainedItem

BANK = BankRef("b")


class Flaky:
    """Keeps batches by request id; ``trouble`` are errors, each in the place of an answer or of the stream's next."""

    def __init__(self, *trouble, breaking=False):
        self.trouble, self.breaking = deque(trouble), breaking
        self.kept, self.seen = {}, []

    async def stream(self, requests):
        async for request in requests:
            self.seen.append(request.request_id)
            error = self.trouble.popleft() if self.trouble else None
            if error and self.breaking:
                raise error
            if error:
                yield BatchAnswer(request.request_id, error)
                continue
            self.kept.setdefault(request.request_id, request.items)
            yield BatchAnswer(request.request_id, RetainAnswer(tuple(RetainedItem("d", ("m",)) for _ in request.items)))


async def batches(count, after=None):
    reading = Reading()
    for number in range(count):
        yield reading.batch([b'{"content": "text %d"}' % number])
    if after:
        raise after


async def load(retainer, count=5, after=None, pauses_s=(0.0, 0.0, 0.0), **parts):
    kept = []
    loading = Load(
        retainer,
        BANK,
        lambda batch: f"r-{batch.first}",
        lambda batch, _: kept.append(batch.first),
        pauses_s=pauses_s,
        waiting=tell_pause,
        worded=in_their_words,
        **parts,
    )
    try:
        await loading.keep(batches(count, after))
    finally:
        retainer.done = kept
    return kept


async def test_all_batches_are_kept_in_order():
    flaky = Flaky()
    assert await load(flaky) == [1, 2, 3, 4, 5]
    assert list(flaky.kept) == ["r-1", "r-2", "r-3", "r-4", "r-5"]


@pytest.mark.parametrize("breaking", [True, False], ids=["the stream breaks", "a batch fails"])
@pytest.mark.parametrize("error", [StoreUnavailable("away"), Overloaded("full"), ConflictingWrite("between")])
async def test_what_passes_is_tried_again_under_the_same_ids(error, breaking, capsys):
    if isinstance(error, Overloaded):
        error.retry_after = error.retry_after * 0
    flaky = Flaky(None, error, error, breaking=breaking)
    assert await load(flaky) == [1, 2, 3, 4, 5]
    assert list(flaky.kept) == ["r-1", "r-2", "r-3", "r-4", "r-5"]
    assert flaky.seen.count("r-2") == 3
    assert capsys.readouterr().err.count("trying again") == 2


async def test_what_does_not_pass_after_all_pauses_is_raised():
    flaky = Flaky(*[StoreUnavailable("away")] * 4, breaking=True)
    with pytest.raises(StoreUnavailable):
        await load(flaky)
    assert flaky.seen == ["r-1"] * 3


async def test_pauses_are_counted_anew_when_something_was_kept():
    away = StoreUnavailable("away")
    flaky = Flaky(away, away, None, away, away, None, away, away, breaking=True)
    assert await load(flaky, 3) == [1, 2, 3]


async def test_what_is_refused_ends_the_load_and_names_the_line():
    flaky = Flaky(None, None, InvalidArgument(FieldViolation("items[0].content", "is odd")))
    with pytest.raises(InvalidArgument, match=r"line 3.content: is odd"):
        await load(flaky)
    assert flaky.done == [1, 2]


async def test_another_error_ends_the_load_as_it_is():
    flaky = Flaky(NotReady("no"))
    with pytest.raises(NotReady):
        await load(flaky)
    assert flaky.seen == ["r-1"]


async def test_a_load_may_go_on_after_what_was_refused():
    told = []

    def refused(batch, error):
        told.append((batch.first, error.reason))
        return isinstance(error, DefenseBlocked)

    flaky = Flaky(None, DefenseBlocked(FieldViolation("items[0]", "a secret")), None, NotReady("no"))
    with pytest.raises(NotReady):
        await load(flaky, refused=refused)
    assert flaky.done == [1, 3]
    assert told == [(2, "DEFENSE_BLOCKED"), (4, "NOT_READY")]


def test_what_memory_defense_did_is_counted_and_told_as_json(capsys, items_json):
    def found(action):
        return DefenseViolation(DefenseDetector.SECRET, action, Severity.HIGH, "a key")

    tally, batch = Tally(items_json=items_json), Reading().batch([b'{"content": "x"}'] * 2)
    both = (found(DefenseAction.REDACT), found(DefenseAction.BLOCK))
    tally.add(RetainAnswer((RetainedItem("a", ("m",), violations=both[:1]), RetainedItem("b", violations=both))), batch)
    assert (tally.refused, tally.redacted) == (1, 1)
    tally.refuse(batch)
    assert (tally.items, tally.refused, tally.line) == (4, 3, 2)
    tally.print_json()
    assert [len(item["violations"]) for item in json.loads(capsys.readouterr().out)["items"]] == [1, 2]


async def test_an_id_that_came_with_other_content_says_that_the_file_has_changed():
    with pytest.raises(InvalidArgument, match=r"lines 2 to 2: came before with other content.*--anew"):
        await load(Flaky(None, RequestIdReused("came before")))


async def test_what_reading_raises_comes_when_all_before_it_is_kept():
    flaky = Flaky()
    with pytest.raises(InvalidArgument, match="line 9"):
        await load(flaky, after=InvalidArgument(FieldViolation("line 9", "is wrong")))
    assert flaky.done == [1, 2, 3, 4, 5]


async def test_a_bug_in_reading_does_not_hang():
    with pytest.raises(ZeroDivisionError):
        await load(Flaky(), after=ZeroDivisionError())


def note(folder):
    about = About("place", "b", "/f.jsonl")
    return Note(note_path(folder, about), about, "uid", "words")


def test_a_note_is_read_as_it_was_written(tmp_path):
    made, reading = note(tmp_path), Reading()
    sent = [reading.batch([b'{"content": "x"}'] * lines) for lines in (3, 1, 2)]
    for batch in sent:
        made.sent(batch)
    made.answered(sent[0])
    found = read_note(tmp_path, made.about)
    assert found == made
    assert (found.line, found.offset, list(found.sizes)) == (3, sent[0].offset, [1, 2])
    assert [found.request_id(batch) for batch in sent] == [made.request_id(batch) for batch in sent]
    made.forget()
    assert read_note(tmp_path, made.about) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 99}', '{"version": 1, "about": {}}'])
def test_a_note_that_makes_no_sense_is_none(text, tmp_path):
    made = note(tmp_path)
    made.path.write_text(text, encoding="utf-8")
    assert read_note(tmp_path, made.about) is None


def test_another_file_bank_or_place_has_another_note(tmp_path):
    made = note(tmp_path)
    made.sent(Reading().batch([b'{"content": "x"}']))
    for other in (About("p", "b", "/f.jsonl"), About("place", "c", "/f.jsonl"), About("place", "b", "/g.jsonl")):
        assert read_note(tmp_path, other) is None


@pytest.fixture
def items_json():
    with collecting() as file:
        yield file


def test_a_tally_is_printed_as_one_response(capsys, items_json):
    reading, tally = Reading(), Tally(items_json=items_json)
    pending = Delivery(ArmName.GRAPH, DeliveryState.PENDING, "down")
    for texts in (2, 1):
        batch = reading.batch([b'{"content": "x"}'] * texts)
        items = tuple(RetainedItem(f"d{texts}{n}", ("m", "n")) for n in range(texts))
        tally.add(RetainAnswer(items, (pending,)), batch)
    tally.print_json()
    told = json.loads(capsys.readouterr().out)
    assert [item["document_id"] for item in told["items"]] == ["d20", "d21", "d10"]
    assert told["deliveries"][0]["detail"] == "down"
    assert summary("b", tally) == "retained 3 items as 6 memories of 3 documents in bank b"
    assert (tally.line, tally.pending) == (3, (pending,))


def test_a_pipe_is_told_now_and_then_how_far_it_is():
    times = iter([0.0, 4.0, 10.0, 15.0, 30.0])
    with redirect_stderr(io.StringIO()) as told, metering(1000, now=lambda: next(times)) as meter:
        for offset in (100, 250, 300, 500):
            meter.show(500, offset)
    assert told.getvalue().splitlines() == [
        "recallmesh: 1,000 items, 100/s, 25%, 0:30 left",
        "recallmesh: 2,000 items, 67/s, 50%, 0:30 left",
    ]
