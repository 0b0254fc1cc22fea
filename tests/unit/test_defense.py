"""Memory defense before anything is kept: items redacted or refused, every decision told, and no secret anywhere."""

from dataclasses import replace
from datetime import timedelta

import pytest
import structlog
from unit.retain_fakes import NOW, REF, open_bench

from recallmesh.core.bank import BankConfig, ExtractionMode
from recallmesh.core.defense import DefenseAction, DefenseDetector, DefenseTuning, Severity
from recallmesh.core.errors import DefenseBlocked, NotReady
from recallmesh.core.event import EventFilter, EventKind
from recallmesh.core.operation import OperationKind
from recallmesh.core.page import PageRequest
from recallmesh.core.retain import NamedEntity, RetainItem, RetainRequest, UpdateMode
from recallmesh.retain.defense.item import Rule, judge
from recallmesh.retain.defense.loading import load
from recallmesh.retain.defense.screening import RuleScreening

REDACT, BLOCK = DefenseAction
WORD = "hunter2" + "!x"
MAIL = "nadia.berg" + "@mail.example"
SAID = f"Nadia's password is {WORD} and she has {MAIL}."
KEPT = "Nadia's password is [redacted: password] and she has [redacted: email]."
BOTH = DefenseTuning(secret=REDACT, personal_data=REDACT)


@pytest.fixture
async def bench(tmp_path):
    async with open_bench(tmp_path) as made:
        made.folder = tmp_path
        yield made


async def guard(bench, defense):
    await bench.ledger.update_bank(REF, name=None, config=replace(bench.bank.config, defense=defense), version=0)


async def retain(bench, *items, **request):
    given = {"mode": ExtractionMode.CHUNKS} | request
    return await bench.retainer.retain(RetainRequest(REF, items, **given))


async def decisions(bench):
    return (await bench.ledger.list_security_events(bench.bank.uid, PageRequest())).rows


async def events(bench):
    return (await bench.ledger.list_events(bench.bank.uid, EventFilter(), PageRequest(100))).rows


def traces(bench, *words):
    """Return where a word is found in what was kept, sent or logged."""
    files = b"".join(path.read_bytes() for path in sorted(bench.folder.iterdir()))
    shown = repr((bench.embedder.asked, [arm.entries for arm in bench.arms.values()]))
    return [word for word in words if word.encode() in files or word in shown]


async def test_a_bank_without_rules_keeps_what_it_is_told(bench):
    answer = await retain(bench, RetainItem((SAID,)))
    assert await bench.texts() == [SAID]
    assert answer.items[0].violations == ()
    assert await decisions(bench) == ()
    assert traces(bench, WORD, MAIL) == [WORD, MAIL]


async def test_what_is_redacted_is_nowhere_and_every_decision_is_kept(bench):
    await guard(bench, BOTH)
    item = RetainItem((SAID,), document_id="d", receipt_uri="urn:receipt:7")
    with structlog.testing.capture_logs() as logs:
        answer = await retain(bench, item)
    assert await bench.texts() == [KEPT]
    assert traces(bench, WORD, MAIL) == []
    assert WORD not in repr(logs)
    said = [(one.detector, one.action, one.severity, one.message) for one in answer.items[0].violations]
    assert said == [
        (DefenseDetector.SECRET, REDACT, Severity.HIGH, "password in content"),
        (DefenseDetector.PERSONAL_DATA, REDACT, Severity.MEDIUM, "email in content"),
    ]
    kept = await decisions(bench)
    assert [(one.violation, one.document_id, one.item_index, one.receipt_uri, one.time) for one in kept] == [
        (violation, "d", 0, "urn:receipt:7", NOW) for violation in answer.items[0].violations
    ]
    assert [event.kind for event in await events(bench)] == [
        EventKind.MEMORY_DEFENSE_TRIGGERED,
        EventKind.MEMORY_DEFENSE_TRIGGERED,
        EventKind.RETAIN_COMPLETED,
    ]


async def test_the_same_words_go_from_every_text_of_the_item(bench):
    await guard(bench, BOTH)
    item = RetainItem(
        (SAID, f"again {WORD}"),
        context=f"by {MAIL}",
        metadata={"pw": WORD, MAIL: "x", "plain": "y"},
        tags=("a", MAIL),
        entities=(
            NamedEntity(MAIL, "person"),
            NamedEntity(f"Nadia ({MAIL})", "person"),
            NamedEntity("Leo", f"x {WORD}"),
        ),
        observation_scopes=((MAIL, "a"),),
        document_id="d",
    )
    await retain(bench, item, tags=(f"of {MAIL}",))
    [memory] = await bench.memories()
    assert memory.text == f"{KEPT}\nagain [redacted: password]"
    assert memory.context == "by [redacted: email]"
    assert dict(memory.metadata) == {"pw": "[redacted: password]", "[redacted: email]": "x", "plain": "y"}
    assert set(memory.tags) == {"a", "[redacted: email]", "of [redacted: email]"}
    assert [(mention.name, mention.kind) for mention in memory.mentions] == [("Nadia", "person"), ("Leo", "concept")]
    assert traces(bench, WORD, MAIL) == []


async def test_when_every_item_is_refused_nothing_is_kept_but_the_decisions(bench):
    await guard(bench, DefenseTuning(secret=BLOCK))
    items = (RetainItem((SAID,), receipt_uri="r1"), RetainItem((f"PIN: 4{4}71",), document_id="d2"))
    with pytest.raises(DefenseBlocked) as caught:
        await retain(bench, *items)
    assert [(one.field, one.description) for one in caught.value.violations] == [
        ("items[0]", "password in content (secret, high)"),
        ("items[1]", "password in content (secret, high)"),
    ]
    assert WORD not in str(caught.value)
    assert caught.value.metadata == {"violations": "2"}
    assert await bench.memories() == []
    kept = await decisions(bench)
    assert [(one.item_index, one.receipt_uri, one.document_id) for one in kept] == [(0, "r1", ""), (1, "", "d2")]
    assert {one.violation.action for one in kept} == {BLOCK}
    assert [event.security for event in await events(bench)] == list(kept)
    assert traces(bench, WORD, MAIL) == []


async def test_of_some_refused_items_the_rest_go_on_in_their_places(bench):
    await guard(bench, DefenseTuning(secret=BLOCK, personal_data=REDACT))
    items = (
        RetainItem(("The pier is closed.",), document_id="d0"),
        RetainItem((SAID,), document_id="d1"),
        RetainItem((f"Write to {MAIL}.",), document_id="d2"),
    )
    answer = await retain(bench, *items)
    assert [item.document_id for item in answer.items] == ["d0", "d1", "d2"]
    assert [len(item.memory_ids) for item in answer.items] == [1, 0, 1]
    assert [[one.action for one in item.violations] for item in answer.items] == [[], [BLOCK, BLOCK], [REDACT]]
    assert await bench.texts() == ["The pier is closed.", "Write to [redacted: email]."]
    assert [one.item_index for one in await decisions(bench)] == [1, 1, 2]


async def test_a_call_made_again_gives_the_same_answer_and_tells_nothing_twice(bench):
    await guard(bench, DefenseTuning(secret=BLOCK, personal_data=REDACT))
    items = (RetainItem((SAID,)), RetainItem((f"Write to {MAIL}.",)))
    first = await retain(bench, *items, request_id="r1")
    told = await events(bench)
    again = await retain(bench, *items, request_id="r1")
    assert again == replace(first, replayed=True)
    assert await events(bench) == told
    for _ in range(3):
        with pytest.raises(DefenseBlocked):
            await retain(bench, RetainItem((SAID,)), request_id="r2")
    assert len(await decisions(bench)) == 5


async def test_an_operation_holds_no_secret_and_its_decisions_are_kept_when_it_is_taken_in(bench):
    await guard(bench, BOTH)
    answer = await retain(bench, RetainItem((SAID,), document_id="d"), wait=False, request_id="r1")
    assert answer.operation_id
    assert len(await decisions(bench)) == 2
    assert traces(bench, WORD, MAIL) == []
    [job] = [
        await bench.ledger.lease_job("w", (OperationKind.RETAIN,), lease=timedelta(minutes=1), now=NOW),
    ]
    assert WORD.encode() not in job.payload

    async def progress(_done, _total):
        pass

    await bench.retainer.work(job, progress)
    assert await bench.texts() == [KEPT]
    assert len(await decisions(bench)) == 2
    assert traces(bench, WORD, MAIL) == []
    replayed = await retain(bench, RetainItem((SAID,), document_id="d"), wait=False, request_id="r1")
    assert replayed.items[0].violations


async def test_what_is_appended_is_screened_and_what_was_there_stays(bench):
    await retain(bench, RetainItem((f"Ask {MAIL}.",), document_id="d"))
    await guard(bench, BOTH)
    await retain(bench, RetainItem((f"Or +49 30 90{1820}.",), document_id="d", update_mode=UpdateMode.APPEND))
    assert await bench.texts() == [f"Ask {MAIL}.", "Or [redacted: phone number]."]


async def reprocess(bench, document_id):
    await bench.ledger.submit(bench.bank.uid, OperationKind.REPROCESS, document_id.encode(), 1, NOW)
    job = await bench.ledger.lease_job("w", (OperationKind.REPROCESS,), lease=timedelta(minutes=1), now=NOW)

    async def progress(_done, _total):
        pass

    return await bench.retainer.reprocess(job, progress)


async def test_a_document_that_is_read_once_more_is_screened_by_the_rules_of_now(bench):
    config = BankConfig(retain=replace(bench.bank.config.retain, mode=ExtractionMode.CHUNKS))
    await bench.ledger.update_bank(REF, name=None, config=config, version=0)
    await retain(bench, RetainItem((f"Ask {MAIL}.",), document_id="d", metadata={"by": MAIL}))
    await bench.ledger.update_bank(REF, name=None, config=replace(config, defense=BOTH), version=0)
    await reprocess(bench, "d")
    [memory] = [one for one in await bench.memories() if one.state == "active"]
    assert (memory.text, dict(memory.metadata)) == ("Ask [redacted: email].", {"by": "[redacted: email]"})
    [chunk] = (await bench.ledger.list_chunks(bench.bank.uid, "d", PageRequest())).rows
    assert chunk.text == "Ask [redacted: email]."
    document = await bench.ledger.get_document(bench.bank.uid, "d")
    assert dict(document.metadata) == {"by": "[redacted: email]"}
    assert {one.document_id for one in await decisions(bench)} == {"d"}
    await bench.ledger.update_bank(REF, name=None, config=replace(config, defense=DefenseTuning()), version=0)
    await retain(bench, RetainItem((f"Ask {MAIL}.",), document_id="e"))
    blocking = replace(config, defense=DefenseTuning(personal_data=BLOCK))
    await bench.ledger.update_bank(REF, name=None, config=blocking, version=0)
    with pytest.raises(DefenseBlocked, match="email in content"):
        await reprocess(bench, "e")


async def test_what_a_documents_name_holds_cannot_be_taken_out_so_the_item_is_refused(bench):
    await guard(bench, DefenseTuning(personal_data=REDACT))
    with pytest.raises(DefenseBlocked, match="email in document_id") as caught:
        await retain(bench, RetainItem(("Hello there.",), document_id=MAIL))
    assert MAIL not in str(caught.value)
    assert [one.document_id for one in await decisions(bench)] == [""]
    assert traces(bench, MAIL) == []


async def test_a_detector_that_cannot_be_loaded_is_an_error_and_nothing_passes(tmp_path):
    def lacking(detector, language):
        return load(detector, language) if detector is DefenseDetector.PROMPT_INJECTION else missing()

    def missing():
        raise NotReady("memory defense looks for secret by a library that is not installed here")

    async with open_bench(tmp_path, screening=RuleScreening(lambda: "x", lacking)) as bench:
        await guard(bench, DefenseTuning(secret=REDACT))
        with pytest.raises(NotReady, match="not installed"):
            await retain(bench, RetainItem(("Hello there.",)))
        assert await bench.memories() == []
        await guard(bench, DefenseTuning(prompt_injection=REDACT))
        await retain(bench, RetainItem(("Hello there.",)))
        assert await bench.texts() == ["Hello there."]


def test_keys_of_metadata_that_become_the_same_lose_no_value():
    [scan, *_] = load(DefenseDetector.PERSONAL_DATA, "en")
    item = RetainItem(("x",), metadata={"a@b.example": "1", "c@d.example": "2"})
    verdict = judge(item, [Rule(REDACT, (scan,))])
    assert verdict.item.metadata == {"[redacted: email]": "1", "[redacted: email] 2": "2"}


def test_a_mark_is_not_found_again():
    scans = tuple(scan for detector in DefenseDetector for scan in load(detector, "en"))
    verdict = judge(RetainItem((SAID,)), [Rule(REDACT, scans)])
    again = judge(verdict.item, [Rule(BLOCK, scans)])
    assert (again.item, again.violations) == (verdict.item, ())
